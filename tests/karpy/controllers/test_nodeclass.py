"""Node classes carry what their cloud found out; a cloud that asks to slow down takes nothing back."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud.provider import NodeClassStatus
from karpy.errors import ProviderError, Throttled
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.generic import NODE_CLASS
from tests.karpy.controllers.stage import Stage, apps, conditions, intercept


class Refused(ProviderError):
    retryable = False


def touch(stage: Stage) -> None:
    """Change the node class, so that it is looked at."""
    stage.api.patch(NODE_CLASS, "default", {"metadata": {"labels": {"touched": str(int(stage.clock.now()))}}})


def test_a_node_class_that_resolves_is_ready_and_so_is_its_pool() -> None:
    stage = Stage()
    assert stage.node_class_conditions() == {"Ready": "True"}
    assert conditions(stage.api.get(kinds.NODE_POOL, "default"))["Ready"] == "True"


def test_a_throttled_cloud_takes_nothing_back_and_is_asked_again() -> None:
    stage = Stage()
    asked: list[float] = []

    def resolve(real: Any, node_class: Any) -> NodeClassStatus:
        asked.append(stage.clock.now())
        if len(asked) <= 4:
            raise Throttled("slow down")
        found: NodeClassStatus = real(node_class)
        return found

    intercept(stage.cloud, "resolve", resolve)
    touch(stage)
    stage.world.apply([apps("a", 1)])
    stage.run(0.05)
    assert len(asked) >= 1
    assert stage.node_class_conditions() == {"Ready": "True"}
    assert conditions(stage.api.get(kinds.NODE_POOL, "default"))["NodeClassReady"] == "True"
    stage.run(60)
    assert len(asked) > 4
    assert stage.running("a") == 1


def test_a_node_class_that_cannot_be_resolved_says_why() -> None:
    stage = Stage()

    def resolve(_real: Any, _node_class: Any) -> NodeClassStatus:
        raise Refused("no such image")

    intercept(stage.cloud, "resolve", resolve)
    touch(stage)
    stage.run(5)
    (said,) = stage.api.get(NODE_CLASS, "default")["status"]["conditions"]
    assert (said["status"], said["reason"], said["message"]) == ("False", "ResolutionFailed", "no such image")


def test_a_node_class_is_looked_at_again_after_five_minutes() -> None:
    stage = Stage()
    asked: list[float] = []

    def resolve(real: Any, node_class: Any) -> Any:
        asked.append(stage.clock.now())
        return real(node_class)

    intercept(stage.cloud, "resolve", resolve)
    stage.run(1000)
    assert asked[-1] - asked[-2] == asked[-2] - asked[-3] == 300


def test_a_condition_that_cannot_be_read_is_written_anew() -> None:
    stage = Stage()
    broken = {"status": {"conditions": [{"type": "Ready", "status": 5}]}}
    stage.api.patch(NODE_CLASS, "default", broken, subresource="status")
    touch(stage)
    stage.run(60)
    assert stage.node_class_conditions() == {"Ready": "True"}


@pytest.mark.core("CORE-711")
def test_a_node_class_that_claims_need_is_held_and_says_whom_it_waits_for() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    assert stage.api.get(NODE_CLASS, "default")["metadata"]["finalizers"] == ["sim.karpy.dev/termination"]
    stage.api.delete(NODE_CLASS, "default")
    stage.run(60)
    assert "deletionTimestamp" in stage.api.get(NODE_CLASS, "default")["metadata"]
    told = [event for event in stage.all(kinds.EVENT) if event["reason"] == "WaitingOnNodeClaimTermination"]
    assert [event["message"] for event in told] == [f"Waiting on NodeClaim termination for {name}"]
    assert stage.names(kinds.NODE_CLAIM) == [name]
    stage.api.delete(kinds.NODE_POOL, "default")
    stage.run(60)
    assert stage.claims == []
    assert stage.names(NODE_CLASS) == []


def test_another_finalizer_of_a_node_class_stays() -> None:
    stage = Stage()
    stage.api.patch(NODE_CLASS, "default", {"metadata": {"finalizers": ["test/hold"]}})
    stage.run(1)
    assert stage.api.get(NODE_CLASS, "default")["metadata"]["finalizers"] == ["test/hold", "sim.karpy.dev/termination"]
    stage.api.delete(NODE_CLASS, "default")
    stage.run(1)
    assert stage.api.get(NODE_CLASS, "default")["metadata"]["finalizers"] == ["test/hold"]


@pytest.mark.parametrize("leaving", ["pool", "class"])
def test_a_claim_is_not_launched_from_what_is_being_deleted(leaving: str) -> None:
    """It was created just before; that it goes is nobody's mistake."""
    stage = Stage()
    kind = kinds.NODE_POOL if leaving == "pool" else NODE_CLASS
    stage.api.patch(kind, "default", {"metadata": {"finalizers": ["test/hold"]}})

    def create(real: Any, created: Kind, *rest: Any, **more: Any) -> Any:
        if created == kinds.NODE_CLAIM:
            stage.api.delete(kind, "default")
        return real(created, *rest, **more)

    stage.kube.through("create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(60)
    assert stage.claims == []
    assert stage.cloud.machines == ()
    assert not [event for event in stage.all(kinds.EVENT) if event["reason"] == "NodeClassNotReady"]
