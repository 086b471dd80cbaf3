"""Commands are carried out side by side: each waits for its own replacements, and is undone by itself."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy.controllers.base import Request
from karpy.disruption.command import Method, Move
from karpy.errors import InsufficientCapacity, KubeError
from karpy.metrics import DISRUPTION_QUEUE_FAILURES
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.settings import Settings
from tests.karpy.controllers.disruption.commanding import (
    DISRUPTED,
    another,
    give,
    is_going,
    is_marked,
    peopled,
    queue,
    told,
)
from tests.karpy.controllers.stage import Stage, conditions, refusal, taint_keys, writes_condition
from tests.karpy.sim.manifests import bare_pod


def replacements(stage: Stage, *old: str) -> list[str]:
    return [name for name in stage.names(kinds.NODE_CLAIM) if name not in old]


# Waiting


@pytest.mark.core("CORE-539")
def test_what_needs_no_replacement_is_deleted_at_once() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    give(stage, old)
    assert is_marked(stage, old)
    stage.run(0)
    assert is_going(stage, old)
    assert queue(stage).busy == frozenset()


@pytest.mark.core("CORE-533", "CORE-534", "CORE-537")
def test_nodes_are_kept_from_pods_until_the_replacement_is_up_and_then_go() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    give(stage, old, replacements=1)
    (new,) = replacements(stage, old)
    while conditions(stage.api.get(kinds.NODE_CLAIM, new)).get("Initialized") != "True":
        assert is_marked(stage, old)
        assert not is_going(stage, old)
        stage.run(0.5)
    stage.run(1)
    assert is_going(stage, old)
    stage.until(lambda: stage.names(kinds.NODE_CLAIM) == [new] and stage.running("a") == 1)
    assert stage.metrics.told(DISRUPTION_QUEUE_FAILURES) == []
    assert not any(level == "error" for level, *_ in stage.log.lines)


@pytest.mark.core("CORE-538")
def test_all_replacements_are_waited_for() -> None:
    stage = peopled(2)
    old = stage.names(kinds.NODE_CLAIM)
    stage.cloud.launch_stillborn(1)
    give(stage, *old, replacements=2)
    new = replacements(stage, *old)
    assert len(new) == 2
    stage.run(120)
    up = [conditions(stage.api.get(kinds.NODE_CLAIM, name)).get("Initialized") for name in new]
    assert up.count("True") == 1
    assert all(is_marked(stage, name) and not is_going(stage, name) for name in old)


@pytest.mark.core("CORE-535")
def test_a_replacement_counts_as_gone_when_that_is_heard() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    give(stage, old, replacements=1)
    (new,) = replacements(stage, old)
    stage.api.delete(kinds.NODE_CLAIM, new)
    assert queue(stage).reconcile(Request(old)).requeue_after_s
    assert queue(stage).busy == {old}
    stage.run(1)
    assert queue(stage).busy == frozenset()
    assert not is_marked(stage, old)


@pytest.mark.core("CORE-540")
def test_one_command_does_not_wait_for_another() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    stage.cloud.launch_stillborn(1)
    give(stage, first, replacements=1)
    give(stage, second, replacements=1)
    stage.run(60)
    (waiting,) = queue(stage).busy  # that of the two whose replacement was launched first
    (other,) = {first, second} - {waiting}
    assert is_going(stage, other)
    assert is_marked(stage, waiting)
    assert not is_going(stage, waiting)


def test_a_node_is_in_one_command_only() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    command = give(stage, old, replacements=1)
    assert not queue(stage).begin(command, stage.operator.state.snapshot())
    assert len(replacements(stage, old)) == 1


def test_a_node_that_is_gone_is_not_replaced() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    picture = stage.operator.state.snapshot()
    command = give(stage, first, second, replacements=1)
    queue(stage)._undo(queue(stage)._under_way[first], "the test begins anew")
    stage.api.delete(kinds.NODE_CLAIM, first)
    stage.until(lambda: first not in stage.names(kinds.NODE_CLAIM))
    assert not queue(stage).begin(command, picture)


# Giving up


@pytest.mark.core("CORE-536", "CORE-510")
def test_when_its_time_is_up_everything_is_as_it_was() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    stage.cloud.launch_stillborn(1)
    give(stage, old, replacements=1)
    stage.run(599)
    assert is_marked(stage, old)
    stage.run(2)
    assert not is_marked(stage, old)
    assert not stage.operator.state.snapshot().nodes.by_claim[old].is_leaving
    assert [amount for amount, _ in stage.metrics.told(DISRUPTION_QUEUE_FAILURES)] == [1]
    (line,) = stage.log.said("failed to disrupt nodes")
    assert line["error"] == "its time is up"
    assert told(stage, "DisruptionAbandoned") == {
        ("Node", old): "The node stays: its time is up",
        ("NodeClaim", old): "The node stays: its time is up",
    }
    assert len(replacements(stage, old)) == 1  # it stays, and goes like all others if nobody needs it


def test_a_replacement_that_cannot_be_had_is_no_reason_to_wait() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    stage.cloud.fail_launches(InsufficientCapacity("none left"))
    give(stage, old, replacements=1)
    (new,) = replacements(stage, old)
    stage.run(5)
    assert not is_marked(stage, old)
    assert told(stage, "DisruptionAbandoned", "Node") == {
        ("Node", old): f"The node stays: replacement nodeclaim/{new} was not to be had"
    }
    assert stage.running("a") == 1


@pytest.mark.core("CORE-541")
def test_the_more_nodes_go_the_longer_their_replacements_are_waited_for() -> None:
    patient = Settings(replacement_timeout_per_node_s=300.0, longest_replacement_timeout_s=800.0)
    stage = peopled(3, settings=patient)
    stage.cloud.launch_stillborn(3)
    first, *others = stage.names(kinds.NODE_CLAIM)
    give(stage, first, replacements=1)
    stage.run(590)
    give(stage, *others, replacements=1)
    stage.run(200)  # 3 x 300 s are more than the most
    assert is_marked(stage, first)
    stage.run(15)
    assert not is_marked(stage, first)
    assert all(is_marked(stage, name) for name in others)


def test_by_default_that_is_ten_minutes_and_an_hour_for_very_many() -> None:
    settings = Settings()
    assert settings.replacement_timeout_s == 600
    assert settings.replacement_timeout_per_node_s == 0.08
    assert settings.longest_replacement_timeout_s == 3600


# Beginning


def failing(stage: Stage, *claims: str) -> None:
    """The condition of these claims is refused, once each."""
    hits = set(claims)

    def patch(real: Any, kind: Kind, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        if writes_condition(kind, body, "DisruptionReason") and name in hits:
            hits.discard(name)
            raise refusal(500)
        return real(kind, name, body, *rest, **more)

    stage.kube.through("patch", patch)


def test_where_nothing_is_launched_the_nodes_go_that_could_be_marked() -> None:
    stage = peopled(3)
    first, second, third = stage.names(kinds.NODE_CLAIM)
    failing(stage, first)
    give(stage, first, second, third, method=Method.EMPTINESS)
    assert queue(stage).busy == {second, third}
    stage.run(30)
    assert not is_marked(stage, first)
    assert is_going(stage, second)
    assert is_going(stage, third)


def test_where_something_is_launched_all_go_or_none() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    failing(stage, second)
    with pytest.raises(KubeError):
        give(stage, first, second, replacements=1)
    assert queue(stage).busy == frozenset()
    assert replacements(stage, first, second) == []
    stage.run(15)
    assert not is_marked(stage, first)
    assert not is_marked(stage, second)


def test_a_replacement_that_is_refused_leaves_nothing_behind() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    launch = another(stage)

    def create(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            raise refusal(403, "Forbidden")
        return real(kind, *rest, **more)

    stage.kube.through("create", create)
    with pytest.raises(KubeError):
        give(stage, old, replacements=1)
    assert launch.pods == ()
    stage.run(15)
    assert not is_marked(stage, old)
    assert not stage.operator.state.snapshot().nodes.by_claim[old].is_leaving


def test_of_several_replacements_all_come_or_none() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    asked: list[Kind] = []

    def create(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        asked.append(kind)
        if asked.count(kinds.NODE_CLAIM) == 2:
            raise refusal(403, "Forbidden")
        return real(kind, *rest, **more)

    stage.kube.through("create", create)
    with pytest.raises(KubeError):
        give(stage, old, replacements=2, method=Method.DRIFT)
    stage.run(15)
    assert stage.names(kinds.NODE_CLAIM) == [old]
    assert len(stage.cloud.machines) == 1
    assert not is_marked(stage, old)


def test_a_node_that_was_left_out_of_a_command_is_in_no_other_before_that_one_ends() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    until = stage.clock.now() + 20

    def delete(real: Any, kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and stage.clock.now() < until:
            raise refusal(500)
        return real(kind, name, *rest, **more)

    failing(stage, first)
    stage.kube.through("delete", delete)
    command = give(stage, first, second, method=Method.EMPTINESS)
    stage.run(10)
    assert queue(stage).busy == {second}
    alone = attrs.evolve(command, claims=(first,), nodes=(first,))
    assert not queue(stage).begin(alone, stage.operator.state.snapshot())
    stage.run(15)
    assert is_going(stage, second)
    assert queue(stage).begin(alone, stage.operator.state.snapshot())


@pytest.mark.core("CORE-508")
def test_nodes_count_as_leaving_only_when_their_replacements_are_made() -> None:
    """Else provisioning would launch for the same pods beside us."""
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    leaving: list[bool] = []

    def create(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            leaving.append(stage.operator.state.snapshot().nodes.by_claim[old].is_leaving)
        return real(kind, *rest, **more)

    stage.kube.through("create", create)
    give(stage, old, replacements=1)
    assert leaving == [False]
    assert stage.operator.state.snapshot().nodes.by_claim[old].is_leaving
    stage.until(lambda: is_going(stage, old))
    stage.run(60)
    assert len(leaving) == 1


def test_where_pods_go_to_is_kept_for_them() -> None:
    stage = peopled(2)
    old, other = stage.names(kinds.NODE_CLAIM)
    view = stage.operator.state.snapshot().nodes.by_claim[old]
    give(stage, old, moves=(Move(view.pods[0].key, other),))
    kept = stage.operator.state.snapshot().nodes.by_claim[other]
    assert kept.nominated_until > stage.clock.now()
    stage.run(1)
    said = [event["message"] for event in stage.all(kinds.EVENT) if event["reason"] == "Nominated"]
    assert f"Pod should schedule on: nodeclaim/{other}, node/{other}" in said


# Ending


def test_a_deletion_that_is_refused_is_tried_again_and_keeps_no_other() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    tried: list[str] = []

    def delete(real: Any, kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            tried.append(name)
            if tried == [first]:
                raise refusal(500)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", delete)
    give(stage, first, second)
    stage.run(1)
    assert tried == [first, second, first]
    assert is_going(stage, first)


@pytest.mark.core("CORE-531")
def test_what_a_command_does_is_told() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    give(stage, old, replacements=1)
    (new,) = replacements(stage, old)
    stage.until(lambda: is_going(stage, old))
    assert told(stage, "DisruptionLaunching") == {("NodeClaim", new): "Launching NodeClaim: Underutilized"}
    assert told(stage, "DisruptionWaitingReadiness") == {
        ("NodeClaim", new): "Waiting on readiness to continue disruption"
    }
    assert told(stage, "DisruptionTerminating") == {
        ("Node", old): "Disrupting Node: Underutilized",
        ("NodeClaim", old): "Disrupting NodeClaim: Underutilized",
    }
    (begun,), (ended,) = stage.log.said("disrupting node(s)"), stage.log.said("command succeeded")
    reason, _, rest = begun["command"].partition("/")
    assert (reason, rest[36:]) == (
        "Underutilized",
        f": replace: nodepools=[default]: [{old}] -> [1 replacement] (savings: $0.00)",
    )
    for line in (begun, ended):
        assert (line["decision"], line["disrupted_node_count"], line["replacement_node_count"]) == ("replace", 1, 1)


# Pods that come in between


def bind(stage: Stage, name: str, node: str, *, protected: bool = False) -> None:
    pod = bare_pod(name, nodeName=node)
    if protected:
        pod["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    stage.world.apply([pod])


def test_a_pod_that_came_just_before_the_taint_keeps_its_node() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    bind(stage, "late", old)  # and nobody has heard of it yet
    give(stage, old)
    stage.run(5)
    assert not is_going(stage, old)
    assert not is_marked(stage, old)
    assert told(stage, "DisruptionAbandoned", "Node") == {
        ("Node", old): "The node stays: Pod default/late came to the node"
    }


def test_a_pod_that_comes_while_replacements_come_up_keeps_its_node() -> None:
    stage = peopled(1)
    (old,) = stage.names(kinds.NODE_CLAIM)
    give(stage, old, replacements=1)
    bind(stage, "late", old)
    stage.run(60)
    assert not is_going(stage, old)
    assert not is_marked(stage, old)


def test_of_several_nodes_that_only_go_those_without_new_pods_do() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    bind(stage, "late", first)
    give(stage, first, second)
    stage.run(1)
    assert (is_going(stage, first), is_going(stage, second)) == (False, True)
    assert not is_marked(stage, first)


def test_drift_moves_whatever_is_there_but_not_what_must_not_be_disturbed() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    give(stage, first, method=Method.DRIFT)
    give(stage, second, method=Method.DRIFT)
    bind(stage, "late", first)
    bind(stage, "precious", second, protected=True)
    stage.run(1)
    assert (is_going(stage, first), is_going(stage, second)) == (True, False)
    assert told(stage, "DisruptionAbandoned", "Node") == {
        ("Node", second): 'The node stays: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/precious)'
    }


# What is left of former lives


def test_a_node_that_cannot_be_unmarked_keeps_no_other() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE)

    def patch(real: Any, kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE and name == first:
            raise refusal(403, "Forbidden")
        return real(kind, name, *rest, **more)

    for name in (first, second):
        stage.api.patch(kinds.NODE, name, {"spec": {"taints": [{"key": DISRUPTED, "effect": "NoSchedule"}]}})
    stage.kube.through("patch", patch)
    stage.run(15)
    assert taint_keys(stage.api.get(kinds.NODE, first)) == [DISRUPTED]
    assert taint_keys(stage.api.get(kinds.NODE, second)) == []


@pytest.mark.core("CORE-509")
def test_what_another_life_left_on_nodes_is_taken_off_but_not_what_a_command_put_there() -> None:
    stage = peopled(2)
    first, second = stage.names(kinds.NODE_CLAIM)
    stage.cloud.launch_stillborn(1)
    give(stage, first, replacements=1)
    stage.api.patch(kinds.NODE, second, {"spec": {"taints": [{"key": DISRUPTED, "effect": "NoSchedule"}]}})
    stage.run(15)
    assert taint_keys(stage.api.get(kinds.NODE, second)) == []
    assert is_marked(stage, first)
