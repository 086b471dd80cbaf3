"""What the scheduler reads from a pod, worked out once for all pods of the same making.

Pods that differ only in their names share one `Shape`, so that whatever is found out about one of them holds for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from karpy.kube.client import RawObject
from karpy.objects.meta import decode
from karpy.objects.podresources import pod_requests
from karpy.objects.podspec import (
    Container,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from karpy.resources import CPU, MEMORY
from karpy.sim.scheduler.selectors import LabelTest, compile_selector
from karpy.taints import Toleration

__all__ = ["AffinityTerm", "Shape", "Shapes", "Spread", "WeightedTerm"]

_READ = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "containers",
    "initContainers",
    "resources",
    "overhead",
    "priority",
    "preemptionPolicy",
)
_LEAST_MILLI_CPU = 100
_LEAST_MEMORY = 200 * 1024 * 1024
_REMEMBERED = 20_000

HostPort = tuple[str, str, int]
"""Address, protocol, port."""
Disk = tuple[str, bool]
"""The identity of a disk that a pod mounts by itself, and whether readers may share it."""

# Volumes that matter to placement: claims, and disks that are attached to one machine at a time.
_DISKS: Mapping[str, tuple[str, bool]] = {
    "awsElasticBlockStore": ("volumeID", False),
    "gcePersistentDisk": ("pdName", True),
    "iscsi": ("iqn", True),
}
_MOUNTED = frozenset({"persistentVolumeClaim", "ephemeral", *_DISKS})


@attrs.frozen(eq=False)
class AffinityTerm:
    """Pods that ``selects`` accepts in ``namespaces`` (None: all of them) attract or repel, by ``topology_key``."""

    topology_key: str
    selects: LabelTest | None
    namespaces: frozenset[str] | None
    in_namespace: LabelTest | None = None
    """A further choice of namespaces by their labels."""

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        if self.selects is None or not self.selects(labels):
            return False
        if self.namespaces is None or namespace in self.namespaces:
            return True
        return self.in_namespace is not None and self.in_namespace(namespace_labels)


@attrs.frozen(eq=False)
class WeightedTerm:
    """``weight`` is negative where the pods repel."""

    weight: int
    term: AffinityTerm


@attrs.frozen(eq=False)
class Spread:
    """One topology spread constraint."""

    topology_key: str
    max_skew: int
    min_domains: int
    selects: LabelTest | None
    honors_affinity: bool
    honors_taints: bool


@attrs.frozen(eq=False)
class Shape:
    """Everything about a pod that decides where it may and should run."""

    namespace: str
    labels: Mapping[str, str]
    requests: Mapping[str, int]
    scored_cpu: int
    """Milli-CPU and bytes that scoring counts: containers that ask for nothing count a little."""
    scored_memory: int
    node_selector: Mapping[str, str]
    required_terms: tuple[NodeSelectorTerm, ...] | None
    preferred_terms: tuple[PreferredSchedulingTerm, ...]
    tolerations: tuple[Toleration, ...]
    ports: tuple[HostPort, ...]
    affinity: tuple[AffinityTerm, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    preferences: tuple[WeightedTerm, ...]
    hard_spreads: tuple[Spread, ...]
    soft_spreads: tuple[Spread, ...]
    has_spreads: bool
    node_names: frozenset[str] | None
    """The only nodes that its affinity names, as for pods of DaemonSets; empty when the names contradict each other."""
    priority: int
    may_preempt: bool
    claims: tuple[str, ...]
    """Names of the volume claims that it mounts."""
    own_claims: tuple[str, ...]
    """Names of its volumes whose claims are made for it alone."""
    disks: tuple[Disk, ...]

    @property
    def has_terms(self) -> bool:
        """Whether other pods' placement may depend on this pod beyond the room that it takes."""
        return bool(self.affinity or self.anti_affinity or self.preferences)

    @property
    def has_volumes(self) -> bool:
        """Whether storage has a say in where it may run."""
        return bool(self.claims or self.own_claims or self.disks)

    def claim_names(self, pod_name: str) -> tuple[str, ...]:
        """All claims of the pod of that name."""
        return (*self.claims, *(f"{pod_name}-{volume}" for volume in self.own_claims))


class Shapes:
    """Reads pods, sharing shapes."""

    def __init__(self) -> None:
        self._known: dict[bytes, Shape] = {}
        self._encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode

    def of(self, pod: RawObject) -> Shape:
        """The pod's shape; pods that differ in nothing the scheduler reads get the same object.

        Raises:
            InvalidObject: the pod cannot be read.
        """
        metadata, spec = pod["metadata"], pod["spec"]
        mounted = [each for each in spec.get("volumes") or () if not _MOUNTED.isdisjoint(each)]
        mark = self._encode(
            (metadata.get("namespace", ""), metadata.get("labels"), mounted, [spec.get(key) for key in _READ])
        )
        shape = self._known.get(mark)
        if shape is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            space, labels = metadata.get("namespace", ""), metadata.get("labels") or {}
            shape = _read(space, labels, decode(spec, PodSpec), mounted, spec.get("preemptionPolicy") != "Never")
            self._known[mark] = shape
        return shape


