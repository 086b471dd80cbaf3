"""Pod classes: pods that the scheduler cannot tell apart are looked at once.

A class has two interned parts: its constraints (what a node, and the pods around it, must be) and its size (what a node must
have left). Answers about constraints are remembered, of which a cluster has a few dozen; sizes only meet integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable

import attrs
import msgspec

from karpy.cloud.volumes import UnsupportedVolumes
from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.pod import Pod
from karpy.objects.podspec import TopologySpreadConstraint
from karpy.resources import CPU, MEMORY, Resources
from karpy.scheduling.admission import CLAIMS_DEVICES, Refused, refusal_of
from karpy.scheduling.constraints import Constraints, Namespaces, affinity_terms, constraints_of
from karpy.scheduling.plan import RefusalKind
from karpy.scheduling.ports import host_ports
from karpy.scheduling.volumes import Attachment, PodVolumes, volumes_of
from karpy.state.snapshot import Storage

__all__ = ["NOWHERE_SHUT", "PodClass", "PodReader", "ReadPod", "Shut", "classify", "read_pods"]

_NO_VOLUMES = PodVolumes()
_NO_NODES: frozenset[str] = frozenset()
_SUPPORTED = UnsupportedVolumes()

_age = operator.attrgetter("age")
_placing_order = operator.itemgetter(0)

Spread = tuple[TopologySpreadConstraint, ...]


class PodClass(msgspec.Struct, eq=False, gc=False):
    """Pods that are alike, in the order in which they are placed.

    ``selected_by`` stands for the terms, of any pods, that these pods' labels match. What-ifs make classes by the thousand, none of
    which leads back to itself: the garbage collector need not look.
    """

    constraints: Constraints
    requests: Resources
    amounts: tuple[tuple[str, int], ...]
    attachments: frozenset[Attachment]
    selected_by: Hashable
    pods: list[Pod]
    barred: frozenset[str] = frozenset()
    """Nodes on which they are not put."""

    names: tuple[str, ...] = ()
    """The resources that they ask for."""

    def __post_init__(self) -> None:
        self.names = tuple([name for name, _ in self.amounts])

    @property
    def largest(self) -> tuple[int, int]:
        """Sort key: the most CPU first, then memory; of alike ones the oldest (core specification 3.4). Priority plays no part."""
        amounts = self.requests.amounts
        return -amounts.get(CPU, 0), -amounts.get(MEMORY, 0)


@attrs.frozen
class Shut:
    """Nodes that are shut to the pods with these uids, and open to all others."""

    nodes: frozenset[str] = frozenset()
    to: frozenset[str] = frozenset()


NOWHERE_SHUT = Shut()


class ReadPod(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A pod that may be placed, and what it asks for; pods with the same constraints share them."""

    pod: Pod
    constraints: Constraints
    amounts: tuple[tuple[str, int], ...]
    """What it asks for of each resource, but for nothing."""
    created: float
    attachments: frozenset[Attachment] = frozenset()

    @property
    def age(self) -> tuple[float, str, str]:
        """Sort key: the oldest first."""
        return self.created, self.pod.metadata.uid, self.pod.key


class PodReader:
    """Reads what pods ask for. Pods that ask for the same share it, as long as the same reader has read them."""

    def __init__(
        self,
        spec_of_labels: LabelSpec,
        namespaces: Namespaces,
        storage: Storage,
        *,
        unsupported: UnsupportedVolumes = _SUPPORTED,
        default_spread: Callable[[Pod], Spread] | None = None,
        respect_preferences: bool = True,
    ) -> None:
        """``default_spread`` gives the constraints of a pod that names none."""
        self._spec_of_labels = spec_of_labels
        self._namespaces = namespaces
        self._storage = storage
        self._unsupported = unsupported
        self._default_spread = default_spread
        self._respect_preferences = respect_preferences
        self._interned: dict[bytes, Constraints | Refused] = {}
        self._amounts: dict[Resources, tuple[tuple[str, int], ...]] = {}

    def read(self, pod: Pod) -> ReadPod | Refused:
        """What the pod asks for, or why it is not looked at."""
        spec = pod.spec
        if spec.resource_claims:
            return CLAIMS_DEVICES
        volumes = volumes_of(pod, self._storage, self._unsupported) if spec.volumes else _NO_VOLUMES
        if isinstance(volumes, str):
            return Refused(RefusalKind.VOLUME, volumes)
        spread = spec.topology_spread_constraints or (() if self._default_spread is None else self._default_spread(pod))
        key = _fingerprint(pod, volumes, spread)
        constraints = self._interned.get(key)
        if constraints is None:
            constraints = self._interned[key] = self._constraints(pod, volumes, spread)
        if isinstance(constraints, Refused):
            return constraints
        return ReadPod(pod, constraints, self._asked(pod.requests), pod.metadata.created, volumes.attachments)

    def read_all(self, pods: Iterable[Pod]) -> tuple[list[ReadPod], list[tuple[Pod, Refused]]]:
        """The pods that may be placed, and those not looked at, with the reason."""
        found: list[ReadPod] = []
        refused: list[tuple[Pod, Refused]] = []
        for pod in pods:
            read = self.read(pod)
            if isinstance(read, Refused):
                refused.append((pod, read))
            else:
                found.append(read)
        return found, refused

    def _asked(self, requests: Resources) -> tuple[tuple[str, int], ...]:
        found = self._amounts.get(requests)
        if found is None:
            found = self._amounts[requests] = tuple([entry for entry in requests.items() if entry[1]])
        return found

    def _constraints(self, pod: Pod, volumes: PodVolumes, spread: Spread) -> Constraints | Refused:
        found = _read(pod, volumes, spread, self._spec_of_labels, self._namespaces)
        if isinstance(found, Refused) or self._respect_preferences:
            return found
        return found.without_preferences()


