from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karpy.objects.manifest import Manifests, read_manifests
from karpy.scenarios.as_applied import as_applied
from karpy.scenarios.catalogue import load_scenario
from karpy.scenarios.offline import offline_clouds, situation_in
from karpy.scenarios.situation import Situation, state_of
from karpy.testing.builders import make_nodepool, make_pod

EXAMPLE = Path(__file__).parents[3] / "examples/01-solve.yaml"
CLOUDS = offline_clouds()


def situation(objects: Any, *, assume: bool = True) -> Situation:
    read = Manifests(tuple(objects), places=tuple(f"[{index}]" for index, _ in enumerate(objects)))
    snapshot = state_of(read, CLOUDS.kinds, prepare=as_applied).snapshot()
    return situation_in(snapshot, CLOUDS, name="", now=0.0, assume_classes=assume)


def pool(group: str, kind: str) -> dict[str, Any]:
    found = make_nodepool()
    found["spec"]["template"]["spec"]["nodeClassRef"] = {"group": group, "kind": kind, "name": "default"}
    return found


AWS, AZURE = pool("karpenter.k8s.aws", "EC2NodeClass"), pool("karpenter.azure.com", "AKSNodeClass")


@pytest.mark.parametrize(("given", "zone"), [(AWS, "us-west-2"), (AZURE, "eastus")])
def test_a_pool_buys_from_its_own_cloud(given: dict[str, Any], zone: str) -> None:
    found = situation([given, make_pod(requests={"cpu": "1"})])
    (launch,) = found.plan().launches
    offering = found.outlook().offering(launch)
    assert offering is not None
    assert offering.zone.startswith(zone)


def test_a_node_class_that_is_not_there_is_taken_to_be_ready_and_this_is_said() -> None:
    (note,) = situation([AWS]).notes
    assert note == (
        "NodePool 'default': its node class EC2NodeClass.karpenter.k8s.aws 'default' is not among the files, "
        "and is taken to be ready"
    )


def test_in_a_live_cluster_it_must_be_there() -> None:
    found = situation([AWS], assume=False)
    assert not found.snapshot.pools
    assert found.notes[0].endswith("'default' does not exist")


def test_a_node_class_that_is_not_ready_says_why() -> None:
    broken = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"amiSelectorTerms": 3},
    }
    found = situation([AWS, broken])
    assert not found.snapshot.pools
    assert "is not ready: " in found.notes[0]


def test_a_pool_of_an_unknown_cloud_is_left_out_and_the_known_ones_are_named() -> None:
    found = situation([pool("other.test", "Thing"), make_pod()])
    assert not found.plan().launches
    assert "no installed cloud serves its node class Thing.other.test 'default' (known kinds: " in found.notes[0]
    assert "EC2NodeClass.karpenter.k8s.aws" in found.notes[0]


def test_without_a_pool_nothing_can_be_launched_and_this_is_said() -> None:
    assert situation([make_pod()]).notes == ("there is no NodePool: nothing can be launched",)


@pytest.mark.parametrize("name", ["eks", "eks-v0.5.3", "aks", "aks-nap"])
def test_manifests_of_every_api_generation_can_be_planned(name: str) -> None:
    objects = load_scenario(name).objects
    scaled = [
        {**obj, "spec": {**obj["spec"], "replicas": 3}} if obj["kind"] == "Deployment" else obj for obj in objects
    ]
    found = situation(scaled)
    assert found.notes == ()
    plan = found.plan()
    assert plan.launches
    assert not plan.unschedulable


def test_the_examples_pods_wait_though_no_scheduler_has_looked_at_them() -> None:
    found = situation(read_manifests(EXAMPLE.read_text(), "01-solve.yaml").objects)
    assert [pod.key for pod in found.snapshot.pending] == ["default/cache", "default/giant", "default/web"]
    assert 0 < found.outlook().bound <= found.plan().price
