from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.clock import format_time
from karpy.lifecycle.draining import Drain, drain, keeps_its_turn
from karpy.objects.pod import Pod
from karpy.testing import START, make_pod

CRITICAL = {"priorityClassName": "system-cluster-critical"}
NODE_CRITICAL = {"priorityClassName": "system-node-critical"}


def pod(name: str = "p", *, deleted_s_ago: float | None = None, **arguments: Any) -> Pod:
    raw = make_pod(name, node="n", **arguments)
    if deleted_s_ago is not None:
        raw["metadata"]["deletionTimestamp"] = format_time(START - deleted_s_ago)
    return Pod.from_dict(raw)


def drained(*pods: Pod) -> tuple[list[str], list[str]]:
    """Names of those that are evicted now, and of those that are waited for."""
    found = drain(pods, now=START)
    return ([p.metadata.name for p in found.evict], [p.metadata.name for p in found.waiting])


@pytest.mark.core("CORE-691")
def test_pods_leave_in_four_groups_one_after_the_other() -> None:
    groups = [
        pod("ordinary"),
        pod("daemon", owner="DaemonSet"),
        pod("critical", spec=CRITICAL),
        pod("critical-daemon", owner="DaemonSet", spec=NODE_CRITICAL),
    ]
    for gone in range(4):
        names = [p.metadata.name for p in groups[gone:]]
        assert drained(*reversed(groups[gone:])) == (names[:1], names[:0:-1])
    assert drain((), now=START).is_done


@pytest.mark.core("CORE-691", "CORE-692")
def test_a_group_is_left_only_when_its_last_pod_is_gone() -> None:
    leaving, next_group = pod("leaving", deleted_s_ago=5), pod("daemon", owner="DaemonSet")
    assert drained(leaving, next_group) == ([], ["leaving", "daemon"])


@pytest.mark.core("CORE-689")
@pytest.mark.parametrize(
    ("toleration", "leaves"),
    [
        ({"key": "karpenter.sh/disrupted", "operator": "Exists"}, False),
        ({"key": "karpenter.sh/disrupted", "operator": "Equal"}, False),
        ({"operator": "Exists"}, False),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, True),
    ],
)
def test_pods_that_tolerate_the_taint_stay(toleration: dict[str, str], leaves: bool) -> None:
    assert drain([pod(spec={"tolerations": [toleration]})], now=START).is_done is not leaves


@pytest.mark.core("CORE-690", "CORE-691")
@pytest.mark.parametrize(
    "state", [{"status": {"phase": "Succeeded"}}, {"status": {"phase": "Failed"}}, {"owner": "Node"}]
)
def test_finished_and_mirror_pods_are_not_waited_for(state: dict[str, Any]) -> None:
    assert drain([pod(**state)], now=START) == Drain()


@pytest.mark.core("CORE-694")
@pytest.mark.parametrize(("seconds", "waited_for"), [(0, True), (60, True), (61, False)])
def test_a_pod_that_is_stuck_in_its_end_is_waited_for_one_minute(seconds: float, waited_for: bool) -> None:
    assert drained(pod(deleted_s_ago=seconds)) == ([], ["p"] if waited_for else [])


def test_a_pod_that_must_not_be_disturbed_is_waited_for_but_not_evicted() -> None:
    assert drained(pod(annotations={"karpenter.sh/do-not-disrupt": "true"})) == ([], ["p"])


@pytest.mark.core("CORE-690")
def test_a_pod_of_nobody_is_evicted_too() -> None:
    assert drained(pod(owner="")) == (["p"], [])


# Pods that do not want to be disturbed


def protected(name: str = "p", *, value: str = "true", started_s_ago: float | None = 60, **arguments: Any) -> Pod:
    status = {"status": {"startTime": format_time(START - started_s_ago)}} if started_s_ago is not None else {}
    return pod(name, annotations={"karpenter.sh/do-not-disrupt": value}, **status, **arguments)


@pytest.mark.parametrize(
    ("value", "started_s_ago", "stays"),
    [
        ("true", 10**9, True),
        ("90s", 60, True),
        ("1m", 60, False),
        ("1m", None, True),
        ("false", 60, False),
        ("soon", 60, False),
        ("-5m", 60, False),
        ("0s", 60, False),
    ],
)
def test_a_pod_is_left_alone_for_as_long_as_it_wishes(value: str, started_s_ago: float | None, stays: bool) -> None:
    expected: tuple[list[str], list[str]] = ([], ["p"]) if stays else (["p"], [])
    assert drained(protected(value=value, started_s_ago=started_s_ago)) == expected


