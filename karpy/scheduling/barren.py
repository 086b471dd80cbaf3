"""Pools that ask for what nobody sells."""

from __future__ import annotations

from collections.abc import Iterator

from karpy.cloud.instancetype import Catalog
from karpy.objects.nodepool import NodePool
from karpy.scheduling.templates import Template
from karpy.state.snapshot import Snapshot

__all__ = ["barren_pools"]


def barren_pools(snapshot: Snapshot, catalog: Catalog, *, strict_min_values: bool) -> Iterator[tuple[NodePool, bool]]:
    """The pools of which no type satisfies the requirements, though their cloud has a catalog; and whether it is for ``minValues``.

    What is sold out for now counts as well.
    """
    for pool in snapshot.pools:
        if not pool.may_grow or not catalog.types.get(pool.name):
            continue
        base = Template(pool, catalog, ()).base
        if not base.mask:
            yield pool, False
        elif strict_min_values and base.too_uniform(base.mask):
            yield pool, True
