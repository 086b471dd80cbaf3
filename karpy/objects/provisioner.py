"""Provisioners (``karpenter.sh/v1alpha5``), read as NodePools.

A Provisioner that names no node class but carries an inline ``provider`` is its own node class: the pool then refers to the
Provisioner object, and the cloud reads ``spec.provider`` from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy import labels
from karpy.errors import InvalidObject
from karpy.objects.budget import Budget
from karpy.objects.kinds import PROVISIONER
from karpy.objects.meta import Integer, ObjectMeta, Wire, decode, describe
from karpy.objects.nodepool import (
    WHEN_EMPTY,
    WHEN_EMPTY_OR_UNDERUTILIZED,
    NodeClassRef,
    NodePool,
    PoolStatus,
    WireRequirement,
    at,
    read_kubelet,
    read_requirements,
    read_weight,
)
from karpy.resources import Resources
from karpy.taints import Taint

__all__ = ["provisioner_to_pool"]


class _ProviderRef(Wire, frozen=True):
    name: str = ""
    kind: str = ""
    api_version: str = ""


class _Limits(Wire, frozen=True):
    resources: dict[str, str | int | float] | None = None


class _Consolidation(Wire, frozen=True):
    enabled: bool | None = None


class _Spec(Wire, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    taints: tuple[Taint, ...] | None = None
    startup_taints: tuple[Taint, ...] | None = None
    requirements: tuple[WireRequirement, ...] | None = None
    provider: dict[str, Any] | None = None
    provider_ref: _ProviderRef | None = None
    limits: _Limits | None = None
    weight: Integer | None = None
    kubelet_configuration: dict[str, Any] | None = None
    ttl_seconds_after_empty: Integer | None = None
    ttl_seconds_until_expired: Integer | None = None
    consolidation: _Consolidation | None = None


class _Provisioner(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: PoolStatus = PoolStatus()


def provisioner_to_pool(data: Mapping[str, Any]) -> NodePool:
    """Read a Provisioner as a pool (core specification 1.8 and 1.10).

    A Provisioner that asks for neither consolidation nor ``ttlSecondsAfterEmpty`` never gives nodes back, as in its day.

    Raises:
        InvalidObject: naming the object, the field path, what was found and what is accepted.
    """
    wire = decode(data, _Provisioner)
    try:
        return _build(wire)
    except InvalidObject as error:
        raise error.at(object_name=describe(data)) from None


def _build(wire: _Provisioner) -> NodePool:
    spec = wire.spec
    policy, consolidate_after = _consolidation(spec)
    limits = spec.limits.resources if spec.limits else None
    return NodePool(
        name=wire.metadata.name,
        metadata=wire.metadata,
        origin=PROVISIONER,
        node_class=_node_class(wire),
        labels={**(spec.labels or {}), labels.PROVISIONER_NAME: wire.metadata.name},
        annotations=spec.annotations or {},
        taints=spec.taints or (),
        startup_taints=spec.startup_taints or (),
        requirements=read_requirements(spec.requirements or (), "spec.requirements"),
        entries=spec.requirements or (),
        limits=None if limits is None else at("spec.limits.resources", Resources.parse, limits),
        weight=read_weight(spec.weight),
        kubelet=read_kubelet(spec.kubelet_configuration, wire.metadata),
        consolidation_policy=policy,
        consolidate_after_s=consolidate_after,
        expire_after_s=_seconds("ttlSecondsUntilExpired", spec.ttl_seconds_until_expired),
        budgets=(Budget("100%"),),  # budgets came later; without one nothing held disruption back
        conditions=wire.status.conditions,
        counters=wire.status.counters,
    )


def _consolidation(spec: _Spec) -> tuple[str, float | None]:
    after_empty = _seconds("ttlSecondsAfterEmpty", spec.ttl_seconds_after_empty)
    wants_consolidation = spec.consolidation is not None and bool(spec.consolidation.enabled)
    if after_empty is not None and wants_consolidation:
        raise InvalidObject(
            "ttlSecondsAfterEmpty and consolidation.enabled exclude each other", path="spec", accepted="one of the two"
        )
    if wants_consolidation:
        return WHEN_EMPTY_OR_UNDERUTILIZED, 0.0
    return WHEN_EMPTY, after_empty


def _seconds(field: str, value: int | None) -> float | None:
    if value is None:
        return None
    if value < 0:
        raise InvalidObject(f"{field} is {value}", path=f"spec.{field}", accepted="seconds, 0 or more")
    return float(value)


def _node_class(wire: _Provisioner) -> NodeClassRef:
    inline, ref = wire.spec.provider, wire.spec.provider_ref
    if inline is not None and ref is not None:
        raise InvalidObject("provider and providerRef exclude each other", path="spec", accepted="one of the two")
    if inline is not None:
        return NodeClassRef(PROVISIONER.group, PROVISIONER.kind, wire.metadata.name)
    if ref is None:
        raise InvalidObject("neither provider nor providerRef is set", path="spec", accepted="one of the two")
    return NodeClassRef(ref.api_version.rpartition("/")[0], ref.kind, ref.name)
