"""Pods are told to go: asked for, asked for again when a budget allows, and ended in time."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import format_time, parse_time
from karpy.metrics import PODS_DRAINED, PODS_EVICTION_REQUESTS
from karpy.objects import kinds
from tests.karpy.controllers.node.leaving import GRACE, STOPS_LATE, WISH, Leaving, budget, waits_only, wishing
from tests.karpy.controllers.stage import apps, pool, refusal

# Asking


@pytest.mark.core("CORE-701")
def test_an_evicted_pod_is_told_why() -> None:
    stage = Leaving()
    stage.take(stage.grown(apps("a", 1)))
    stage.until(lambda: bool(stage.told("Evicted", kinds.POD)))
    assert stage.told("Evicted", kinds.POD) == ["Evicted pod: Forceful Termination"]
    assert stage.counted(PODS_EVICTION_REQUESTS, code="200") == 1
    assert stage.counted(PODS_DRAINED, reason="Forceful Termination") == 1


@pytest.mark.core("CORE-701")
@pytest.mark.parametrize("code", [404, 409])
def test_a_pod_that_is_gone_already_is_no_news(code: int) -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))

    def evict(_real: Any, pod: str, namespace: str, **_: Any) -> None:
        stage.api.delete(kinds.POD, pod, namespace, grace_period_s=0)
        raise refusal(code, "NotFound" if code == 404 else "Conflict")

    stage.kube.through("evict", evict)
    stage.take(name)
    stage.until_gone(name)
    assert not stage.told("Evicted", kinds.POD)
    assert waits_only(stage.told("FailedDraining", kinds.NODE))
    assert stage.counted(PODS_EVICTION_REQUESTS, code=str(code)) == 1


@pytest.mark.core("CORE-691", "CORE-701")
def test_what_a_budget_says_is_told_on_the_node() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.run(5)
    stage.take(name)
    stage.run(5)
    pod = stage.pod("a")
    told = stage.told("FailedDraining", kinds.NODE)
    assert "Failed to drain node, 1 pods are waiting to be evicted" in told
    assert f"Failed to drain node, evicting pod violates a PDB (Pod=default/{pod['metadata']['name']})" in told
    assert stage.counted(PODS_EVICTION_REQUESTS, code="429") == 2


@pytest.mark.core("CORE-701")
def test_several_budgets_are_told_on_the_node() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.world.apply([budget("x", "a", maxUnavailable=1), budget("y", "a", maxUnavailable=1)])
    stage.run(5)
    stage.take(name)
    stage.run(5)
    pod = stage.pod("a")
    text = f"Failed to drain node, eviction does not support multiple PDBs (Pod=default/{pod['metadata']['name']})"
    assert text in stage.told("FailedDraining", kinds.NODE)
    assert stage.counted(PODS_EVICTION_REQUESTS, code="500") == 2


@pytest.mark.core("CORE-695")
def test_only_the_pod_that_was_seen_is_asked_for() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    pod = stage.pod("a")
    uids: list[str] = []

    def evict(real: Any, *where: str, uid: str = "") -> None:
        uids.append(uid)
        real(*where, uid=uid)

    stage.kube.through("evict", evict)
    stage.take(name)
    stage.run(60)
    assert uids == [pod["metadata"]["uid"]]


# Budgets that allow again


def test_a_budget_that_allows_again_is_seen_at_once() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.run(5)
    calls = stage.asked()
    stage.take(name)
    stage.run(100)
    stage.api.patch(kinds.POD_DISRUPTION_BUDGET, "b", {"spec": {"maxUnavailable": 1}}, "default")
    now = stage.clock.now()
    stage.run(1)
    assert calls[-1] == (now, "a", "200")


def test_a_budget_that_is_gone_is_seen_at_once() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.world.apply([budget("x", "a", maxUnavailable=1), budget("y", "a", maxUnavailable=1)])
    stage.run(5)
    calls = stage.asked()
    stage.take(name)
    stage.run(100)
    stage.api.delete(kinds.POD_DISRUPTION_BUDGET, "x", "default")
    now = stage.clock.now()
    stage.run(1)
    assert calls[-1] == (now, "a", "200")


def test_no_more_pods_are_asked_for_than_a_budget_has_room_for() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 3, "500m"))
    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.run(5)
    calls = stage.asked()
    stage.take(name)
    stage.run(100)
    calls.clear()
    stage.api.patch(kinds.POD_DISRUPTION_BUDGET, "b", {"spec": {"maxUnavailable": 1}}, "default")
    stage.run(0.4)
    assert [code for _, _, code in calls] == ["200"]
    stage.until_gone(name)
    assert stage.running("a") == 3


# Deadlines


@pytest.mark.core("CORE-671", "CORE-696", "CORE-702")
def test_a_protected_pod_is_told_early_enough_to_take_its_time() -> None:
    stage = Leaving(pool(terminationGracePeriod="10m"))
    wish = {WISH: "true", **STOPS_LATE}
    name = stage.grown(wishing("a", 1, annotations=wish, **{GRACE: 100}))
    calls, start = stage.deleted(), stage.clock.now()
    stage.take(name)
    stage.run(2)
    deadline = stage.deadline(name)
    assert deadline == start + 600
    stage.until(lambda: bool(calls))
    assert calls == [(deadline - 100, "a", 100)]
    took = stage.until_gone(name)
    assert took < 100 + 15
    (text,) = stage.told("Disrupted", kinds.POD)
    assert text == (
        f"Deleting the pod to accommodate the terminationTime {format_time(deadline)} of the node. The pod was granted 100 "
        "seconds of grace-period of its 100 terminationGracePeriodSeconds. This bypasses the PDB of the pod and the "
        "do-not-disrupt annotation."
    )
    expiring = f"All pods will be deleted by {format_time(deadline)}"
    assert stage.told("TerminationGracePeriodExpiring", kinds.NODE) == [expiring]
    assert stage.told("TerminationGracePeriodExpiring", kinds.NODE_CLAIM) == [expiring]


@pytest.mark.core("CORE-702")
def test_a_pod_that_a_budget_holds_is_ended_in_time_too() -> None:
    stage = Leaving(pool(terminationGracePeriod="2m"))
    name = stage.grown(apps("a", 1, **{GRACE: 30}))
    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.run(5)
    calls, start = stage.deleted(), stage.clock.now()
    stage.take(name)
    stage.until_gone(name)
    assert calls == [(start + 90, "a", 30)]


@pytest.mark.core("CORE-696")
def test_a_pod_that_can_be_evicted_is_not_forced() -> None:
    stage = Leaving(pool(terminationGracePeriod="10m"))
    name = stage.grown(apps("a", 2))
    calls = stage.deleted()
    stage.take(name)
    stage.until_gone(name)
    assert calls == []


@pytest.mark.core("CORE-697")
def test_a_pod_that_somebody_gave_more_time_than_there_is_gets_less() -> None:
    stage = Leaving(pool(terminationGracePeriod="5m"))
    wish = {WISH: "true", **STOPS_LATE}
    name = stage.grown(wishing("a", 1, annotations=wish, **{GRACE: 36_000}))
    pod = stage.pod("a")
    stage.api.delete(kinds.POD, pod["metadata"]["name"], "default")
    stage.run(5)
    calls, start = stage.deleted(), stage.clock.now()
    stage.take(name)
    took = stage.until_gone(name)
    assert calls == [(start, "a", 300)]
    assert took < 300 + 15


@pytest.mark.core("CORE-702", "CORE-704")
def test_a_deadline_that_is_moved_nearer_counts() -> None:
    """As node repair does it."""
    stage = Leaving(pool(terminationGracePeriod="10h"))
    name = stage.grown(wishing("a", 1, annotations={WISH: "true"}, **{GRACE: 30}))
    calls = stage.deleted()
    stage.take(name)
    stage.run(60)
    now = {"karpenter.sh/nodeclaim-termination-timestamp": format_time(stage.clock.now())}
    stage.api.patch(kinds.NODE_CLAIM, name, {"metadata": {"annotations": now}})
    stage.run(1)
    assert [(app, grace) for _, app, grace in calls] == [("a", 1)]


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0, -86_400.0, 86_400.0 * 400])
def test_no_clock_makes_grace_negative(jump_s: float) -> None:
    """Leap seconds, the end of summer time, and clocks that were simply wrong."""
    stage = Leaving(pool(terminationGracePeriod="10m"))
    wish = {WISH: "true"}
    name = stage.grown(wishing("a", 2, "500m", annotations=wish, **{GRACE: 60}))
    calls = stage.deleted()
    stage.take(name)
    stage.run(60)
    stage.own_clock.ahead_s = jump_s
    stage.world.run(1200)
    assert all(grace is not None and 1 <= grace <= 60 for _, _, grace in calls)
    if jump_s > 0:
        assert name not in stage.names(kinds.NODE_CLAIM)


# Wishes


def test_a_pod_that_wants_its_peace_for_a_while_is_evicted_when_that_is_over() -> None:
    stage = Leaving()
    name = stage.grown(wishing("a", 1, annotations={WISH: "10m"}))
    pod = stage.pod("a")
    until = parse_time(pod["status"]["startTime"]) + 600
    calls = stage.asked()
    stage.take(name)
    stage.until_gone(name)
    assert calls == [(until, "a", "200")]
    assert set(stage.told("DoNotDisruptUntil", kinds.POD)) == {f"Pod is not disrupted until {format_time(until)}"}
    assert stage.told("DoNotDisruptGracePeriodElapsed", kinds.POD) == [
        f"Pod may be disrupted since {format_time(until)}"
    ]


def test_a_wish_that_cannot_be_understood_is_ignored_and_said() -> None:
    stage = Leaving()
    name = stage.grown(wishing("a", 1, annotations={WISH: "until dawn"}))
    stage.take(name)
    stage.until_gone(name)
    (text,) = stage.told("InvalidDoNotDisruptAnnotation", kinds.POD)
    assert (
        text == '"karpenter.sh/do-not-disrupt: until dawn" is ignored (accepted: "true", or a duration such as "30m")'
    )
