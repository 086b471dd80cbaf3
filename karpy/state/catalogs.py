"""A snapshot and what its pools can buy: the two inputs of every decision, made to fit each other."""

from __future__ import annotations

import attrs

from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.cloud.provider import RawNodeClass
from karpy.cloud.routing import Clouds
from karpy.errors import ProviderError
from karpy.objects.nodepool import NodePool
from karpy.state.snapshot import Snapshot

__all__ = ["types_of", "with_catalog"]


def with_catalog(snapshot: Snapshot, clouds: Clouds) -> tuple[Snapshot, Catalog]:
    """The snapshot with the pools that these clouds serve, completed by the clouds' defaults, and their catalogs.

    A pool whose node class is missing, or whose catalog cannot be had now, has an empty one: nothing is launched from it.
    """
    served = [pool for pool in snapshot.pools if clouds.serving(pool.node_class) is not None]
    pools = tuple(_completed(pool, clouds) for pool in served)
    types = {pool.name: types_of(pool, snapshot.node_classes.get(pool.node_class), clouds) for pool in pools}
    return attrs.evolve(snapshot, pools=pools), Catalog(types, clouds.labels, clouds.unsupported_volumes)


def types_of(pool: NodePool, node_class: RawNodeClass | None, clouds: Clouds) -> InstanceTypes:
    """The catalog of one pool; empty when there is none to be had now."""
    provider = clouds.serving(pool.node_class)
    if provider is None or node_class is None:
        return InstanceTypes()
    try:
        return provider.instance_types(pool, node_class)
    except ProviderError:
        return InstanceTypes()


def _completed(pool: NodePool, clouds: Clouds) -> NodePool:
    defaults = clouds.defaults(pool)
    return attrs.evolve(pool, requirements=pool.requirements & defaults) if defaults else pool
