"""NodeClaims: one machine asked for, launched, joined, and taken away again (``karpenter.sh/v1``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from karpy import labels
from karpy.clock import parse_time
from karpy.errors import InvalidObject
from karpy.objects.duration import format_duration, parse_duration, parse_optional_duration
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.meta import Condition, ObjectMeta, Wire, decode, describe, find_condition, to_wire
from karpy.objects.nodepool import DEFAULT_EXPIRE_AFTER_S, NodeClassRef, WireRequirement, at, read_requirements
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy.taints import Taint

__all__ = ["NodeClaim"]

LAUNCHED: Final = "Launched"
REGISTERED: Final = "Registered"
INITIALIZED: Final = "Initialized"
READY: Final = "Ready"
DRAINED: Final = "Drained"
VOLUMES_DETACHED: Final = "VolumesDetached"
INSTANCE_TERMINATING: Final = "InstanceTerminating"
RELEASED: Final = "Released"
"""karpy's own, and there only while the end of a claim is held up by somebody else."""
CONSISTENT_STATE_FOUND: Final = "ConsistentStateFound"
CONSOLIDATABLE: Final = "Consolidatable"
DRIFTED: Final = "Drifted"
DISRUPTION_REASON: Final = "DisruptionReason"


@attrs.frozen(kw_only=True)
class NodeClaim:
    """A claim. Durations are seconds; None means Never (or, for the grace period, not set)."""

    name: str
    metadata: ObjectMeta = ObjectMeta()
    node_class: NodeClassRef = NodeClassRef()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: Requirements = Requirements()
    requests: Resources = Resources()
    expire_after_s: float | None = DEFAULT_EXPIRE_AFTER_S
    termination_grace_period_s: float | None = None
    node_name: str = ""
    provider_id: str = ""
    image_id: str = ""
    capacity: Resources = Resources()
    allocatable: Resources = Resources()
    last_pod_event: str | None = None
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NodeClaim:
        """Read a NodeClaim.

        Raises:
            InvalidObject: naming the object, the field path, what was found and what is accepted.
        """
        wire = decode(data, _WireClaim)
        try:
            return _build(wire)
        except InvalidObject as error:
            raise error.at(object_name=describe(data)) from None

    def to_dict(self) -> dict[str, Any]:
        """The API's form, for creating it."""
        spec: dict[str, Any] = {
            "requirements": self.requirements.to_selectors(),
            "resources": {"requests": self.requests.to_dict()},
            "nodeClassRef": to_wire(self.node_class),
            "expireAfter": format_duration(self.expire_after_s),
        }
        if self.taints:
            spec["taints"] = to_wire(self.taints)
        if self.startup_taints:
            spec["startupTaints"] = to_wire(self.startup_taints)
        if self.termination_grace_period_s is not None:
            spec["terminationGracePeriod"] = format_duration(self.termination_grace_period_s)
        return {
            "apiVersion": NODE_CLAIM.api_version,
            "kind": NODE_CLAIM.kind,
            "metadata": to_wire(self.metadata),
            "spec": spec,
        }

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels or {}

    @property
    def pool(self) -> str:
        """The pool's name, or empty for a claim made by hand."""
        return self.labels.get(labels.NODEPOOL, "")

    def condition(self, type_: str) -> Condition | None:
        return find_condition(self.conditions, type_)

    def is_true(self, type_: str) -> bool:
        found = self.condition(type_)
        return found is not None and found.is_true

    @property
    def is_launched(self) -> bool:
        return self.is_true(LAUNCHED)

    @property
    def is_registered(self) -> bool:
        return self.is_true(REGISTERED)

    @property
    def quiet_since(self) -> float | None:
        """When a pod came to it or went the last time, or else when it was initialized; None before that."""
        initialized = self.condition(INITIALIZED)
        if initialized is None or not initialized.is_true:
            return None
        return parse_time(self.last_pod_event) if self.last_pod_event else initialized.since

    @property
    def is_initialized(self) -> bool:
        return self.is_true(INITIALIZED)


class _WireResources(Wire, frozen=True):
    requests: dict[str, str | int | float] | None = None


class _WireSpec(Wire, frozen=True):
    node_class_ref: NodeClassRef = NodeClassRef()
    taints: tuple[Taint, ...] | None = None
    startup_taints: tuple[Taint, ...] | None = None
    requirements: tuple[WireRequirement, ...] = ()
    resources: _WireResources = _WireResources()
    expire_after: str | None = None
    termination_grace_period: str | None = None


class _WireStatus(Wire, frozen=True):
    node_name: str = ""
    provider_id: str = msgspec.field(default="", name="providerID")
    image_id: str = msgspec.field(default="", name="imageID")
    capacity: dict[str, str | int | float] | None = None
    allocatable: dict[str, str | int | float] | None = None
    last_pod_event_time: str | None = None
    conditions: tuple[Condition, ...] = ()


class _WireClaim(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _WireSpec = _WireSpec()
    status: _WireStatus = _WireStatus()


def _build(wire: _WireClaim) -> NodeClaim:
    spec, status = wire.spec, wire.status
    if status.last_pod_event_time is not None:
        at("status.lastPodEventTime", parse_time, status.last_pod_event_time)
    expire, grace = spec.expire_after, spec.termination_grace_period
    return NodeClaim(
        name=wire.metadata.name,
        metadata=wire.metadata,
        node_class=spec.node_class_ref,
        taints=spec.taints or (),
        startup_taints=spec.startup_taints or (),
        requirements=read_requirements(spec.requirements, "spec.requirements"),
        requests=at("spec.resources.requests", Resources.parse, spec.resources.requests or {}),
        expire_after_s=DEFAULT_EXPIRE_AFTER_S
        if expire is None
        else at("spec.expireAfter", parse_optional_duration, expire),
        termination_grace_period_s=None if grace is None else at("spec.terminationGracePeriod", parse_duration, grace),
        node_name=status.node_name,
        provider_id=status.provider_id,
        image_id=status.image_id,
        capacity=at("status.capacity", Resources.parse, status.capacity or {}),
        allocatable=at("status.allocatable", Resources.parse, status.allocatable or {}),
        last_pod_event=status.last_pod_event_time,
        conditions=status.conditions,
    )
