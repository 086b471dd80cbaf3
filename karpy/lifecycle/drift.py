"""Does a machine still match what its pool asks for? The reasons in the order in which they count (core specification 4.10).

What the template fixes is compared by its hash, what it leaves open by the machine's labels, and what the machine is by the catalog
of its cloud. What only the cloud knows is for its provider to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpy import labels
from karpy.cloud.instancetype import InstanceTypes, Offering
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements

__all__ = ["drift_from_catalog", "drift_from_pool"]

NODE_POOL_DRIFTED: Final = "NodePoolDrifted"
REQUIREMENTS_DRIFTED: Final = "RequirementsDrifted"
INSTANCE_TYPE_NOT_FOUND: Final = "InstanceTypeNotFound"
OWN_REASONS: Final = frozenset((NODE_POOL_DRIFTED, REQUIREMENTS_DRIFTED, INSTANCE_TYPE_NOT_FOUND))
"""All other reasons are a provider's."""

_DEMOTABLE = (labels.RESERVED, labels.ON_DEMAND)
"""A machine whose reservation ended runs on as on-demand capacity."""


def drift_from_pool(claim: NodeClaim, pool: NodePool) -> str | None:
    """Why the machine is not what its pool would launch now, or None."""
    if _hash_differs(claim.metadata.annotations or {}, pool.metadata.annotations or {}):
        return NODE_POOL_DRIFTED
    if Requirements.from_labels(claim.labels).compatible(pool.requirements) is not None:
        return REQUIREMENTS_DRIFTED
    return None


def _hash_differs(claim: Mapping[str, str], pool: Mapping[str, str]) -> bool:
    """Hashes say something only if both are there, and of one version."""
    version, hash_ = labels.NODEPOOL_HASH_VERSION, labels.NODEPOOL_HASH
    if any(key not in each for each in (claim, pool) for key in (version, hash_)):
        return False
    return claim[version] == pool[version] and claim[hash_] != pool[hash_]


def drift_from_catalog(claim: NodeClaim, types: InstanceTypes) -> str | None:
    """Why the cloud would not sell such a machine any more, or None. Whether it can be had at the moment plays no part.

    A catalog without a single type is one that could not be read: it says nothing about the machine.
    """
    if not types:
        return None
    instance_type = types.by_name(claim.labels.get(labels.INSTANCE_TYPE, ""))
    if instance_type is None or not any(_is_offered(claim.labels, each) for each in instance_type.offerings):
        return INSTANCE_TYPE_NOT_FOUND
    return None


def _is_offered(own: Mapping[str, str], offering: Offering) -> bool:
    if own.get(labels.CAPACITY_TYPE) == labels.RESERVED:
        zone = own.get(labels.ZONE)
        return offering.capacity_type in _DEMOTABLE and zone in (None, offering.zone)
    return Requirements.from_labels(own).intersects(offering.requirements) is None
