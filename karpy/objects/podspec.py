"""What the spec and the status of a pod hold, as far as nodes depend on it."""

from __future__ import annotations

import msgspec

from karpy.objects.meta import Integer, Wire
from karpy.objects.selectors import LabelSelector, SelectorRequirement
from karpy.taints import Toleration

__all__ = [
    "Affinity",
    "ClaimSource",
    "Container",
    "ContainerPort",
    "ContainerResources",
    "ContainerStatus",
    "EphemeralSource",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorTerm",
    "PodAffinity",
    "PodAffinityTerm",
    "PodResourceClaim",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "TopologySpreadConstraint",
    "Volume",
    "WeightedPodAffinityTerm",
]


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


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


class PodCondition(Wire, frozen=True):
    """Of a pod's conditions no more than this: all pods that do well have the same ones."""

    type: str
    status: str = ""
    reason: str | None = None


class PodStatus(Wire, frozen=True):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
