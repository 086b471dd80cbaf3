"""Pods as the scheduler sees them, and what they ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from karpy import labels
from karpy.errors import InvalidObject
from karpy.objects.meta import Condition, Integer, ObjectMeta, Wire, find_condition
from karpy.resources import PODS, Resources
from karpy.taints import DISRUPTED, Toleration, untolerated

__all__ = [
    "Affinity",
    "Container",
    "NodeSelectorTerm",
    "Pod",
    "PodGroup",
    "PodSpec",
    "SelectorRequirement",
    "TopologySpreadConstraint",
    "pod_limits",
    "pod_requests",
    "with_default_requests",
]


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class SelectorRequirement(Wire, frozen=True):
    """One ``{key, operator, values}`` of a node or label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, given: Mapping[str, str]) -> bool:
        """Whether labels satisfy the expression, by the rules of label selectors; an operator of another kind never does."""
        value = given.get(self.key)
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator == "Exists":
            return value is not None
        return self.operator == "DoesNotExist" and value is None


class LabelSelector(Wire, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[SelectorRequirement, ...] = ()

    def matches(self, given: Mapping[str, str]) -> bool:
        """Whether labels satisfy the selector. An empty selector matches everything."""
        if any(given.get(key) != value for key, value in (self.match_labels or {}).items()):
            return False
        return all(expression.holds(given) for expression in self.match_expressions)


class NodeSelectorTerm(Wire, frozen=True):
    """All expressions of a term must hold; the terms of a selector are alternatives."""

    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Wire, frozen=True):
    weight: Integer = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(default=(), name=_PREFERRED)


class PodAffinityTerm(Wire, frozen=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    weight: Integer = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True):
    required: tuple[PodAffinityTerm, ...] = msgspec.field(default=(), name=_REQUIRED)
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(default=(), name=_PREFERRED)


class Affinity(Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    max_skew: Integer
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: Integer | None = None
    match_label_keys: tuple[str, ...] = ()
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ContainerResources(Wire, frozen=True):
    requests: dict[str, str | int | float] | None = None
    limits: dict[str, str | int | float] | None = None

    @property
    def defaulted(self) -> ContainerResources:
        """The same where a limit stands in for each request that is missing, as the API server has it."""
        return ContainerResources({**self.limits, **(self.requests or {})}, self.limits) if self.limits else self


class ContainerPort(Wire, frozen=True):
    container_port: Integer = 0
    host_port: Integer = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Wire, frozen=True):
    name: str = ""
    image: str = ""
    resources: ContainerResources = ContainerResources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None


class ClaimSource(Wire, frozen=True):
    claim_name: str


class _EphemeralClaimSpec(Wire, frozen=True):
    storage_class_name: str | None = None


class _EphemeralClaim(Wire, frozen=True):
    spec: _EphemeralClaimSpec = _EphemeralClaimSpec()


class EphemeralSource(Wire, frozen=True):
    """A claim that is made with the pod and goes with it."""

    volume_claim_template: _EphemeralClaim = _EphemeralClaim()

    @property
    def storage_class_name(self) -> str | None:
        return self.volume_claim_template.spec.storage_class_name


class Volume(Wire, frozen=True):
    """A volume of a pod, as far as it refers to a claim."""

    name: str
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class PodResourceClaim(Wire, frozen=True):
    """Devices that a pod uses by way of a ResourceClaim (dynamic resource allocation)."""

    name: str = ""


class PodSpec(Wire, frozen=True):
    node_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ContainerResources | None = None
    overhead: dict[str, str | int | float] | None = None
    priority: Integer | None = None
    priority_class_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: tuple[dict[str, str], ...] = ()
    termination_grace_period_seconds: Integer | None = None
    restart_policy: str = "Always"


class ContainerStatus(Wire, frozen=True):
    """``resources`` and ``allocated_resources``: what the kubelet grants a running container, while that may be resized."""

    name: str = ""
    resources: ContainerResources | None = None
    allocated_resources: dict[str, str | int | float] | None = None


class PodStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


PodGroup = tuple[str, frozenset[tuple[str, str]]]
"""A namespace and labels."""