def _read(
    namespace: str, labels: Mapping[str, str], spec: PodSpec, mounted: Sequence[RawObject], may_preempt: bool
) -> Shape:
    affinity = spec.affinity
    node = affinity.node_affinity if affinity else None
    together = (affinity.pod_affinity if affinity else None) or PodAffinity()
    apart = (affinity.pod_anti_affinity if affinity else None) or PodAffinity()
    required = node.required.node_selector_terms if node and node.required else None
    preferences = [(each.weight, each.pod_affinity_term) for each in together.preferred]
    preferences += [(-each.weight, each.pod_affinity_term) for each in apart.preferred]
    cpu, memory = _scored(spec)
    return Shape(
        namespace=namespace,
        labels=labels,
        requests=dict(pod_requests(spec)),
        scored_cpu=cpu,
        scored_memory=memory,
        node_selector=spec.node_selector or {},
        required_terms=required,
        preferred_terms=tuple(
            each for each in (node.preferred if node else ()) if each.weight and _says(each.preference)
        ),
        tolerations=spec.tolerations,
        ports=_ports(spec.containers),
        affinity=tuple(_term(each, namespace, labels) for each in together.required),
        anti_affinity=tuple(_term(each, namespace, labels) for each in apart.required),
        preferences=tuple(WeightedTerm(weight, _term(term, namespace, labels)) for weight, term in preferences),
        hard_spreads=_spreads(spec.topology_spread_constraints, "DoNotSchedule", labels),
        soft_spreads=_spreads(spec.topology_spread_constraints, "ScheduleAnyway", labels),
        has_spreads=bool(spec.topology_spread_constraints),
        node_names=_node_names(required),
        priority=spec.priority or 0,
        may_preempt=may_preempt,
        claims=tuple(each["persistentVolumeClaim"]["claimName"] for each in mounted if "persistentVolumeClaim" in each),
        own_claims=tuple(each["name"] for each in mounted if "ephemeral" in each),
        disks=tuple(_disks(mounted)),
    )


def _disks(mounted: Sequence[RawObject]) -> Iterator[Disk]:
    for volume in mounted:
        for kind, (field, shared) in _DISKS.items():
            if kind in volume:
                source = volume[kind]
                yield f"{kind}/{source.get(field, '')}", shared and bool(source.get("readOnly"))


def _says(term: NodeSelectorTerm) -> bool:
    return bool(term.match_expressions or term.match_fields)


def _ports(containers: Sequence[Container]) -> tuple[HostPort, ...]:
    return tuple(
        (port.host_ip or "0.0.0.0", port.protocol, port.host_port)  # noqa: S104 - the address that stands for all
        for container in containers
        for port in container.ports
        if port.host_port > 0
    )


def _term(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> AffinityTerm:
    extra = {key: labels[key] for key in term.match_label_keys if key in labels}
    selects = compile_selector(term.label_selector, extra)
    differing = {key: labels[key] for key in term.mismatch_label_keys if key in labels}
    if selects is not None and differing:
        inner = selects
        selects = lambda found: inner(found) and all(found.get(k) != v for k, v in differing.items())  # noqa: E731
    if term.namespace_selector is None:
        return AffinityTerm(term.topology_key, selects, frozenset(term.namespaces or (namespace,)))
    chosen = term.namespace_selector
    if not chosen.match_labels and not chosen.match_expressions:
        return AffinityTerm(term.topology_key, selects, None)
    return AffinityTerm(term.topology_key, selects, frozenset(term.namespaces), compile_selector(chosen))


def _spreads(
    constraints: Sequence[TopologySpreadConstraint], action: str, labels: Mapping[str, str]
) -> tuple[Spread, ...]:
    return tuple(
        Spread(
            topology_key=each.topology_key,
            max_skew=each.max_skew,
            min_domains=each.min_domains or 1,
            selects=_spread_selector(each, labels),
            honors_affinity=each.node_affinity_policy != "Ignore",
            honors_taints=each.node_taints_policy == "Honor",
        )
        for each in constraints
        if each.when_unsatisfiable == action
    )


def _spread_selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> LabelTest | None:
    """An empty selector counts no pods at all here, unlike elsewhere."""
    selector = constraint.label_selector
    extra = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    if selector is None or not (selector.match_labels or selector.match_expressions or extra):
        return None
    return compile_selector(selector, extra)


def _node_names(terms: tuple[NodeSelectorTerm, ...] | None) -> frozenset[str] | None:
    """The nodes that every alternative pins by name, or None when some alternative pins none."""
    names: set[str] = set()
    for term in terms or ():
        pinned: set[str] | None = None
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In":
                pinned = set(field.values) if pinned is None else pinned & set(field.values)
        if pinned is None:
            return None
        names |= pinned
    return frozenset(names) if terms else None


def _scored(spec: PodSpec) -> tuple[int, int]:
    """CPU and memory of the pod where each container counts at least a little of both."""

    def fill(containers: Sequence[Container]) -> tuple[Container, ...]:
        return tuple(_with_least(each) for each in containers)

    filled = msgspec.structs.replace(spec, containers=fill(spec.containers), init_containers=fill(spec.init_containers))
    amounts = pod_requests(filled)
    return amounts[CPU], amounts[MEMORY]


def _with_least(container: Container) -> Container:
    resources = container.resources
    least = {CPU: f"{_LEAST_MILLI_CPU}m", MEMORY: str(_LEAST_MEMORY)}
    return msgspec.structs.replace(
        container, resources=msgspec.structs.replace(resources, requests={**least, **(resources.requests or {})})
    )
