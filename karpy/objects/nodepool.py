"""NodePools: what machines may be launched, how many, and when they may go.

`NodePool` is the internal model, Karpenter's v1. It is read from ``karpenter.sh/v1`` and ``v1beta1`` (one group and one name,
so a manifest's own fields decide, not the version that it was served as); `karpy.objects.provisioner` reads ``v1alpha5``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs
import msgspec

from karpy import labels
from karpy.errors import InvalidObject, shown
from karpy.objects.budget import TIME_ZONE, Budget
from karpy.objects.duration import parse_duration, parse_optional_duration
from karpy.objects.kinds import NODE_POOL, Kind
from karpy.objects.meta import Condition, Integer, ObjectMeta, Wire, decode, describe, find_condition
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.taints import Taint

__all__ = ["NodeClassRef", "NodePool"]

T = TypeVar("T")

WHEN_EMPTY: Final = "WhenEmpty"
WHEN_EMPTY_OR_UNDERUTILIZED: Final = "WhenEmptyOrUnderutilized"
WHEN_UNDERUTILIZED: Final = "WhenUnderutilized"
BALANCED: Final = "Balanced"
POLICIES: Final = (WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED, WHEN_UNDERUTILIZED, BALANCED)

DEFAULT_EXPIRE_AFTER_S: Final = 720 * 3600.0
MAX_WEIGHT: Final = 100

RESTING: Final = "Resting"
"""The condition of a pool whose machines fail one after the other: while it is True, nothing is launched from it."""


class NodeClassRef(Wire, frozen=True, omit_defaults=False):
    """Which node class a pool launches from. ``group`` and ``kind`` are empty where the manifest leaves them to the provider."""

    group: str = ""
    kind: str = ""
    name: str = ""


@attrs.frozen(kw_only=True)
class NodePool:
    """A pool in the internal model. Durations are seconds; None means Never (or, for the grace period, not set).

    ``origin`` is the kind of the object that the user wrote; its status is written back there.
    """

    name: str
    metadata: ObjectMeta = ObjectMeta()
    origin: Kind = NODE_POOL
    node_class: NodeClassRef = NodeClassRef()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: Requirements = Requirements()
    entries: tuple[WireRequirement, ...] = ()
    """The requirements one by one, as they are written, for those who look for mistakes in them."""
    limits: Resources | None = None
    weight: int = 0
    replicas: int | None = None
    kubelet: Mapping[str, Any] | None = None
    """The kubelet block, which stood on pools before it moved to node classes in v1; only clouds know what it means."""
    consolidation_policy: str = WHEN_EMPTY_OR_UNDERUTILIZED
    consolidate_after_s: float | None = 0.0
    expire_after_s: float | None = DEFAULT_EXPIRE_AFTER_S
    termination_grace_period_s: float | None = None
    budgets: tuple[Budget, ...] = (Budget(),)
    conditions: tuple[Condition, ...] = ()
    counters: Mapping[str, Any] = attrs.field(factory=dict)
    """``status.resources`` and ``status.nodes`` as they were last written."""
    class_generation: int | None = None
    """The generation of the node class that the status is about."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NodePool:
        """Read a NodePool of v1 or v1beta1.

        Raises:
            InvalidObject: naming the object, the field path, what was found and what is accepted.
        """
        wire = decode(data, _WirePool)
        try:
            return _build(wire)
        except InvalidObject as error:
            raise error.at(object_name=describe(data)) from None

    @property
    def template_requirements(self) -> Requirements:
        """Everything a node of this pool is known to be: requirements, labels, and the pool's own name."""
        return self.requirements & Requirements.from_labels({**self.labels, labels.NODEPOOL: self.name})

    @property
    def is_static(self) -> bool:
        return self.replicas is not None

    @property
    def may_grow(self) -> bool:
        """Whether nodes may be launched for pods: not static, and nothing speaks against any launch."""
        return not self.is_static and self.may_launch

    @property
    def may_launch(self) -> bool:
        """Whether nodes may be launched at all: not being deleted, not resting, and nobody said that it is not ready.

        A pool without a Ready condition counts as ready, so that plain manifests can be planned for.
        """
        ready = find_condition(self.conditions, "Ready")
        return not self.metadata.is_deleting and (ready is None or ready.is_true) and not self.rests_because

    @property
    def rests_because(self) -> str:
        """Why nothing is launched from it for a while; empty when it does not rest."""
        resting = find_condition(self.conditions, RESTING)
        return (resting.message or RESTING) if resting is not None and resting.is_true else ""

    @property
    def order(self) -> tuple[int, tuple[int, ...]]:
        """Sort key: heavier first, then names from the end of the alphabet (Karpenter's order)."""
        return (-self.weight, tuple(-ord(letter) for letter in self.name))


