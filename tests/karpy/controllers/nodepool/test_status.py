"""Pools say how they are and how much they hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.generic import NODE_CLASS
from tests.karpy.controllers.stage import Stage, apps, conditions, pool
from tests.karpy.sim.manifests import bare_pod


def test_a_pool_counts_what_its_machines_hold() -> None:
    stage = Stage()
    stage.grown(apps("a", 2))
    (node,) = stage.nodes
    stage.run(10)
    status = stage.api.get(kinds.NODE_POOL, "default")["status"]
    assert status["nodes"] == 1
    assert status["resources"]["cpu"] == node["status"]["capacity"]["cpu"]


def test_an_empty_pool_counts_zero() -> None:
    status = Stage().api.get(kinds.NODE_POOL, "default")["status"]
    assert status["nodes"] == 0
    assert set(status["resources"].values()) == {"0"}


def test_counters_are_written_at_most_every_five_seconds() -> None:
    stage = Stage()
    written: list[float] = []

    def patch(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_POOL and "nodes" in rest[1].get("status", {}):
            written.append(stage.clock.now())
        return real(kind, *rest, **more)

    stage.kube.through("patch", patch)
    for serial in range(20):
        stage.world.apply([bare_pod(f"p{serial}", cpu="20")])
        stage.run(2)
    stage.run(60)
    assert len(written) > 2
    assert all(later - earlier >= 5 for earlier, later in pairwise(written))
    assert stage.api.get(kinds.NODE_POOL, "default")["status"]["nodes"] == len(stage.claims)


def test_a_pool_whose_node_class_is_missing_is_not_ready_until_it_comes() -> None:
    stage = Stage()
    stage.api.delete(NODE_CLASS, "default")
    stage.run(5)
    said = conditions(stage.api.get(kinds.NODE_POOL, "default"))
    assert (said["NodeClassReady"], said["Ready"]) == ("False", "False")
    stage.world.apply(
        [{"apiVersion": NODE_CLASS.api_version, "kind": NODE_CLASS.kind, "metadata": {"name": "default"}}]
    )
    stage.run(5)
    assert conditions(stage.api.get(kinds.NODE_POOL, "default"))["Ready"] == "True"


def test_pools_of_another_autoscaler_are_not_written_to() -> None:
    foreign = pool("foreign", nodeClassRef={"group": "other.io", "kind": "OtherClass", "name": "x"})
    stage = Stage(pool(), foreign)
    stage.world.apply([apps("a", 1)])
    stage.run(60)
    assert "status" not in stage.api.get(kinds.NODE_POOL, "foreign")
    assert stage.running("a") == 1


def test_a_pool_that_asks_for_what_it_may_not_is_told_so_and_launches_nothing() -> None:
    wrong = pool(
        "wrong", taints=[{"key": "a", "effect": "NoSchedule"}], startupTaints=[{"key": "a", "effect": "NoSchedule"}]
    )
    stage = Stage(wrong)
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    status = stage.api.get(kinds.NODE_POOL, "wrong")["status"]
    assert conditions({"status": status})["Ready"] == "False"
    (said,) = [each for each in status["conditions"] if each["type"] == "ValidationSucceeded"]
    assert (said["status"], said["reason"]) == ("False", "NodePoolValidationFailed")
    assert said["message"] == (
        "NodePool/wrong: spec.template.spec.startupTaints[0]: found 'a:NoSchedule' "
        "(accepted: each key and effect once in taints and startupTaints together)"
    )
    assert stage.claims == []
