"""The scheduler's own picture of the nodes: what each one is, which pods it holds, and how much room is left.

It changes with every event and with every placement that the scheduler assumes, so a placement never looks at more than the
nodes' sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import attrs

from karpy.kube.client import RawObject
from karpy.objects.meta import decode
from karpy.objects.node import Node
from karpy.resources import Resources
from karpy.sim.scheduler.reasons import Refusal
from karpy.sim.scheduler.selectors import LabelTest
from karpy.sim.scheduler.shape import HostPort, Shape
from karpy.taints import Taint

__all__ = ["NodePicture", "Nodes", "PlacedPod"]

Key = tuple[str, str]
_REMEMBERED = 500
_REMEMBERED_ON_A_NODE = 50
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the address that stands for all


@attrs.frozen(eq=False)
class PlacedPod:
    """A pod on a node, or about to be."""

    key: Key
    shape: Shape
    node: str
    is_deleting: bool = False
    started: float = math.inf
    """When its kubelet took it in; infinity before that."""
    makes_room: bool = False
    """It is being deleted for the sake of a more important pod."""


class NodePicture:
    """One node. ``version`` is new whenever something other than its pods has changed, also if it went and came back."""

    __slots__ = (
        "allocatable",
        "exists",
        "labels",
        "live",
        "name",
        "pods",
        "ports",
        "refused",
        "requested",
        "scored_cpu",
        "scored_memory",
        "taints",
        "unschedulable",
        "version",
        "with_terms",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.exists = False
        """False while only pods are known that name the node."""
        self.version = 0
        self.labels: Mapping[str, str] = {}
        self.taints: tuple[Taint, ...] = ()
        self.unschedulable = False
        self.allocatable: Mapping[str, int] = {}
        self.pods: dict[Key, PlacedPod] = {}
        self.with_terms: dict[Key, PlacedPod] = {}
        """The pods that attract or repel others."""
        self.live: dict[Shape, int] = {}
        """How many pods of each shape it holds that are not being deleted."""
        self.requested: dict[str, int] = {}
        self.scored_cpu = 0
        self.scored_memory = 0
        self.ports: Counter[HostPort] = Counter()
        self.refused: dict[Shape, Refusal] = {}
        """Why pods of these shapes cannot be here, whoever is elsewhere, as far as it was asked since the last change."""

    def describe(self, node: RawObject, version: int) -> bool:
        """Take in the node object; whether anything changed that placement depends on. It is ``version`` from then on."""
        read = decode(node, Node)
        described = (
            read.labels,
            read.spec.taints,
            read.spec.unschedulable,
            dict(Resources.parse(read.status.allocatable or {})),
        )
        if self.exists and described == (self.labels, self.taints, self.unschedulable, self.allocatable):
            return False
        self.labels, self.taints, self.unschedulable, self.allocatable = described
        self.exists = True
        self.version = version
        self.refused.clear()
        return True

    def put(self, pod: PlacedPod) -> None:
        self.pods[pod.key] = pod
        if pod.shape.has_terms:
            self.with_terms[pod.key] = pod
        if not pod.is_deleting:
            self.live[pod.shape] = self.live.get(pod.shape, 0) + 1
        self._count(pod.shape, 1)

    def refresh(self, pod: PlacedPod) -> None:
        """What is new of a pod that it holds changes none of its sums."""
        self.pods[pod.key] = pod
        if pod.key in self.with_terms:
            self.with_terms[pod.key] = pod

    def take(self, key: Key) -> None:
        pod = self.pods.pop(key)
        self.with_terms.pop(key, None)
        if not pod.is_deleting:
            self.live[pod.shape] -= 1
            if not self.live[pod.shape]:
                del self.live[pod.shape]
        self._count(pod.shape, -1)

    def _count(self, shape: Shape, sign: int) -> None:
        self.refused.clear()
        requested = self.requested
        for name, amount in shape.requests.items():
            requested[name] = requested.get(name, 0) + sign * amount
        self.scored_cpu += sign * shape.scored_cpu
        self.scored_memory += sign * shape.scored_memory
        for port in shape.ports:
            self.ports[port] += sign
            if not self.ports[port]:
                del self.ports[port]

    def remember(self, shape: Shape, refusal: Refusal) -> None:
        """Keep an answer until something changes here: a node that is full stays full for long."""
        if len(self.refused) >= _REMEMBERED_ON_A_NODE:
            self.refused.clear()
        self.refused[shape] = refusal

    def scratch(self) -> NodePicture:
        """A copy on which pods may come and go without anyone noticing."""
        copy = NodePicture(self.name)
        copy.exists, copy.version = self.exists, self.version
        copy.labels, copy.taints, copy.unschedulable = self.labels, self.taints, self.unschedulable
        copy.allocatable = self.allocatable
        copy.pods, copy.with_terms, copy.live = dict(self.pods), dict(self.with_terms), dict(self.live)
        copy.requested, copy.ports = dict(self.requested), self.ports.copy()
        copy.scored_cpu, copy.scored_memory = self.scored_cpu, self.scored_memory
        return copy

    def has_port_conflict(self, wanted: tuple[HostPort, ...]) -> bool:
        """Whether a host port is taken: the same protocol and port on the same address, or either on all addresses."""
        for address, protocol, port in wanted:
            for used_address, used_protocol, used_port in self.ports:
                same = protocol == used_protocol and port == used_port
                if same and (address == used_address or ANY_ADDRESS in (address, used_address)):
                    return True
        return False


@attrs.define(eq=False)
class _Tally:
    """How many living pods of one namespace a test selects, per node."""

    selects: LabelTest
    namespace: str
    by_node: dict[str, int] = attrs.field(factory=dict)

    def counts(self, shape: Shape) -> bool:
        return shape.namespace == self.namespace and self.selects(shape.labels)

    def add(self, node: str, number: int) -> None:
        count = self.by_node.get(node, 0) + number
        if count:
            self.by_node[node] = count
        else:
            del self.by_node[node]  # nodes that are gone would pile up


class Nodes:
    """All nodes by name, in the order in which they came. ``generation`` grows with every change at all."""

    def __init__(self) -> None:
        self._pictures: dict[str, NodePicture] = {}
        self._existing: dict[str, NodePicture] = {}
        self._placed: dict[Key, PlacedPod] = {}
        self.with_terms: dict[str, NodePicture] = {}
        """The nodes that hold pods which attract or repel others."""
        self.generation = 0
        self._tallies: dict[tuple[LabelTest, str], _Tally] = {}
        self._tallies_of: dict[Shape, tuple[_Tally, ...]] = {}

    def __len__(self) -> int:
        return len(self._existing)

    def __iter__(self) -> Iterator[NodePicture]:
        return iter(self._existing.values())

    def get(self, name: str) -> NodePicture | None:
        return self._existing.get(name)

    def describe(self, node: RawObject) -> bool:
        """Take in a node object; whether anything changed that placement depends on."""
        name = node["metadata"]["name"]
        picture = self._pictures.setdefault(name, NodePicture(name))
        # No two descriptions have the same number: what is remembered of a node does not hold for the next of its name.
        changed = picture.describe(node, self.generation + 1)
        self._existing[name] = picture
        if changed:
            self.generation += 1
        return changed

    def remove(self, name: str) -> None:
        """Forget a node. Pods that still name it stay known, should it come back."""
        picture = self._existing.pop(name, None)
        if picture is None:
            return
        picture.exists = False
        self.generation += 1
        if not picture.pods:
            del self._pictures[name]

    def place(self, pod: PlacedPod) -> bool:
        """Count a pod on its node; False when it was counted there already just so."""
        known = self._placed.get(pod.key)
        if known is not None:
            if (known.node, known.shape, known.is_deleting) == (pod.node, pod.shape, pod.is_deleting):
                self._placed[pod.key] = pod
                self._pictures[pod.node].refresh(pod)
                return False
            self.forget(pod.key)
        self._placed[pod.key] = pod
        picture = self._pictures.setdefault(pod.node, NodePicture(pod.node))
        picture.put(pod)
        self._tally(pod, 1)
        if picture.with_terms:
            self.with_terms[pod.node] = picture
        self.generation += 1
        return True

    def forget(self, key: Key) -> PlacedPod | None:
        """Take a pod off its node; answers it, or None when it was not known."""
        pod = self._placed.pop(key, None)
        if pod is None:
            return None
        picture = self._pictures[pod.node]
        picture.take(key)
        self._tally(pod, -1)
        if not picture.with_terms:
            self.with_terms.pop(pod.node, None)
        if not picture.pods and not picture.exists:
            del self._pictures[pod.node]
        self.generation += 1
        return pod

    def placed(self, key: Key) -> PlacedPod | None:
        """The pod, when it is on a node."""
        return self._placed.get(key)

    def count(self, selects: LabelTest, namespace: str) -> Mapping[str, int]:
        """How many pods of the namespace, not being deleted, ``selects`` accepts on each node that holds any.

        Worked out once for a test and kept up to date from then on.
        """
        tally = self._tallies.get((selects, namespace))
        if tally is None:
            if len(self._tallies) >= _REMEMBERED:
                self._tallies.clear()  # tests of workloads that are gone would pile up
            self._tallies_of.clear()
            tally = self._tallies[selects, namespace] = _Tally(selects, namespace)
            for picture in self._pictures.values():
                found = sum(number for shape, number in picture.live.items() if tally.counts(shape))
                if found:
                    tally.by_node[picture.name] = found
        return tally.by_node

    def _tally(self, pod: PlacedPod, sign: int) -> None:
        if pod.is_deleting or not self._tallies:
            return
        tallies = self._tallies_of.get(pod.shape)
        if tallies is None:
            if len(self._tallies_of) >= _REMEMBERED:
                self._tallies_of.clear()
            tallies = tuple(tally for tally in self._tallies.values() if tally.counts(pod.shape))
            self._tallies_of[pod.shape] = tallies
        for tally in tallies:
            tally.add(pod.node, sign)
