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
from karpy.objects.pod import Pod, TopologySpreadConstraint
from karpy.resources import CPU, MEMORY, Resources
from karpy.scheduling.admission import CLAIMS_DEVICES, Refused, refusal_of
from karpy.scheduling.constraints import Constraints, Namespaces, affinity_terms, constraints_of
from karpy.scheduling.plan import RefusalKind
from karpy.scheduling.ports import host_ports
from karpy.scheduling.volumes import Attachment, PodVolumes, volumes_of
from karpy.state.snapshot import Storage

__all__ = ["PodClass", "ReadPod", "classify", "read_pods"]

_NO_VOLUMES = PodVolumes()
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
    names: tuple[str, ...] = attrs.field(
        init=False, default=attrs.Factory(lambda self: tuple(name for name, _ in self.amounts), takes_self=True)
    )
    """The resources that they ask for."""

    @property
    def order(self) -> tuple[int, int, float, str]:
        """Sort key: the most CPU first, then memory; then the oldest (core specification 3.4). Priority plays no part."""
        first = self.pods[0].metadata
        return (-self.requests.get(CPU, 0), -self.requests.get(MEMORY, 0), first.created, first.uid)


@attrs.frozen(eq=False)
class ReadPod:
    """A pod that may be placed, and what it asks for; pods with the same constraints share them."""

    pod: Pod
    constraints: Constraints
    attachments: frozenset[Attachment] = frozenset()


def read_pods(
    pods: Iterable[Pod],
    spec_of_labels: LabelSpec,
    namespaces: Namespaces,
    storage: Storage,
    *,
    unsupported: UnsupportedVolumes = _SUPPORTED,
    default_spread: Callable[[Pod], Spread] | None = None,
) -> tuple[list[ReadPod], list[tuple[Pod, Refused]]]:
    """The pods that may be placed, and those not looked at, with the reason.

    ``default_spread`` gives the constraints of a pod that names none.
    """
    interned: dict[bytes, Constraints | Refused] = {}
    found: list[ReadPod] = []
    refused: list[tuple[Pod, Refused]] = []
    for pod in pods:
        spec = pod.spec
        if spec.resource_claims:
            refused.append((pod, CLAIMS_DEVICES))
            continue
        volumes = volumes_of(pod, storage, unsupported) if spec.volumes else _NO_VOLUMES
        if isinstance(volumes, str):
            refused.append((pod, Refused(RefusalKind.VOLUME, volumes)))
            continue
        spread = spec.topology_spread_constraints or (() if default_spread is None else default_spread(pod))
        key = _fingerprint(pod, volumes, spread)
        constraints = interned.get(key)
        if constraints is None:
            constraints = interned[key] = _read(pod, volumes, spread, spec_of_labels, namespaces)
        if isinstance(constraints, Refused):
            refused.append((pod, constraints))
        else:
            found.append(ReadPod(pod, constraints, volumes.attachments))
    return found, refused


def classify(pods: Iterable[ReadPod], selected_by: Callable[[Pod], Hashable]) -> list[PodClass]:
    """Sort pods into classes; classes, and the pods in them, are in placing order."""
    classes: dict[Hashable, PodClass] = {}
    for read in pods:
        pod = read.pod
        selecting = selected_by(pod)
        key = (read.constraints, pod.requests, read.attachments, selecting)
        found = classes.get(key)
        if found is None:
            asked = tuple((name, amount) for name, amount in pod.requests.items() if amount)
            found = PodClass(read.constraints, pod.requests, asked, read.attachments, selecting, [])
            classes[key] = found
        found.pods.append(pod)
    for found in classes.values():
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
