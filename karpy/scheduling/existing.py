"""Machines that are there or on their way, while a solve fills them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from karpy.objects.pod import Pod
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.daemons import Daemon, expected_on
from karpy.scheduling.plan import Nomination
from karpy.scheduling.ports import HostPort, clash, host_ports
from karpy.scheduling.volumes import Attachment, attachments_of
from karpy.state.snapshot import NodeView, Snapshot, Storage
from karpy.taints import untolerated

__all__ = ["ExistingNode", "existing_nodes"]


class ExistingNode:
    """A node's free room. It only shrinks during a solve, so a class that was refused once is refused for good."""

    __slots__ = ("_answers", "_attached", "_storage", "free", "index", "pods", "ports", "view")

    def __init__(self, index: int, view: NodeView, daemons: Sequence[Daemon], storage: Storage) -> None:
        self.index = index
        self.view = view
        self.ports: tuple[HostPort, ...] = tuple(port for pod in view.pods for port in host_ports(pod.spec))
        self.free: dict[str, int] = dict(view.available - expected_on(view, daemons))
        self.pods: list[Pod] = []
        self._storage = storage
        self._attached: frozenset[Attachment] | None = None
        self._answers: dict[Constraints, bool] = {}

    @property
    def is_overfull(self) -> bool:
        """More is promised than there is: nothing is put here (Karpenter's rule)."""
        return any(amount < 0 for amount in self.free.values())

    def accepts(self, constraints: Constraints) -> bool:
        """Whether labels and taints allow it. A node's labels are final: a key that it lacks stays undefined."""
        known = self._answers.get(constraints)
        if known is None:
            known = untolerated(self.view.taints, constraints.tolerations) is None and any(
                self.view.requirements.compatible(wanted) is None for wanted in constraints.node_alternatives
            )
            self._answers[constraints] = known
        return known

    def add(self, pod: Pod, pod_class: PodClass) -> bool:
        """Put the pod here if it fits; that labels and taints allow it is known by then."""
        free = self.free
        for name, amount in pod_class.amounts:
            if amount > free.get(name, 0):
                return False
        if pod_class.attachments and not self._attach(pod_class.attachments):
            return False
        wanted = pod_class.constraints.ports
        if wanted and clash(wanted, self.ports):
            return False
        self.ports += wanted
        for name, amount in pod_class.amounts:
            free[name] -= amount
        self.pods.append(pod)
        return True

    def _attach(self, more: frozenset[Attachment]) -> bool:
        """Take the disks, unless some driver's limit on this node would be exceeded."""
        limits = self._storage.limits.get(self.view.name)
        if not limits:
            return True
        if self._attached is None:
            self._attached = attachments_of(self.view.pods, self._storage)
        together = self._attached | more
        counts = Counter(driver for driver, _claim in together)
        if any(counts[driver] > limits[driver] for driver in {driver for driver, _claim in more} & set(limits)):
            return False
        self._attached = together
        return True

    def to_nomination(self) -> Nomination:
        return Nomination(
            self.view.name, tuple(pod.key for pod in self.pods), tuple(pod.metadata.uid for pod in self.pods)
        )


def existing_nodes(snapshot: Snapshot, daemons: Sequence[Daemon]) -> list[ExistingNode]:
    """Machines that may take pods: initialized ones first, then by name."""
    staying = (view for view in snapshot.nodes if not view.is_leaving)
    nodes = (ExistingNode(index, view, daemons, snapshot.storage) for index, view in enumerate(staying))
    return [node for node in nodes if not node.is_overfull]