class WireRequirement(Wire, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()
    min_values: Integer | None = None


class _WireNodeClassRef(Wire, frozen=True):
    group: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""


class _WireTemplateSpec(Wire, frozen=True):
    taints: tuple[Taint, ...] | None = None
    startup_taints: tuple[Taint, ...] | None = None
    requirements: tuple[WireRequirement, ...] | None = None
    node_class_ref: _WireNodeClassRef = _WireNodeClassRef()
    kubelet: dict[str, Any] | None = None
    expire_after: str | None = None
    termination_grace_period: str | None = None


class _WireTemplateMeta(Wire, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _WireTemplate(Wire, frozen=True):
    metadata: _WireTemplateMeta = _WireTemplateMeta()
    spec: _WireTemplateSpec = _WireTemplateSpec()


class _WireBudget(Wire, frozen=True):
    nodes: str | Integer = "10%"
    schedule: str | None = None
    duration: str | None = None
    reasons: tuple[str, ...] | None = None


class _WireDisruption(Wire, frozen=True):
    consolidation_policy: str | None = None
    consolidate_after: str | None = None
    expire_after: str | None = None
    budgets: tuple[_WireBudget, ...] | None = None


class _WireSpec(Wire, frozen=True):
    template: _WireTemplate = _WireTemplate()
    disruption: _WireDisruption = _WireDisruption()
    limits: dict[str, str | int | float] | None = None
    weight: Integer | None = None
    replicas: Integer | None = None


class PoolStatus(Wire, frozen=True):
    """The status of a pool of any generation."""

    conditions: tuple[Condition, ...] = ()
    resources: dict[str, str | int | float] | None = None
    nodes: Integer | None = None
    node_class_observed_generation: Integer | None = None

    @property
    def counters(self) -> dict[str, Any]:
        return {"resources": self.resources, "nodes": self.nodes}


class _WirePool(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _WireSpec = _WireSpec()
    status: PoolStatus = PoolStatus()


def _build(wire: _WirePool) -> NodePool:
    spec, template = wire.spec, wire.spec.template.spec
    policy, consolidate_after = _consolidation(spec.disruption)
    # v1beta1 kept expireAfter beside the other disruption fields; v1 moved it into the template.
    in_template = template.expire_after is not None
    expire_path = "spec.template.spec.expireAfter" if in_template else "spec.disruption.expireAfter"
    expire = template.expire_after if in_template else spec.disruption.expire_after
    grace = template.termination_grace_period
    return NodePool(
        name=wire.metadata.name,
        metadata=wire.metadata,
        node_class=_node_class(template.node_class_ref),
        labels=wire.spec.template.metadata.labels or {},
        annotations=wire.spec.template.metadata.annotations or {},
        taints=template.taints or (),
        startup_taints=template.startup_taints or (),
        requirements=read_requirements(template.requirements or (), "spec.template.spec.requirements"),
        entries=template.requirements or (),
        limits=None if spec.limits is None else at("spec.limits", Resources.parse, spec.limits),
        weight=read_weight(spec.weight),
        replicas=spec.replicas,
        kubelet=read_kubelet(template.kubelet, wire.metadata),
        consolidation_policy=policy,
        consolidate_after_s=consolidate_after,
        expire_after_s=DEFAULT_EXPIRE_AFTER_S if expire is None else at(expire_path, parse_optional_duration, expire),
        termination_grace_period_s=None
        if grace is None
        else at("spec.template.spec.terminationGracePeriod", parse_duration, grace),
        budgets=_budgets(spec.disruption.budgets, (wire.metadata.annotations or {}).get(TIME_ZONE, "")),
        conditions=wire.status.conditions,
        counters=wire.status.counters,
        class_generation=wire.status.node_class_observed_generation,
    )


def _consolidation(wire: _WireDisruption) -> tuple[str, float | None]:
    policy = wire.consolidation_policy or WHEN_EMPTY_OR_UNDERUTILIZED
    if policy not in POLICIES:
        raise InvalidObject(
            f"unknown policy {shown(policy)}", path="spec.disruption.consolidationPolicy", accepted=", ".join(POLICIES)
        )
    if policy == WHEN_UNDERUTILIZED:  # v1beta1's name for the same thing
        policy = WHEN_EMPTY_OR_UNDERUTILIZED
    if wire.consolidate_after is None:
        return policy, 0.0
    return policy, at("spec.disruption.consolidateAfter", parse_optional_duration, wire.consolidate_after)


def _node_class(wire: _WireNodeClassRef) -> NodeClassRef:
    """v1 names group and kind; v1beta1 may name apiVersion and kind, or only the name."""
    return NodeClassRef(wire.group or wire.api_version.rpartition("/")[0], wire.kind, wire.name)


def _budgets(wires: Sequence[_WireBudget] | None, time_zone: str) -> tuple[Budget, ...]:
    if wires is None:
        return (Budget(),)
    budgets = []
    for index, wire in enumerate(wires):
        path = f"spec.disruption.budgets[{index}]"
        if (wire.schedule is None) != (wire.duration is None):
            raise InvalidObject("schedule and duration go together", path=path, accepted="both or neither")
        duration = None if wire.duration is None else at(f"{path}.duration", parse_duration, wire.duration)
        if duration is not None and duration < 0:
            raise InvalidObject(f"found {shown(wire.duration)}", path=f"{path}.duration", accepted="0s or longer")
        budgets.append(Budget(str(wire.nodes), wire.schedule, duration, wire.reasons, time_zone))
    return tuple(budgets)


def read_requirements(wires: Sequence[WireRequirement], path: str) -> Requirements:
    """Parse pool requirements; the complaint names the entry by index."""
    parsed = []
    for index, wire in enumerate(wires):
        try:
            parsed.append(Requirement.parse(wire.key, wire.operator, wire.values, wire.min_values))
        except InvalidObject as error:
            raise error.at(path=f"{path}[{index}]") from None
    return Requirements(parsed)


def read_kubelet(block: Mapping[str, Any] | None, metadata: ObjectMeta) -> Mapping[str, Any] | None:
    """The kubelet block of a pool: its own, or what the conversion to v1 wrote down (core specification 1.10).

    Raises:
        InvalidObject: what was written down is no JSON object.
    """
    text = (metadata.annotations or {}).get(labels.KUBELET_CONVERSION)
    if block is not None or not text:
        return block
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        path = f"metadata.annotations[{labels.KUBELET_CONVERSION}]"
        raise InvalidObject(f"found {shown(text)}", path=path, accepted="a JSON object") from None


def read_weight(weight: int | None) -> int:
    """The weight, 0 when not set."""
    if weight is None:
        return 0
    if not 1 <= weight <= MAX_WEIGHT:
        raise InvalidObject(f"weight is {weight}", path="spec.weight", accepted=f"an integer from 1 to {MAX_WEIGHT}")
    return weight


def at(path: str, parse: Callable[[Any], T], value: Any) -> T:
    """``parse(value)``, with ``path`` put before the path of what it complains about."""
    try:
        return parse(value)
    except InvalidObject as error:
        raise error.at(path=path) from None
