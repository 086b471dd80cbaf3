"""Machines that are there or on their way, while a solve fills them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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

    __slots__ = ("_answers", "_attached", "_ports", "_storage", "free", "index", "pods", "view")

    def __init__(self, index: int, view: NodeView, daemons: Sequence[Daemon], storage: Storage) -> None:
        self.index = index
        self.view = view
        self._ports: tuple[HostPort, ...] | None = None
        room = view.available - expected_on(view, daemons) if daemons else view.available
        self.free: Mapping[str, int] = room.amounts
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
        ports, attachments = pod_class.constraints.ports, pod_class.attachments
        if (ports and clash(ports, self._held_ports())) or (attachments and not self._can_attach(attachments)):
            return False
        if ports:
            self._ports = (*self._held_ports(), *ports)
        if attachments:
            self._attached = self._held_attachments() | attachments
        # The amounts that a node starts with are shared; its own come with its first pod.
        self.free = {**free, **{name: free[name] - amount for name, amount in pod_class.amounts}}
        self.pods.append(pod)
        return True

    def _held_ports(self) -> tuple[HostPort, ...]:
        if self._ports is None:
            self._ports = tuple(port for pod in self.view.pods for port in host_ports(pod.spec))
        return self._ports

    def _held_attachments(self) -> frozenset[Attachment]:
        if self._attached is None:
            self._attached = attachments_of(self.view.pods, self._storage)
        return self._attached

    def _can_attach(self, more: frozenset[Attachment]) -> bool:
        """Whether no driver's limit on this node would be exceeded."""
        limits = self._storage.limits.get(self.view.name)
        if not limits:
            return True
        counts = Counter(driver for driver, _claim in self._held_attachments() | more)
        return all(counts[driver] <= limits[driver] for driver, _claim in more if driver in limits)

    def to_nomination(self) -> Nomination:
        return Nomination(
            self.view.name, tuple(pod.key for pod in self.pods), tuple(pod.metadata.uid for pod in self.pods)
        )


def existing_nodes(snapshot: Snapshot, daemons: Sequence[Daemon]) -> list[ExistingNode]:
    """Machines that may take pods: initialized ones first, then by name."""
    staying = (view for view in snapshot.nodes if not view.is_leaving)
    nodes = (ExistingNode(index, view, daemons, snapshot.storage) for index, view in enumerate(staying))
    return [node for node in nodes if not node.is_overfull]
