"""What becomes of a launch: what is written on the claim, and what happens when it fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from karpy.errors import CreateFailed, InsufficientCapacity, NodeClassNotReady, ProviderError
from karpy.metrics import NODECLAIMS_DISRUPTED
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import WatchEvent
from karpy.sim.generic import NODE_CLASS as SIM_NODE_CLASS
from tests.karpy.controllers.stage import (
    Stage,
    apps,
    conditions,
    intercept,
    pool,
    refusal,
    unreadable,
    writes_condition,
)

Json = dict[str, Any]


def by_hand(name: str = "good", node_class: str = "default", requirements: Any = (), **spec: Any) -> Json:
    """A claim that a person applies, without a pool."""
    ref = {"group": SIM_NODE_CLASS.group, "kind": SIM_NODE_CLASS.kind, "name": node_class}
    return {
        "apiVersion": kinds.NODE_CLAIM.api_version,
        "kind": kinds.NODE_CLAIM.kind,
        "metadata": {"name": name},
        "spec": {"nodeClassRef": ref, "requirements": list(requirements), "expireAfter": "Never", **spec},
    }


def of_type(*names: str) -> list[Json]:
    return [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(names)}]


def condition(stage: Stage, name: str, type_: str) -> Mapping[str, Any]:
    found = stage.api.get(kinds.NODE_CLAIM, name)["status"]["conditions"]
    return next(each for each in found if each["type"] == type_)


def events(stage: Stage, reason: str) -> list[Mapping[str, Any]]:
    return [event for event in stage.all(kinds.EVENT) if event["reason"] == reason]


def counted(stage: Stage) -> list[str]:
    return [labels["reason"] for _, labels in stage.metrics.told(NODECLAIMS_DISRUPTED)]


@pytest.mark.core("CORE-644")
def test_a_launch_is_written_on_the_claim_in_one_piece() -> None:
    stage = Stage()
    seen: list[Mapping[str, Any]] = []
    stage.world.subscribe(kinds.NODE_CLAIM, lambda event: seen.append(event.object))
    name = stage.grown(apps("a", 1))
    launched = next(each for each in seen if conditions(each).get("Launched") == "True")
    machine = stage.cloud.machines[0]
    assert launched["status"]["providerID"] == machine.provider_id
    assert {"capacity", "allocatable", "imageID"} <= launched["status"].keys()
    assert launched["metadata"]["labels"]["node.kubernetes.io/instance-type"] == machine.instance_type.name
    said = {
        each["type"]: (each["status"], each["reason"], each["message"]) for each in launched["status"]["conditions"]
    }
    assert said == {
        "Launched": ("True", "Launched", ""),
        "Registered": ("Unknown", "NodeNotFound", "Node not registered with cluster"),
        "Initialized": ("Unknown", "AwaitingReconciliation", "object is awaiting reconciliation"),
        "Ready": ("Unknown", "ReconcilingDependents", "Registered=Unknown, Initialized=Unknown"),
    }
    assert {each["observedGeneration"] for each in launched["status"]["conditions"]} == {1}
    (line,) = stage.log.said("launched nodeclaim")
    assert (line["provider_id"], line["instance_type"]) == (machine.provider_id, machine.instance_type.name)
    assert stage.api.get(kinds.NODE_CLAIM, name)["status"]["providerID"] == machine.provider_id


def test_no_condition_is_written_twice_and_ready_turns_true_once() -> None:
    stage = Stage()
    said: list[tuple[Any, ...]] = []

    def note(event: WatchEvent) -> None:
        found = (event.object.get("status") or {}).get("conditions") or ()
        said.append(tuple((each["type"], each["status"], each["reason"], each["message"]) for each in found))

    stage.world.subscribe(kinds.NODE_CLAIM, note)
    stage.grown(apps("a", 1))
    told = [each for each in said if each]
    ready = [status for each in told for type_, status, *_ in each if type_ == "Ready"]
    assert [status for status, _ in itertools.groupby(ready)] == ["Unknown", "True"]
    changes = [each for each, _ in itertools.groupby(told)]
    assert len(changes) == len(set(changes))


def test_while_the_pool_cannot_be_read_a_launch_waits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()

    def create(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        made = real(kind, *rest, **more)
        if kind == kinds.NODE_CLAIM:
            unreadable(stage, monkeypatch)
        return made

    stage.kube.through("create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(400)
    (name,) = stage.names(kinds.NODE_CLAIM)
    said = condition(stage, name, "Launched")
    assert (said["status"], said["reason"]) == ("Unknown", "NodePoolUnreadable")
    assert said["message"].startswith("nodepool default cannot be read: NodePool/default: ")
    assert not stage.log.said("nodeclaim is not launched any more")
    assert not stage.cloud.machines


def test_a_cloud_whose_message_is_another_each_time_is_not_asked_without_a_pause() -> None:
    stage = Stage()
    stage.cloud.fail_launches(*(ProviderError(f"request {number} was refused") for number in range(9_999)))
    asked: list[float] = []

    def create(real: Any, *arguments: Any) -> Any:
        asked.append(stage.clock.now())
        return real(*arguments)

    intercept(stage.cloud, "create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(60)
    assert 2 <= len(asked) < 20
    (name,) = stage.names(kinds.NODE_CLAIM)
    assert condition(stage, name, "Launched")["message"] == "request 0 was refused"


@pytest.mark.core("CORE-645", "CORE-646")
@pytest.mark.parametrize(
    ("error", "event", "reason", "told"),
    [
        (
            InsufficientCapacity("none left"),
            "InsufficientCapacityError",
            "insufficient_capacity",
            "insufficient capacity, none left",
        ),
        (
            NodeClassNotReady("no subnets"),
            "NodeClassNotReady",
            "nodeclass_not_ready",
            "NodeClassRef not ready, no subnets",
        ),
    ],
)
def test_what_no_repetition_can_change_ends_the_claim_at_once(
    error: ProviderError, event: str, reason: str, told: str
) -> None:
    stage = Stage()
    stage.cloud.fail_launches(error)
    stage.grown(apps("a", 1))
    (found,) = events(stage, event)
    claim = found["involvedObject"]["name"]
    assert found["message"] == f"NodeClaim {claim} event: {told}"
    assert found["type"] == "Warning"
    assert counted(stage) == [reason]
    assert stage.log.said("failed launching nodeclaim") == [{"error": told}]
    assert claim not in stage.names(kinds.NODE_CLAIM)
    assert stage.running("a") == 1


@pytest.mark.core("CORE-647")
@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (CreateFailed("over quota", "QuotaExceeded"), "QuotaExceeded", "over quota"),
        (ProviderError("x" * 301), "LaunchFailed", "x" * 300 + "..."),
        (ProviderError("x" * 300), "LaunchFailed", "x" * 300),
    ],
    ids=["of the cloud", "long", "just short enough"],
)
def test_what_may_go_better_next_time_stands_on_the_claim_until_then(
    error: ProviderError, reason: str, message: str
) -> None:
    stage = Stage()
    stage.cloud.fail_launches(*([error] * 3))
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: any(conditions(claim).get("Launched") for claim in stage.claims), 30)
    (name,) = stage.names(kinds.NODE_CLAIM)
    found = condition(stage, name, "Launched")
    assert (found["status"], found["reason"], found["message"]) == ("Unknown", reason, message)
    stage.run(60)
    assert condition(stage, name, "Launched")["status"] == "True"


def test_an_error_that_no_provider_should_raise_is_told_on_the_claim_too() -> None:
    stage = Stage()

    def create(*_: Any) -> Any:
        raise ValueError("a slip of the provider's author")

    intercept(stage.cloud, "create", create)
    stage.world.apply([apps("a", 1)])
    with pytest.raises(ValueError, match="a slip"):
        stage.run(30)
    (name,) = stage.names(kinds.NODE_CLAIM)
    found = condition(stage, name, "Launched")
    assert (found["status"], found["reason"]) == ("Unknown", "LaunchFailed")
    assert found["message"] == "a slip of the provider's author"


@pytest.mark.core("CORE-661")
def test_a_launch_that_fails_until_its_time_is_over_is_given_up_and_counted() -> None:
    stage = Stage()
    stage.cloud.fail_launches(*(CreateFailed("not now") for _ in range(1000)))
    stage.world.apply([apps("a", 1)])
    stage.run(10)
    first = stage.names(kinds.NODE_CLAIM)
    stage.until(lambda: stage.names(kinds.NODE_CLAIM) != first, 400)
    assert counted(stage)[0] == "launch_timeout"
    assert stage.log.said("terminating due to timeout")[0] == {"timeout": "5m", "reason": "launch_timeout"}


@pytest.mark.core("CORE-662")
def test_a_pool_gives_its_machines_less_time_and_a_restart_gives_them_no_more() -> None:
    hasty = pool()
    hasty["metadata"]["annotations"] = {"karpy.dev/registration-timeout": "60s"}
    stage = Stage(hasty)
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: bool(stage.claims) and conditions(stage.claims[0]).get("Launched") == "True")
    first = stage.names(kinds.NODE_CLAIM)
    stage.run(30)
    stage.start()
    passed = stage.until(lambda: first[0] not in stage.names(kinds.NODE_CLAIM), 100)
    assert passed < 45
    assert "registration_timeout" in counted(stage)


def test_a_limit_that_cannot_be_read_is_named_on_the_pool() -> None:
    wrong = pool()
    wrong["metadata"]["annotations"] = {"karpy.dev/launch-timeout": "soon"}
    stage = Stage(wrong)
    found = {each["type"]: each for each in stage.all(kinds.NODE_POOL)[0]["status"]["conditions"]}
    assert found["ValidationSucceeded"]["status"] == "False"
    assert "metadata.annotations[karpy.dev/launch-timeout]: found 'soon'" in found["ValidationSucceeded"]["message"]


def test_a_claim_made_by_hand_gets_what_it_asks_for() -> None:
    stage = Stage()
    stage.world.apply([by_hand(requirements=of_type("c-2x-amd64"), taints=[{"key": "own", "effect": "NoSchedule"}])])
    stage.run(30)
    assert conditions(stage.api.get(kinds.NODE_CLAIM, "good"))["Ready"] == "True"
    (node,) = stage.nodes
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "c-2x-amd64"
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["own"]
    stage.api.delete(kinds.NODE_CLAIM, "good")
    stage.run(60)
    assert (stage.claims, stage.nodes, stage.cloud.machines) == ([], [], ())


def test_a_claim_made_by_hand_that_asks_for_nothing_gets_the_cheapest() -> None:
    stage = Stage()
    stage.world.apply([by_hand()])
    stage.run(30)
    (machine,) = stage.cloud.machines
    types = stage.cloud.instance_types(None, stage.api.get(SIM_NODE_CLASS, "default"))  # type: ignore[arg-type]
    cheapest = min(offering.price for each in types for offering in each.offerings if offering.available)
    assert machine.price == cheapest


@pytest.mark.core("CORE-647")
def test_a_claim_made_by_hand_for_what_is_not_sold_says_so_until_its_time_is_over() -> None:
    stage = Stage()
    stage.world.apply([by_hand("odd", requirements=of_type("no-such-type"))])
    stage.run(30)
    found = condition(stage, "odd", "Launched")
    assert (found["status"], found["reason"]) == ("Unknown", "LaunchFailed")
    assert found["message"] == "no instance type that is sold here meets the requirements of the claim"
    stage.run(400)
    assert (stage.claims, counted(stage)) == ([], ["launch_timeout"])


def test_a_claim_of_a_node_class_that_is_missing_goes_at_once() -> None:
    stage = Stage()
    stage.world.apply([by_hand("lost", node_class="missing")])
    stage.run(10)
    (event,) = events(stage, "InsufficientCapacityError")
    told = 'insufficient capacity, resolving node class from nodeclaim, SimNodeClass.sim.karpy.dev "missing" not found'
    assert event["message"] == f"NodeClaim lost event: {told}"
    assert (stage.claims, counted(stage)) == ([], ["insufficient_capacity"])


def test_a_claim_of_another_autoscaler_is_not_touched() -> None:
    stage = Stage()
    other = by_hand("other")
    other["spec"]["nodeClassRef"] = {"group": "other.test", "kind": "OtherClass", "name": "default"}
    stage.world.apply([other])
    before = stage.api.get(kinds.NODE_CLAIM, "other")
    stage.run(30)
    assert stage.api.get(kinds.NODE_CLAIM, "other") == before


def test_a_claim_that_was_made_anew_under_its_name_during_the_launch_takes_over_the_machine() -> None:
    stage = Stage()
    swapped: list[str] = []

    def create(real: Callable[..., Any], claim: Any, *rest: Any) -> Any:
        instance = real(claim, *rest)
        if not swapped:
            swapped.append(claim.name)
            stage.api.patch(kinds.NODE_CLAIM, claim.name, {"metadata": {"finalizers": None}})
            stage.api.delete(kinds.NODE_CLAIM, claim.name)
            stage.world.apply([by_hand("good")])
        return instance

    intercept(stage.cloud, "create", create)
    stage.world.apply([by_hand("good")])
    stage.run(60)
    assert swapped == ["good"]
    assert stage.cloud.launches == 1
    assert conditions(stage.api.get(kinds.NODE_CLAIM, "good"))["Ready"] == "True"


@pytest.mark.parametrize("written", ["labels", "conditions"])
def test_a_launch_that_could_not_be_written_down_is_found_again_after_a_restart(written: str) -> None:
    """The cloud launches once for each claim, whoever asks, and how often."""
    stage = Stage()
    down: list[bool] = [True]

    def patch(real: Callable[..., Any], kind: Kind, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        labelled = kind == kinds.NODE_CLAIM and LABEL_OF_TYPE in body.get("metadata", {}).get("labels", {})
        if down and (labelled if written == "labels" else writes_condition(kind, body, "Launched")):
            raise refusal(500)
        return real(kind, name, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.world.apply([by_hand("good")])
    stage.run(30)
    assert stage.cloud.launches == 1
    assert conditions(stage.api.get(kinds.NODE_CLAIM, "good")).get("Launched") != "True"
    down.clear()
    stage.start()
    stage.run(90)
    assert conditions(stage.api.get(kinds.NODE_CLAIM, "good"))["Ready"] == "True"
    assert stage.cloud.launches == len(stage.cloud.machines) == 1


LABEL_OF_TYPE = "node.kubernetes.io/instance-type"
