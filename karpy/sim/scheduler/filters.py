"""The rules that one node meets or not for a pod by itself: cordon, taints, node affinity, host ports, resources.

Source: kube-scheduler's plug-ins NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts and NodeResourcesFit, in the order in
which they refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from karpy.resources import PODS
from karpy.sim.scheduler import reasons
from karpy.sim.scheduler.nodes import NodePicture
from karpy.sim.scheduler.reasons import Refusal
from karpy.sim.scheduler.selectors import matches_any_term
from karpy.sim.scheduler.shape import Shape
from karpy.taints import NO_EXECUTE, NO_SCHEDULE, Taint

__all__ = ["StaticRules", "refuse_for_room"]

T = TypeVar("T")

_REMEMBERED = 1_000
_CORDON = Taint("node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


class StaticRules:
    """Answers that depend only on the shape of a pod and the description of a node, so they are remembered."""

    def __init__(self) -> None:
        self._answers: dict[Shape, dict[str, tuple[int, Refusal | None]]] = {}
        self._affinity: dict[Shape, dict[str, tuple[int, bool]]] = {}

    def refuse(self, shape: Shape, node: NodePicture) -> Refusal | None:
        """Cordon, taints and node affinity."""
        known = _memory_of(self._answers, shape)
        answer = known.get(node.name)
        if answer is None or answer[0] != node.version:
            answer = known[node.name] = (node.version, self._decide(shape, node))
        return answer[1]

    def fits_affinity(self, shape: Shape, node: NodePicture) -> bool:
        """The pod's node selector and required node affinity alone."""
        known = _memory_of(self._affinity, shape)
        answer = known.get(node.name)
        if answer is None or answer[0] != node.version:
            answer = known[node.name] = (node.version, _fits_affinity(shape, node))
        return answer[1]

    def _decide(self, shape: Shape, node: NodePicture) -> Refusal | None:
        if node.unschedulable and not any(each.tolerates(_CORDON) for each in shape.tolerations):
            return reasons.UNSCHEDULABLE
        for taint in node.taints:
            hard = taint.effect in (NO_SCHEDULE, NO_EXECUTE)
            if hard and not any(each.tolerates(taint) for each in shape.tolerations):
                return reasons.untolerated(taint.key, taint.value or "")
        return None if self.fits_affinity(shape, node) else reasons.NODE_AFFINITY


def _memory_of(memory: dict[Shape, dict[str, T]], shape: Shape) -> dict[str, T]:
    known = memory.get(shape)
    if known is None:
        if len(memory) >= _REMEMBERED:
            memory.clear()  # shapes and nodes that are gone would pile up
        known = memory[shape] = {}
    return known


def _fits_affinity(shape: Shape, node: NodePicture) -> bool:
    labels = node.labels
    if any(labels.get(key) != value for key, value in shape.node_selector.items()):
        return False
    return shape.required_terms is None or matches_any_term(shape.required_terms, node.name, labels)


def refuse_for_room(shape: Shape, node: NodePicture) -> Refusal | None:
    """Host ports and resources."""
    if shape.ports and node.has_port_conflict(shape.ports):
        return reasons.PORTS
    requested, allocatable = node.requested, node.allocatable
    for name, amount in shape.requests.items():
        if amount and amount > allocatable.get(name, 0) - requested.get(name, 0):
            return _lacking(shape.requests, node)
    return None


def _lacking(requests: Mapping[str, int], node: NodePicture) -> Refusal:
    short = {
        name
        for name, amount in requests.items()
        if amount and amount > node.allocatable.get(name, 0) - node.requested.get(name, 0)
    }
    return reasons.insufficient(PODS in short, tuple(sorted(short - {PODS})))
