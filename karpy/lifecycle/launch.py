"""From a planned launch to a NodeClaim, and from a NodeClaim to the instance types that may become it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import msgspec

from karpy import labels
from karpy.cloud.instancetype import InstanceType, compatible, holding, order_by_price
from karpy.labels import LabelSpec
from karpy.objects.meta import ObjectMeta, OwnerReference
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.templatehash import hash_annotations
from karpy.requirements import NEGATIVE, Requirement, Requirements
from karpy.resources import Resources
from karpy.scheduling.plan import Launch

__all__ = ["choices", "new_claim", "static_claim"]


def new_claim(launch: Launch, spec: LabelSpec) -> dict[str, Any]:
    """The NodeClaim object for a planned launch (core specification 1.3). The API server completes its name."""
    if launch.pool.is_static:
        return static_claim(launch.pool, spec)
    names = Requirement.in_(labels.INSTANCE_TYPE, *(priced.name for priced in launch.instance_types))
    least = launch.requirements.get(labels.INSTANCE_TYPE)
    if least is not None:
        names = attrs.evolve(names, min_values=least.min_values)
    marks = {**_overlay_marks(launch), labels.MIN_VALUES_RELAXED: "true" if launch.min_values_relaxed else "false"}
    # Beside the types, as what they could be had when the machine was planned.
    bought_as = [Requirement.in_(labels.CAPACITY_TYPE, *launch.capacity_types)] if launch.capacity_types else []
    requirements = launch.requirements.without(labels.INSTANCE_TYPE) & Requirements((names, *bought_as))
    return _claim(
        launch.pool, _materialized(launch.pool, launch.requirements, spec), marks, requirements, launch.requests
    )


def static_claim(pool: NodePool, spec: LabelSpec) -> dict[str, Any]:
    """The NodeClaim object for one more node of a static pool: all that the template allows, and the cloud chooses."""
    node_class = labels.node_class_label(pool.node_class.group, pool.node_class.kind)
    wanted = pool.template_requirements & Requirements.from_labels({node_class: pool.node_class.name})
    return _claim(pool, _materialized(pool, pool.template_requirements, spec), {}, wanted, Resources())


def _claim(
    pool: NodePool,
    materialized: Mapping[str, str],
    marks: Mapping[str, str],
    requirements: Requirements,
    requests: Resources,
) -> dict[str, Any]:
    node_class = labels.node_class_label(pool.node_class.group, pool.node_class.kind)
    fixed = {**pool.labels, labels.NODEPOOL: pool.name, node_class: pool.node_class.name}
    own = OwnerReference(
        pool.origin.kind, pool.name, pool.metadata.uid, pool.origin.api_version, block_owner_deletion=True
    )
    claim = NodeClaim(
        name="",
        metadata=ObjectMeta(
            labels={**materialized, **fixed},
            annotations={**pool.annotations, **hash_annotations(pool), **_kubelet_mark(pool), **marks},
            owner_references=(own,),
        ),
        node_class=pool.node_class,
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        requirements=requirements,
        requests=requests,
        expire_after_s=pool.expire_after_s,
        termination_grace_period_s=pool.termination_grace_period_s,
    )
    raw = claim.to_dict()
    raw["metadata"]["generateName"] = f"{pool.name}-"
    return raw


def _kubelet_mark(pool: NodePool) -> dict[str, str]:
    """Clouds launch from claim and node class; what the pool alone says of the kubelet goes with the claim."""
    if not pool.kubelet:
        return {}
    return {labels.KUBELET_CONVERSION: msgspec.json.encode(pool.kubelet, order="sorted").decode()}


def _overlay_marks(launch: Launch) -> dict[str, str]:
    """Clouds launch in the order of prices as karpy sees them where these say that the prices are not the cloud's own."""
    marks = {
        labels.PRICE_OVERLAY_APPLIED: launch.is_price_overlaid,
        labels.CAPACITY_OVERLAY_APPLIED: launch.is_capacity_overlaid,
    }
    return {key: "true" for key, applies in marks.items() if applies}


def _materialized(pool: NodePool, requirements: Requirements, spec: LabelSpec) -> dict[str, str]:
    """One value for each key that neither the cloud nor the instance type decides: the node will carry it as a label.

    What only pods speak of, they want not to be there, or not with some values: without the label nothing is amiss.
    """
    ours = pool.template_requirements
    own = {
        key: _any_value(requirement)
        for key, requirement in requirements.items()
        if key not in spec.well_known and (key in ours or requirement.operator not in NEGATIVE)
    }
    return {key: value for key, value in own.items() if value is not None}


def _any_value(requirement: Requirement) -> str | None:
    """The first allowed value, or the smallest number where only exclusions and bounds are given; None when there is none."""
    if not requirement.complement:
        return min(requirement.values, default=None)
    exclusions, start, most = len(requirement.values), max(requirement.gte or 0, 0), requirement.lte
    numbers = range(start, start + exclusions + 1)
    if most is not None and most < start:
        numbers = range(most, most - exclusions - 1, -1)
    return next((text for text in map(str, numbers) if requirement.has(text)), None)


def choices(claim: NodeClaim, types: Iterable[InstanceType]) -> tuple[InstanceType, ...]:
    """The types that the claim allows, that hold what it asks for, and that can be had now: cheapest first.

    Of a type that does not hold it in every offering, only the offerings that do are kept.
    """
    able = (found for each in types if (found := holding(each, claim.requests)) is not None)
    return order_by_price(compatible(able, claim.requirements), claim.requirements)
