"""Pod classes: pods that the scheduler cannot tell apart are looked at once.

A class has two interned parts: its constraints (what a node, and the pods around it, must be) and its size (what a node must
have left). Answers about constraints are remembered, of which a cluster has a few dozen; sizes only meet integers.
"""

from __future__ import annotations

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

Spread = tuple[TopologySpreadConstraint, ...]


@attrs.define(eq=False)
class PodClass:
    """Pods that are alike, in the order in which they are placed.

    ``selected_by`` stands for the terms, of any pods, that these pods' labels match.
    """

    constraints: Constraints
    requests: Resources
    amounts: tuple[tuple[str, int], ...]
    attachments: frozenset[Attachment]
    selected_by: Hashable
    pods: list[Pod]
    barred: frozenset[str] = frozenset()
    """Nodes on which they are not put."""
    names: tuple[str, ...] = attrs.field(
        init=False, default=attrs.Factory(lambda self: tuple(name for name, _ in self.amounts), takes_self=True)
    )
    """The resources that they ask for."""

    @property
    def order(self) -> tuple[int, int, float, str]:
        """Sort key: the most CPU first, then memory; then the oldest (core specification 3.4). Priority plays no part."""
        first, amounts = self.pods[0].metadata, self.requests.amounts
        return (-amounts.get(CPU, 0), -amounts.get(MEMORY, 0), first.created, first.uid)


@attrs.frozen
class Shut:
    """Nodes that are shut to the pods with these uids, and open to all others."""

    nodes: frozenset[str] = frozenset()
    to: frozenset[str] = frozenset()


NOWHERE_SHUT = Shut()


@attrs.frozen(eq=False)
class ReadPod:
    """A pod that may be placed, and what it asks for; pods with the same constraints share them."""

    pod: Pod
    constraints: Constraints
    attachments: frozenset[Attachment] = frozenset()


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
        return constraints if isinstance(constraints, Refused) else ReadPod(pod, constraints, volumes.attachments)

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
    classes: dict[Hashable, PodClass] = {}
    for read in pods:
        pod = read.pod
        selecting = selected_by(pod)
        barred = shut.nodes if shut.to and pod.metadata.uid in shut.to else _NO_NODES
        key = (read.constraints, pod.requests, read.attachments, selecting, barred)
        found = classes.get(key)
        if found is None:
            asked = tuple([entry for entry in pod.requests.amounts.items() if entry[1]])
            found = PodClass(read.constraints, pod.requests, asked, read.attachments, selecting, [], barred)
            classes[key] = found
        found.pods.append(pod)
    for found in classes.values():
        if len(found.pods) > 1:
            found.pods.sort(key=lambda pod: (pod.metadata.created, pod.metadata.uid, pod.key))
    return sorted(classes.values(), key=lambda found: (found.order, found.pods[0].key))


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
