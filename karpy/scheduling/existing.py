"""Machines that are there or on their way, while a solve fills them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from karpy.objects.pod import Pod
from karpy.scheduling.classes import PodClass
from karpy.scheduling.daemons import Daemon, expected_on_all
from karpy.scheduling.lots import Lot
from karpy.scheduling.plan import Nomination
from karpy.scheduling.ports import HostPort, clash, host_ports
from karpy.scheduling.volumes import Attachment, attachments_of
from karpy.state.snapshot import NodeView, Snapshot, Storage

__all__ = ["ExistingNode", "existing_nodes"]


class ExistingNode:
    """A node's free room. It only shrinks during a solve, so a class that was refused once is refused for good.

    ``index`` is its place in the snapshot.
    """

    __slots__ = ("_attached", "_ports", "free", "index", "pods", "storage", "view")

    def __init__(self, index: int, view: NodeView, free: Mapping[str, int], storage: Storage) -> None:
        self.index = index
        self.view = view
        self.free = free
        self.pods: list[Pod] = []
        self._ports: tuple[HostPort, ...] | None = None
        self.storage = storage
        self._attached: frozenset[Attachment] | None = None

    def own(self) -> ExistingNode:
        """The same node for a solve to fill; what it holds already is worked out for all of them."""
        other = ExistingNode(self.index, self.view, self.free, self.storage)
        other._ports, other._attached = self._ports, self._attached
        return other

    def prepare(self, pod_class: PodClass) -> None:
        """Work out what it holds that matters to such pods."""
        if pod_class.constraints.ports:
            self._held_ports()
        if pod_class.attachments:
            self._held_attachments()

    def add(self, lot: Lot, most: int = 1) -> int:
        """Put the next of the lot here, up to ``most`` units of them; that labels and taints allow it is known by then.

        Returns how many there was room for.
        """
        free, amounts = self.free, lot.pod_class.amounts
        count = most
        for name, amount in amounts:
            if count * amount > free.get(name, 0):
                count = free.get(name, 0) // amount
        if count <= 0:
            return 0
        ports, attachments = lot.pod_class.constraints.ports, lot.pod_class.attachments
        if (ports and clash(ports, self._held_ports())) or (attachments and not self._can_attach(attachments)):
            return 0
        if ports:
            count = 1
            self._ports = (*self._held_ports(), *ports)
        if attachments:
            self._attached = self._held_attachments() | attachments
        # The amounts that a node starts with are shared; its own come with its first pod.
        left = dict(free)
        for name, amount in amounts:
            left[name] -= count * amount
        self.free = left
        self.pods += lot.take(count)
        return count

    def _held_ports(self) -> tuple[HostPort, ...]:
        if self._ports is None:
            self._ports = tuple(port for pod in self.view.pods for port in host_ports(pod.spec))
        return self._ports

    def _held_attachments(self) -> frozenset[Attachment]:
        if self._attached is None:
            self._attached = attachments_of(self.view.pods, self.storage)
        return self._attached

    def _can_attach(self, more: frozenset[Attachment]) -> bool:
        """Whether no driver's limit on this node would be exceeded."""
        limits = self.storage.limits.get(self.view.name)
        if not limits:
            return True
        counts = Counter(driver for driver, _claim in self._held_attachments() | more)
        return all(counts[driver] <= limits[driver] for driver, _claim in more if driver in limits)

    def to_nomination(self) -> Nomination:
        return Nomination(
            self.view.name, tuple(pod.key for pod in self.pods), tuple(pod.metadata.uid for pod in self.pods)
        )


def existing_nodes(snapshot: Snapshot, daemons: Sequence[Daemon]) -> list[ExistingNode]:
    """Machines that may take pods: initialized ones first, then by name.

    Where more is promised than there is, nothing is put (Karpenter's rule).
    """
    views = [(index, view) for index, view in enumerate(snapshot.nodes) if not view.is_leaving]
    coming = expected_on_all([view for _, view in views], daemons)
    nodes = []
    for place, (index, view) in enumerate(views):
        room = view.available
        if place in coming:
            room = room - coming[place]
        free = room.amounts
        if not free or min(free.values()) >= 0:
            nodes.append(ExistingNode(index, view, free, snapshot.storage))
    return nodes