def test_the_end_of_its_wish_is_when_it_is_looked_at_again() -> None:
    assert drain([protected(value="5m", started_s_ago=60)], now=START).next_at == START + 240
    assert drain([protected()], now=START).next_at == math.inf


def test_a_daemon_with_the_wish_keeps_those_after_it() -> None:
    daemon = protected("daemon", owner="DaemonSet")
    assert drained(daemon, pod("critical", spec=CRITICAL)) == ([], ["daemon", "critical"])


# Deadlines


def graceful(name: str = "p", grace_s: int | None = 30, **arguments: Any) -> Pod:
    """A pod that asks for so much time to end."""
    spec = {**arguments.pop("spec", {}), "terminationGracePeriodSeconds": grace_s}
    return pod(name, spec={key: value for key, value in spec.items() if value is not None}, **arguments)


def forced(*pods: Pod, deadline_in_s: float) -> dict[str, int]:
    """Names of those that are deleted now, with the seconds that they get."""
    found = drain(pods, now=START, deadline=START + deadline_in_s)
    return {each.pod.metadata.name: each.grace_s for each in found.force}


@pytest.mark.core("CORE-696")
def test_pods_are_told_early_enough_to_take_the_time_that_they_asked_for() -> None:
    pods = [graceful("long", 100), graceful("short", 10)]
    assert forced(*pods, deadline_in_s=101) == {}
    assert forced(*pods, deadline_in_s=100) == {"long": 100}
    assert forced(*pods, deadline_in_s=10) == {"long": 10, "short": 10}
    assert drain(pods, now=START, deadline=START + 150).next_at == START + 50


@pytest.mark.core("CORE-696", "CORE-702")
def test_the_deadline_is_for_all_groups_and_whatever_protects_a_pod() -> None:
    wishes = {"karpenter.sh/do-not-disrupt": "true"}
    pods = [
        pod("ordinary"),
        graceful("wishful", annotations=wishes),
        graceful("critical-daemon", owner="DaemonSet", spec=CRITICAL),
    ]
    assert forced(*pods, deadline_in_s=20) == {"wishful": 20, "critical-daemon": 20}


@pytest.mark.core("CORE-696")
def test_one_that_says_nothing_of_its_end_is_left_alone_to_the_last() -> None:
    assert forced(graceful(grace_s=None), deadline_in_s=1) == {}
    assert forced(graceful(grace_s=None), deadline_in_s=0) == {"p": 1}


@pytest.mark.core("CORE-697")
def test_one_that_would_end_after_the_deadline_is_told_to_end_earlier() -> None:
    late, early = pod("late", deleted_s_ago=-3600), pod("early", deleted_s_ago=-20)
    assert forced(late, early, deadline_in_s=60) == {"late": 60}
    assert forced(pod("told", deleted_s_ago=-60), deadline_in_s=60) == {}


@pytest.mark.core("CORE-702")
@given(
    now=st.floats(-(2.0**40), 2.0**40),
    deadline=st.floats(0, 2.0**38),
    own=st.none() | st.integers(-(2**63), 2**63 - 1),
    deleted=st.none() | st.integers(0, 2**37),
)
def test_grace_is_never_less_than_a_second_nor_more_than_was_asked_for(
    now: float, deadline: float, own: int | None, deleted: int | None
) -> None:
    """Whatever the clock does."""
    raw = make_pod("p", node="n")
    raw["spec"]["terminationGracePeriodSeconds"] = own
    if deleted is not None:
        raw["metadata"]["deletionTimestamp"] = format_time(deleted)
    found = drain([Pod.from_dict(raw)], now=now, deadline=deadline)
    for each in found.force:
        assert 1 <= each.grace_s <= max(own or 0, 1) or deleted is not None
        assert now + each.grace_s <= max(deadline, now + 1)
        assert deleted is None or now + each.grace_s < deleted


@pytest.mark.core("CORE-694")
def test_a_pod_that_is_stuck_is_named() -> None:
    found = drain([pod("gone", deleted_s_ago=70)], now=START)
    assert found.is_done
    assert [each.metadata.name for each in found.stuck] == ["gone"]
    assert drain([pod("going", deleted_s_ago=10)], now=START).next_at == START + 51


@pytest.mark.core("CORE-691")
def test_it_is_the_turn_of_ordinary_pods_until_none_has_to_leave() -> None:
    daemon, critical = pod("daemon", owner="DaemonSet"), pod("critical", spec=CRITICAL)
    assert keeps_its_turn([daemon, pod("ordinary"), critical], START)
    assert keeps_its_turn([daemon, pod("ending", deleted_s_ago=5)], START)
    assert not keeps_its_turn([daemon, critical, pod("stuck", deleted_s_ago=61)], START)
    assert not keeps_its_turn([], START)
