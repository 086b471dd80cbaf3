"""Do two pictures of a cluster say the same? Then what was found from one holds for the other, and nobody need find it again.

Pictures share what did not change between them, so most of it is compared by being the very same object. Nodes, claims and pods are
looked at more closely: they are written to all the time without saying anything new.
"""

from __future__ import annotations

from typing import Any

import attrs
import msgspec

from karpy.cloud.instancetype import Catalog
from karpy.state.nodeview import NodeView
from karpy.state.snapshot import Snapshot, Storage

__all__ = ["say_the_same", "sell_the_same"]

_COMPARED = tuple(field.name for field in attrs.fields(Snapshot) if field.name not in ("version", "now", "nodes"))


def sell_the_same(one: Catalog, other: Catalog) -> bool:
    """Whether the same can be bought, at the same prices."""
    return (
        one.types.keys() == other.types.keys()
        and all(types is other.types[pool] for pool, types in one.types.items())
        and one.labels == other.labels
        and one.unsupported_volumes == other.unsupported_volumes
    )


def say_the_same(one: Snapshot, other: Snapshot) -> bool:
    """Whether nothing in the cluster is different but versions of objects, nominations, and the time."""
    if not all(_is_same(getattr(one, name), getattr(other, name)) for name in _COMPARED):
        return False
    if one.nodes is other.nodes:
        return True
    pairs = zip(one.nodes, other.nodes, strict=False)
    return len(one.nodes) == len(other.nodes) and all(was is now or _is_alike(was, now) for was, now in pairs)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Storage):
        return all(_is_same(getattr(one, field.name), getattr(other, field.name)) for field in attrs.fields(Storage))
    return bool(one == other)


def _is_alike(one: NodeView, other: NodeView) -> bool:
    if one.marked_for_deletion != other.marked_for_deletion or len(one.pods) != len(other.pods):
        return False
    pairs = ((one.node, other.node), (one.claim, other.claim), *zip(one.pods, other.pods, strict=True))
    return all(was is now or _is_alike_object(was, now) for was, now in pairs)


def _is_alike_object(one: Any, other: Any) -> bool:
    """The same but for its version."""
    if one is None or other is None:
        return False
    metadata = msgspec.structs.replace(other.metadata, resource_version=one.metadata.resource_version)
    evolve = attrs.evolve if attrs.has(type(other)) else msgspec.structs.replace
    return bool(evolve(other, metadata=metadata) == one)
