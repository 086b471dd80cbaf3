"""Pools say how they are and how much they hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from karpy.errors import Throttled
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.generic import NODE_CLASS
from tests.karpy.controllers.stage import Json, Stage, apps, conditions, held, intercept, pool
from tests.karpy.sim.manifests import bare_pod


@pytest.mark.core("CORE-709")
def test_a_pool_counts_what_its_machines_hold() -> None:
    stage = Stage()
    stage.grown(apps("a", 2))
    (node,) = stage.nodes
    stage.run(10)
    status = stage.api.get(kinds.NODE_POOL, "default")["status"]
    assert status["nodes"] == 1
    assert status["resources"]["cpu"] == node["status"]["capacity"]["cpu"]


@pytest.mark.core("CORE-709")
def test_an_empty_pool_counts_zero() -> None:
    status = Stage().api.get(kinds.NODE_POOL, "default")["status"]
    assert status["nodes"] == 0
    assert status["resources"] == dict.fromkeys(("cpu", "ephemeral-storage", "memory", "nodes", "pods"), "0")


@pytest.mark.core("CORE-709")
def test_counters_grow_from_the_claim_on_shrink_and_come_back_to_zero() -> None:
    stage = Stage()
    seen = []
    for replicas in (1, 3, 1, 0):
        stage.world.apply([apps("a", replicas, cpu="20")])
        stage.run(120)
        seen.append(stage.api.get(kinds.NODE_POOL, "default")["status"]["nodes"])
    assert seen == [1, 3, 1, 0]
    assert set(stage.api.get(kinds.NODE_POOL, "default")["status"]["resources"].values()) == {"0"}


@pytest.mark.core("CORE-709")
def test_a_machine_that_has_not_joined_counts_by_its_claim() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1, cpu="20")])
    stage.run(60)
    assert stage.nodes == []
    (claim,) = stage.claims
    status = stage.api.get(kinds.NODE_POOL, "default")["status"]
    assert (status["nodes"], status["resources"]["cpu"]) == (1, claim["status"]["capacity"]["cpu"])


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


@pytest.mark.core("CORE-711")
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


def of_class(name: str) -> Json:
    ref = {"group": NODE_CLASS.group, "kind": NODE_CLASS.kind, "name": name}
    return pool(nodeClassRef=ref)


def node_class(name: str) -> Json:
    return {"apiVersion": NODE_CLASS.api_version, "kind": NODE_CLASS.kind, "metadata": {"name": name}}


def condition(stage: Stage, type_: str, name: str = "default") -> Any:
    said = stage.api.get(kinds.NODE_POOL, name)["status"]["conditions"]
    return next((each for each in said if each["type"] == type_), None)


@pytest.mark.core("CORE-711")
@pytest.mark.parametrize(
    ("ready", "status", "reason", "message"),
    [
        ({"status": "True", "reason": "Ready"}, "True", "NodeClassReady", ""),
        ({"status": "False", "reason": "Broken", "message": "class is broken"}, "False", "Broken", "class is broken"),
        ({"status": "False"}, "False", "NodeClassNotReady", ""),
        ({"status": "Unknown"}, "Unknown", "NodeClassReadinessUnknown", "Node Class Readiness Unknown"),
        (None, "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation"),
    ],
)
def test_a_pool_says_of_its_class_what_that_says_of_itself(
    ready: Json | None, status: str, reason: str, message: str
) -> None:
    stage = Stage(of_class("mine"))
    intercept(stage.cloud, "resolve", lambda _real, _raw: throttled())  # the class is written by nobody else
    made = {**node_class("mine"), "status": {"conditions": [] if ready is None else [{"type": "Ready", **ready}]}}
    stage.api.create(NODE_CLASS, made)
    stage.api.patch(NODE_CLASS, "mine", {"status": made["status"]}, subresource="status")
    stage.run(5)
    said = condition(stage, "NodeClassReady")
    assert (said["status"], said["reason"], said.get("message", "")) == (status, reason, message)
    assert (condition(stage, "Ready")["status"] == "True") is (status == "True")


def throttled() -> None:
    raise Throttled("slow down")


@pytest.mark.core("CORE-711")
def test_a_pool_whose_node_class_is_going_is_not_ready() -> None:
    stage = Stage()
    stage.api.patch(NODE_CLASS, "default", {"metadata": {"finalizers": ["test/hold"]}})
    stage.api.delete(NODE_CLASS, "default")
    stage.run(5)
    said = condition(stage, "NodeClassReady")
    assert (said["reason"], said["message"]) == ("NodeClassTerminating", "NodeClass is Terminating")
    assert condition(stage, "Ready")["status"] == "False"


def test_what_a_pool_says_first_is_told_as_events_too() -> None:
    stage = Stage()
    told = {event["message"] for event in stage.all(kinds.EVENT) if event["involvedObject"]["kind"] == "NodePool"}
    assert told == {
        f"Status condition transitioned, Type: {type_}, Status: Unknown -> True, Reason: {type_}"
        for type_ in ("ValidationSucceeded", "NodeClassReady", "Ready")
    }
    assert {each["observedGeneration"] for each in condition_list(stage)} == {1}


def condition_list(stage: Stage) -> list[Json]:
    return list(stage.api.get(kinds.NODE_POOL, "default")["status"]["conditions"])


@pytest.mark.parametrize(
    "changed", [{"weight": 7}, {"limits": {"cpu": "99"}}, {"template": {"metadata": {"labels": {"a": "b"}}}}]
)
def test_a_pool_that_is_changed_stays_ready_and_what_stays_the_same_is_not_written_anew(changed: Json) -> None:
    stage = Stage(held(pool()))
    stage.grown(apps("a", 1))
    before = {each["type"]: each for each in condition_list(stage)}
    stage.run(100)
    written: list[Json] = []

    def patch(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        answer = real(kind, *rest, **more)
        if kind == kinds.NODE_POOL:
            written.append(rest[1])
        return answer

    stage.kube.through("patch", patch)
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": changed})
    stage.run(30)
    statuses = [conditions(each)["Ready"] for each in written if "conditions" in each.get("status", {})]
    assert statuses == ["True"]
    for each in condition_list(stage):
        if each["type"] != "NodeRegistrationHealthy":
            assert each == {**before[each["type"]], "observedGeneration": 2}


@pytest.mark.core("CORE-714")
@pytest.mark.parametrize(
    ("values", "valid"), [(["xspot"], False), (["xspot", "spot"], True), (["spot", "on-demand"], True)]
)
def test_capacity_types_that_there_are_none_of_make_a_pool_invalid_when_there_is_no_other(
    values: list[str], valid: bool
) -> None:
    wanted = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": values}
    stage = Stage(pool(requirements=[wanted]))
    said = condition(stage, "ValidationSucceeded")
    assert said["status"] == ("True" if valid else "False")
    assert condition(stage, "Ready")["status"] == said["status"]


@pytest.mark.core("CORE-709", "CORE-712")
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
