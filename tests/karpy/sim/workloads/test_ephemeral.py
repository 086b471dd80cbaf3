from __future__ import annotations

from karpy.objects import kinds
from tests.karpy.sim.manifests import bare_pod, event_reasons, world_with_nodes
from tests.karpy.sim.workloads.test_volumes import claim, found, node_of, storage_class


def test_an_ephemeral_volume_has_a_claim_that_goes_with_its_pod() -> None:
    world = world_with_nodes(1)
    template = {"spec": claim()["spec"]}
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    world.apply([storage_class(), bare_pod("app", volumes=[scratch])])
    world.run(10)
    assert node_of(world) == "node-1"
    assert found(world, "app-scratch")["metadata"]["ownerReferences"][0]["name"] == "app"
    world.api.delete(kinds.POD, "app", "default", grace_period_s=0)
    world.run(1)
    assert world.api.list(kinds.PERSISTENT_VOLUME_CLAIM).items == ()
    assert world.api.list(kinds.PERSISTENT_VOLUME).items == ()


def test_a_claim_of_somebody_else_is_left_alone_and_said() -> None:
    world = world_with_nodes(1)
    foreign = claim("app-scratch")
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}
    world.apply([storage_class(), foreign, bare_pod("app", volumes=[scratch])])
    world.run(10)
    assert "ownerReferences" not in found(world, "app-scratch")["metadata"]
    assert "ConflictingPVC" in event_reasons(world, "app")
