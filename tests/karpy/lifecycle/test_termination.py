from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import format_time
from karpy.lifecycle.step import Drain
from karpy.lifecycle.termination import drain, termination_patch
from karpy.objects.node import Node
from karpy.objects.pod import Pod
from karpy.testing import START, make_node, make_pod

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


# Keeping others away


@pytest.mark.core("CORE-688")
def test_a_node_that_goes_is_tainted_and_taken_from_load_balancers() -> None:
    other = {"key": "dedicated", "effect": "NoSchedule"}
    stale = {"key": "karpenter.sh/disrupted", "effect": "NoExecute"}
    patch = termination_patch(Node.from_dict(make_node(taints=[stale, other])))
    assert patch == {
        "metadata": {
            "resourceVersion": "1",
            "labels": {"node.kubernetes.io/exclude-from-external-load-balancers": "karpenter"},
        },
        "spec": {"taints": [other, {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]},
    }


def test_what_is_there_already_is_not_written_again() -> None:
    labels = {"node.kubernetes.io/exclude-from-external-load-balancers": "karpenter"}
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    assert termination_patch(Node.from_dict(make_node(taints=[taint], labels=labels))) is None
