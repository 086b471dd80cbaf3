"""CapacityBuffer: room that is kept ready for pods that are still to come; and the objects that say what such pods are like.

The API is Cluster Autoscaler's. A buffer names a PodTemplate, or a workload whose pods it stands for and whose scale a
percentage is of (core specification 1.6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from karpy.clock import parse_time
from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import Condition, ObjectMeta, Wire, decode, describe
from karpy.objects.nodepool import at
from karpy.objects.workloads import PodTemplateSpec
from karpy.resources import Resources

__all__ = [
    "ACTIVE_CAPACITY",
    "SCALABLE_KINDS",
    "CapacityBuffer",
    "CapacityBufferSpec",
    "CapacityBufferStatus",
    "PodTemplate",
    "Scalable",
]

ACTIVE_CAPACITY = "buffer.x-k8s.io/active-capacity"
"""The strategy of keeping machines that run; the default."""

SCALABLE_KINDS: Mapping[str, Kind] = {
    kind.kind: kind for kind in (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.REPLICA_SET)
}
"""The workloads that a buffer may name."""


class PodTemplate(Wire, frozen=True):
    """The object of that kind (core v1): a pod to copy, in the cluster under a name."""

    metadata: ObjectMeta
    template: PodTemplateSpec = PodTemplateSpec()


class ScalableSpec(Wire, frozen=True):
    replicas: int | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Scalable(Wire, frozen=True):
    """A Deployment, StatefulSet or ReplicaSet, as far as a buffer cares."""

    metadata: ObjectMeta
    spec: ScalableSpec = ScalableSpec()

    @property
    def replicas(self) -> int:
        return 1 if self.spec.replicas is None else self.spec.replicas


class LocalRef(Wire, frozen=True):
    """An object of the buffer's own namespace."""

    name: str = ""


class ScalableRef(Wire, frozen=True):
    kind: str = ""
    name: str = ""
    api_group: str = ""


class CapacityBufferSpec(Wire, frozen=True):
    provisioning_strategy: str = ACTIVE_CAPACITY
    pod_template_ref: LocalRef | None = None
    scalable_ref: ScalableRef | None = None
    replicas: int | None = None
    percentage: int | None = None
    limits: dict[str, str | int | float] | None = None


class CapacityBufferStatus(Wire, frozen=True):
    provisioning_strategy: str = ""
    pod_template_ref: LocalRef | None = None
    pod_template_generation: int | None = None
    replicas: int | None = None
    conditions: tuple[Condition, ...] = ()


class CapacityBuffer(Wire, frozen=True):
    """A wish for room. Made by `from_dict`, it is one that the API server would have let in."""

    metadata: ObjectMeta
    spec: CapacityBufferSpec = CapacityBufferSpec()
    status: CapacityBufferStatus = CapacityBufferStatus()

    @property
    def key(self) -> str:
        return self.metadata.key

    @property
    def limits(self) -> Resources | None:
        """The most that all pods of the buffer may ask for together; None when nothing is said."""
        return None if self.spec.limits is None else Resources.parse(self.spec.limits)

    @property
    def target(self) -> tuple[Kind, str] | None:
        """What it refers to: the kind, and ``namespace/name``; None when it names nothing."""
        spec = self.spec
        if spec.pod_template_ref is not None:
            return kinds.POD_TEMPLATE, self._beside(spec.pod_template_ref.name)
        if spec.scalable_ref is not None:
            return SCALABLE_KINDS[spec.scalable_ref.kind], self._beside(spec.scalable_ref.name)
        return None

    def _beside(self, name: str) -> str:
        namespace = self.metadata.namespace
        return f"{namespace}/{name}" if namespace else name

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | bytes) -> Self:
        """Read the object from the API's JSON.

        Raises:
            InvalidObject: naming the object, the field path, what was found and what is accepted.
        """
        found = decode(data, cls)
        try:
            if found.metadata.creation_timestamp:
                at("metadata.creationTimestamp", parse_time, found.metadata.creation_timestamp)
            at("spec", _check, found.spec)
        except InvalidObject as error:
            raise error.at(object_name=describe(data) or f"CapacityBuffer/{found.key}") from None
        return found


def _check(spec: CapacityBufferSpec) -> None:
    if spec.pod_template_ref is not None and spec.scalable_ref is not None:
        raise InvalidObject("found both podTemplateRef and scalableRef", accepted="one of them")
    for field, count in (("replicas", spec.replicas), ("percentage", spec.percentage)):
        if count is not None and count < 0:
            raise InvalidObject(f"found {count}", path=field, accepted="a whole number, 0 or more")
    _check_limits(spec.limits or {})
    if spec.pod_template_ref is not None:
        _check_name(spec.pod_template_ref.name, "podTemplateRef")
        if spec.replicas is None and spec.limits is None:
            raise InvalidObject("found podTemplateRef without replicas and limits", accepted="one of these with it")
    if spec.scalable_ref is not None:
        _check_scalable(spec.scalable_ref)


def _check_limits(limits: Mapping[str, Any]) -> None:
    try:
        amounts = Resources.parse(limits)
    except InvalidObject as error:
        raise error.at(path="limits") from None
    for name, amount in amounts.items():
        if amount < 0:
            raise InvalidObject(f"found {limits[name]!r}", path=f"limits.{name}", accepted="a quantity, 0 or more")


def _check_scalable(ref: ScalableRef) -> None:
    if ref.api_group not in ("", kinds.DEPLOYMENT.group):
        raise InvalidObject(
            f"found {ref.api_group!r}", path="scalableRef.apiGroup", accepted=f"{kinds.DEPLOYMENT.group!r}"
        )
    if ref.kind not in SCALABLE_KINDS:
        raise InvalidObject(f"found {ref.kind!r}", path="scalableRef.kind", accepted=", ".join(SCALABLE_KINDS))
    _check_name(ref.name, "scalableRef")


def _check_name(name: str, path: str) -> None:
    if not name:
        raise InvalidObject("found nothing", path=f"{path}.name", accepted="text that is not empty")