class Pod(Wire, frozen=True, gc=True, dict=True):
    """A pod: what it asks for, where it runs, how it is. What is worked out from it is remembered on it."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        return self.metadata.key

    @functools.cached_property
    def requests(self) -> Resources:
        """What it reserves on its node (see `pod_requests`)."""
        return self._read(lambda: pod_requests(self.spec, self.status))

    @property
    def limits(self) -> Resources:
        """The most that it may use of its node (see `pod_limits`)."""
        return self._read(lambda: pod_limits(self.spec))

    @functools.cached_property
    def group(self) -> PodGroup:
        """All that selectors see of it: pods that are alike in this are told apart by none."""
        return self.metadata.namespace, frozenset((self.metadata.labels or {}).items())

    @property
    def is_terminal(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        ready = find_condition(self.status.conditions, "Ready")
        return ready is not None and ready.is_true

    @property
    def is_active(self) -> bool:
        """Neither finished nor being deleted."""
        return not self.is_terminal and not self.metadata.is_deleting

    @property
    def is_owned_by_daemon_set(self) -> bool:
        return any(
            owner.kind == "DaemonSet" and owner.api_version == "apps/v1" for owner in self.metadata.owner_references
        )

    @property
    def is_static(self) -> bool:
        """A mirror of a pod that the kubelet read from its own disk."""
        return any(owner.kind == "Node" and owner.api_version == "v1" for owner in self.metadata.owner_references)

    @property
    def is_do_not_disrupt(self) -> bool:
        """Whether its own annotation forbids to evict it; the name of the first API generation counts too."""
        annotations = self.metadata.annotations or {}
        return "true" in (annotations.get(labels.DO_NOT_DISRUPT), annotations.get(labels.DO_NOT_EVICT))

    @property
    def tolerates_disruption(self) -> bool:
        """Whether it stays on a node that is being disrupted, so that nobody evicts it."""
        return untolerated((DISRUPTED,), self.spec.tolerations) is None

    @property
    def is_provisionable(self) -> bool:
        """Whether kube-scheduler gave the pod up and a new node could help (core specification 3.1)."""
        if self.spec.node_name or self.status.nominated_node_name or self.is_terminal or self.metadata.is_deleting:
            return False
        scheduled = find_condition(self.status.conditions, "PodScheduled")
        if scheduled is None or scheduled.reason != "Unschedulable":
            return False
        return not self.is_owned_by_daemon_set and not self.is_static

    @property
    def is_reschedulable(self) -> bool:
        """Whether the pod would want another place if its node went away (core specification 3.1)."""
        waits = self.metadata.is_deleting and any(
            owner.kind == "StatefulSet" for owner in self.metadata.owner_references
        )
        return (self.is_active or waits) and not self.is_owned_by_daemon_set and not self.is_static

    def _read(self, amounts: Callable[[], Resources]) -> Resources:
        try:
            return amounts()
        except InvalidObject as error:
            raise (_misread(self) or error).at(object_name=f"Pod/{self.key}") from None


def pod_requests(spec: PodSpec, status: PodStatus | None = None) -> Resources:
    """What the pod reserves on its node, with ``pods: 1``: Kubernetes' own formula.

    The greater of what all containers and sidecars need together and of what each init container needs on top of the
    sidecars started before it; pod-level requests replace that where they are set; the runtime's overhead comes on top.
    A container whose resize is under way counts with the most of what it asks for and what it was granted.

    Raises:
        InvalidObject: with the path below ``spec``.
    """
    granted = _granted(spec, status) if status is not None else {}
    needed = _together(spec, lambda container: _asked(container, granted))
    if spec.resources is not None:
        needed = Resources({**needed, **Resources.parse(spec.resources.requests or {})})
    if spec.overhead:
        needed = needed + Resources.parse(spec.overhead)
    return needed + {PODS: 1}


def pod_limits(spec: PodSpec) -> Resources:
    """The most that the pod may use, with ``pods: 1``, by the formula of `pod_requests`.

    Containers without a limit count as nothing; the runtime's overhead comes on top of what is limited.

    Raises:
        InvalidObject: with the path below ``spec``.
    """
    limits = _together(spec, lambda container: Resources.parse(container.resources.limits or {}))
    if spec.resources is not None:
        limits = Resources({**limits, **Resources.parse(spec.resources.limits or {})})
    overhead = Resources.parse(spec.overhead or {})
    return limits + {PODS: 1} + {name: amount for name, amount in overhead.items() if limits.get(name)}


def with_default_requests(spec: PodSpec) -> PodSpec:
    """The spec as the API server stores it: a limit stands in for a request that is missing.

    That is done to pods and not to the templates of workloads; who counts by a template has to do it first. A pod-level limit
    stands in only where no container asks (Kubernetes' ``SetDefaults_Pod``).
    """

    def filled(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(msgspec.structs.replace(each, resources=each.resources.defaulted) for each in containers)

    spec = msgspec.structs.replace(
        spec, containers=filled(spec.containers), init_containers=filled(spec.init_containers)
    )
    whole = spec.resources
    if whole is None or not whole.limits:
        return spec
    asked = {name for each in (*spec.containers, *spec.init_containers) for name in each.resources.requests or {}}
    unasked = {name: limit for name, limit in whole.limits.items() if name not in asked}
    return msgspec.structs.replace(
        spec, resources=msgspec.structs.replace(whole, requests={**unasked, **(whole.requests or {})})
    )


def _together(spec: PodSpec, amounts: Callable[[Container], Resources]) -> Resources:
    """What the containers come to at the worst moment: while all of them run, or while one of the init containers does."""
    running = Resources()
    for container in spec.containers:
        running = running + amounts(container)
    sidecars = Resources()
    peak = Resources()
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            sidecars = sidecars + amounts(container)
            peak = peak.maximum(sidecars)
        else:
            peak = peak.maximum(sidecars + amounts(container))
    return (running + sidecars).maximum(peak)


def _misread(pod: Pod) -> InvalidObject | None:
    """The first amount that cannot be read, by its whole path. Sought only once it is known that there is one."""
    for path, amounts in _amounts(pod.spec, pod.status):
        try:
            Resources.parse(amounts or {})
        except InvalidObject as error:
            return error.at(path=path)
    return None


def _amounts(spec: PodSpec, status: PodStatus) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Every list of resources of a pod."""
    yield "spec.overhead", spec.overhead
    for path, resources in (
        ("spec", spec.resources),
        *((f"spec.containers[{i}]", each.resources) for i, each in enumerate(spec.containers)),
        *((f"spec.initContainers[{i}]", each.resources) for i, each in enumerate(spec.init_containers)),
        *((f"status.containerStatuses[{i}]", each.resources) for i, each in enumerate(status.container_statuses)),
        *(
            (f"status.initContainerStatuses[{i}]", each.resources)
            for i, each in enumerate(status.init_container_statuses)
        ),
    ):
        if resources is not None:
            yield f"{path}.resources.requests", resources.requests
            yield f"{path}.resources.limits", resources.limits
    for path, held in (
        *((f"status.containerStatuses[{i}]", each) for i, each in enumerate(status.container_statuses)),
        *((f"status.initContainerStatuses[{i}]", each) for i, each in enumerate(status.init_container_statuses)),
    ):
        yield f"{path}.allocatedResources", held.allocated_resources


def _granted(spec: PodSpec, status: PodStatus) -> dict[str, Resources]:
    """By container, the most that its node holds for it now. Init containers that ran hold nothing."""
    statuses = (*status.container_statuses, *status.init_container_statuses)
    passing = {each.name for each in spec.init_containers if each.restart_policy != "Always"}
    return {
        found.name: Resources.parse(found.resources.requests or {}).maximum(
            Resources.parse(found.allocated_resources or {})
        )
        for found in statuses
        if found.resources is not None and found.name not in passing
    }


def _asked(container: Container, granted: Mapping[str, Resources]) -> Resources:
    requests = container.resources.requests
    asked = Resources.parse(requests) if requests else Resources()
    held = granted.get(container.name)
    return asked if held is None else asked.maximum(held)