def read_pods(
    pods: Iterable[Pod],
    spec_of_labels: LabelSpec,
    namespaces: Namespaces,
    storage: Storage,
    *,
    default_spread: Callable[[Pod], Spread] | None = None,
) -> tuple[list[ReadPod], list[tuple[Pod, Refused]]]:
    """The pods that may be placed, and those not looked at, with the reason."""
    return PodReader(spec_of_labels, namespaces, storage, default_spread=default_spread).read_all(pods)


def classify(
    pods: Iterable[ReadPod], selected_by: Callable[[Pod], Hashable], shut: Shut = NOWHERE_SHUT
) -> list[PodClass]:
    """Sort pods into classes; classes, and the pods in them, are in placing order."""
    alike: dict[tuple[Constraints, Resources, frozenset[Attachment], Hashable, frozenset[str]], list[ReadPod]] = {}
    for read in pods:
        pod = read.pod
        barred = shut.nodes if shut.to and pod.metadata.uid in shut.to else _NO_NODES
        key = (read.constraints, pod.requests, read.attachments, selected_by(pod), barred)
        alike.setdefault(key, []).append(read)
    found = []
    for (constraints, requests, attachments, selecting, barred), members in alike.items():
        if len(members) > 1:
            members.sort(key=_age)
        first, held = members[0], [read.pod for read in members]
        pod_class = PodClass(constraints, requests, first.amounts, attachments, selecting, held, barred)
        found.append(((*pod_class.largest, *first.age), pod_class))
    found.sort(key=_placing_order)
    return [pod_class for _, pod_class in found]


def _fingerprint(pod: Pod, volumes: PodVolumes, spread: Spread) -> bytes:
    """Equal for pods with equal constraints. Terms about pods depend on the pod's own namespace and labels."""
    spec = pod.spec
    ports = host_ports(spec)
    reachable = [each.to_selectors() for each in volumes.alternatives] if any(volumes.alternatives) else []
    alone = (spec.node_selector, spec.tolerations, [str(port) for port in ports], reachable)
    if spec.affinity is None and not spread:
        return msgspec.msgpack.encode(alone, order="sorted") if any(alone) else b""
    around = (spec.affinity, spread, pod.metadata.namespace, _labels_that_matter(pod, spread))
    return msgspec.msgpack.encode((alone, around), order="sorted")


def _labels_that_matter(pod: Pod, spread: Spread) -> dict[str, str | None]:
    """Own labels that own terms refer to by ``matchLabelKeys`` and ``mismatchLabelKeys``."""
    own = pod.metadata.labels or {}
    keys = {key for constraint in spread for key in constraint.match_label_keys}
    for _weight, term in affinity_terms(pod.spec, anti=False) + affinity_terms(pod.spec, anti=True):
        keys.update(term.match_label_keys, term.mismatch_label_keys)
    return {key: own.get(key) for key in sorted(keys)}


def _read(
    pod: Pod, volumes: PodVolumes, spread: Spread, spec_of_labels: LabelSpec, namespaces: Namespaces
) -> Constraints | Refused:
    """The constraints, or why pods that have them are not looked at."""
    try:
        refused = refusal_of(pod.spec, spec_of_labels)
        return refused or attrs.evolve(constraints_of(pod, namespaces, spread), volumes=volumes.alternatives)
    except InvalidObject as error:
        return Refused(RefusalKind.INVALID, str(error.at(path="spec")))
