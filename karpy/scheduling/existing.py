"""Machines that are there or on their way, while a solve fills them."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.objects.pod import Pod
from karpy.scheduling.classes import Constraints, PodClass
from karpy.scheduling.daemons import Daemon, expected_on
from karpy.scheduling.plan import Nomination
from karpy.state.snapshot import NodeView, Snapshot
from karpy.taints import untolerated

__all__ = ["ExistingNode", "existing_nodes"]


class ExistingNode:
    """A node's free room. It only shrinks during a solve, so a class that was refused once is refused for good."""

    __slots__ = ("_answers", "free", "pods", "view")

    def __init__(self, view: NodeView, daemons: Sequence[Daemon]) -> None:
        self.view = view
        self.free: dict[str, int] = dict(view.available - expected_on(view, daemons))
        self.pods: list[Pod] = []
        self._answers: dict[Constraints, bool] = {}

    @property
    def is_overfull(self) -> bool:
        """More is promised than there is: nothing is put here (Karpenter's rule)."""
        return any(amount < 0 for amount in self.free.values())

    def accepts(self, constraints: Constraints) -> bool:
        """Whether labels and taints allow it. A node's labels are final: a key that it lacks stays undefined."""
        known = self._answers.get(constraints)
        if known is None:
            known = (
                untolerated(self.view.taints, constraints.tolerations) is None
                and self.view.requirements.compatible(constraints.requirements) is None
            )
            self._answers[constraints] = known
        return known

    def add(self, pod: Pod, pod_class: PodClass) -> bool:
        """Put the pod here if it fits."""
        free = self.free
        for name, amount in pod_class.amounts:
            if amount > free.get(name, 0):
                return False
        if not self.accepts(pod_class.constraints):
            return False
        for name, amount in pod_class.amounts:
            free[name] -= amount
        self.pods.append(pod)
        return True

    def to_nomination(self) -> Nomination:
        return Nomination(
            self.view.name, tuple(pod.key for pod in self.pods), tuple(pod.metadata.uid for pod in self.pods)
        )


def existing_nodes(snapshot: Snapshot, daemons: Sequence[Daemon]) -> list[ExistingNode]:
    """Machines that may take pods: initialized ones first, then by name."""
    nodes = (ExistingNode(view, daemons) for view in snapshot.nodes if not view.is_leaving)
    return [node for node in nodes if not node.is_overfull]
