"""What a node costs, and what it costs to take it away (core specification 5.2)."""

from __future__ import annotations

import math

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, Price, current_price
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.pod import Pod
from karpy.state.snapshot import NodeView

__all__ = [
    "current_price_of",
    "disruption_cost",
    "eviction_cost",
    "lifetime_cost",
    "lifetime_remaining",
    "price_of",
    "type_of",
]

_MOST = 10.0


def price_of(view: NodeView, catalog: Catalog) -> Price:
    """What the node costs per hour; 0 when its offering is unknown."""
    return current_price_of(view, type_of(view, catalog))


def type_of(view: NodeView, catalog: Catalog) -> InstanceType | None:
    """The type of the node as its pool can buy it; None when it cannot."""
    types = catalog.types.get(view.pool)
    return types.by_name(view.labels.get(labels.INSTANCE_TYPE, "")) if types is not None else None


def current_price_of(view: NodeView, instance_type: InstanceType | None) -> Price:
    """The price of the node if it is of this type; 0 when its offering is unknown."""
    if instance_type is None:
        return 0.0
    own = view.labels
    return current_price(instance_type, own.get(labels.ZONE, ""), own.get(labels.CAPACITY_TYPE, "")) or 0.0


def eviction_cost(pod: Pod) -> float:
    """From -10 to 10: 1, moved by the pod's deletion cost and priority."""
    wish = _deletion_cost((pod.metadata.annotations or {}).get(labels.POD_DELETION_COST, ""))
    return max(-_MOST, min(_MOST, 1.0 + wish / 2**27 + (pod.spec.priority or 0) / 2**25))


def _deletion_cost(text: str) -> float:
    """The number that the annotation says; 0 if it is none. Kubernetes takes whole ones only, Karpenter fractions too."""
    try:
        number = float(text) if text.isascii() and text == text.strip() else 0.0
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0


def disruption_cost(view: NodeView) -> float:
    """1 and what it costs to move each pod of the machine; a pod that is worth nothing does not count."""
    return 1.0 + sum(max(0.0, eviction_cost(pod)) for pod in view.reschedulable_pods)


def lifetime_cost(view: NodeView, now: float) -> float:
    """What it costs to evict all that runs on the machine, the less the nearer its end is anyway."""
    remaining = 1.0 if view.claim is None else lifetime_remaining(view.claim, now)
    return remaining * view.derived(_eviction_costs)


def _eviction_costs(view: NodeView) -> float:
    return sum(map(eviction_cost, view.pods))


def lifetime_remaining(claim: NodeClaim, now: float) -> float:
    """The part of its life that a claim has before it, from 1 to 0; always 1 for one that does not expire."""
    life = claim.expire_after_s
    if life is None:
        return 1.0
    left = claim.metadata.created + life - now
    return max(0.0, min(1.0, left / life)) if life > 0 else 0.0
