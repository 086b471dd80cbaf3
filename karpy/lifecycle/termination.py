"""Emptying a node, gently and in order (core specification 4.12)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from karpy import labels
from karpy.lifecycle.step import Drain
from karpy.objects.meta import to_wire
from karpy.objects.node import Node
from karpy.objects.pod import Pod
from karpy.taints import DISRUPTED

__all__ = ["drain", "termination_patch"]

_CRITICAL = frozenset({"system-cluster-critical", "system-node-critical"})
_STUCK_S = 60.0


def termination_patch(node: Node) -> dict[str, Any] | None:
    """The merge patch that keeps new pods and load balancers away, or None when it is there already."""
    exclude = {labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"}
    tainted = any(taint.matches(DISRUPTED) for taint in node.spec.taints)
    if tainted and exclude.items() <= node.labels.items():
        return None
    taints = [taint for taint in node.spec.taints if taint.key != DISRUPTED.key]
    return {
        "metadata": {"resourceVersion": node.metadata.resource_version, "labels": exclude},
        "spec": {"taints": to_wire([*taints, DISRUPTED])},
    }


def drain(pods: Iterable[Pod], *, now: float) -> Drain:
    """Who goes next. Pods leave in four groups, one after the other: ordinary ones, daemons, critical ones, critical daemons.

    Pods that tolerate the taint, mirror pods, finished ones and ones that are stuck in their end are not waited for.
    """
    leaving = [pod for pod in pods if _has_to_leave(pod, now)]
    if not leaving:
        return Drain()
    first = min(_group(pod) for pod in leaving)
    group = [pod for pod in leaving if _group(pod) == first]
    evict = tuple(pod for pod in group if not pod.metadata.is_deleting and not pod.is_do_not_disrupt)
    return Drain(evict, tuple(pod for pod in leaving if pod not in evict))


def _has_to_leave(pod: Pod, now: float) -> bool:
    if pod.is_terminal or pod.is_static or pod.tolerates_disruption:
        return False
    deleted = pod.metadata.deleted
    return deleted is None or now - deleted <= _STUCK_S


def _group(pod: Pod) -> tuple[bool, bool]:
    return pod.spec.priority_class_name in _CRITICAL, pod.is_owned_by_daemon_set
