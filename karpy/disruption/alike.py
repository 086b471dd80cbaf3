"""Do two pictures of a cluster say the same? Then what was found from one holds for the other, and nobody need find it again.

Pictures share what did not change between them, so most of it is compared by being the very same object. Nodes, claims and pods are
looked at more closely: they are written to all the time without saying anything new.

What only says who may be disturbed now is a difference for who may go, and so for whether there is anything to look for. It is none
for what becomes of pods if their nodes go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import attrs
import msgspec

from karpy.cloud.instancetype import Catalog
from karpy.objects.nodeclaim import CONSOLIDATABLE, NodeClaim
from karpy.objects.pod import Pod
from karpy.state.nodeview import NodeView
from karpy.state.snapshot import Snapshot, Storage

__all__ = ["place_the_same", "say_the_same", "sell_the_same"]

T = TypeVar("T")

_LOOKED_AT_CLOSELY = ("version", "now", "nodes", "budgets")
_COMPARED = tuple(field.name for field in attrs.fields(Snapshot) if field.name not in _LOOKED_AT_CLOSELY)


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
    return _is_same(one.budgets, other.budgets) and _are_alike(one, other, _as_it_is, _as_it_is)


def place_the_same(one: Snapshot, other: Snapshot) -> bool:
    """The same apart from who may be disturbed.

    Pods of nodes that are leaving want a place once they may be evicted: who does is for the caller to compare."""
    return _are_alike(one, other, _calm, _placed)


def _are_alike(
    one: Snapshot,
    other: Snapshot,
    claim: Callable[[NodeClaim], NodeClaim],
    pod: Callable[[Pod], Pod],
) -> bool:
    """As far as is seen of each claim and each pod."""
    if not all(_is_same(getattr(one, name), getattr(other, name)) for name in _COMPARED):
        return False
    if one.nodes is other.nodes:
        return True
    pairs = zip(one.nodes, other.nodes, strict=False)
    return len(one.nodes) == len(other.nodes) and all(
        was is now or _is_alike(was, now, claim, pod) for was, now in pairs
    )


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, Storage):
        return all(_is_same(getattr(one, field.name), getattr(other, field.name)) for field in attrs.fields(Storage))
    return bool(one == other)


def _is_alike(
    one: NodeView, other: NodeView, claim: Callable[[NodeClaim], NodeClaim], pod: Callable[[Pod], Pod]
) -> bool:
    if one.marked_for_deletion != other.marked_for_deletion or len(one.pods) != len(other.pods):
        return False
    return (
        _is_alike_object(one.node, other.node, _as_it_is)
        and _is_alike_object(one.claim, other.claim, claim)
        and all(_is_alike_object(was, now, pod) for was, now in zip(one.pods, other.pods, strict=True))
    )


def _as_it_is(seen: T) -> T:
    return seen


def _calm(claim: NodeClaim) -> NodeClaim:
    """Without what says since when pods have neither come nor gone. Nobody is moved to a node before it has been left alone for a
    while; those nodes are known apart from this."""
    conditions = tuple(each for each in claim.conditions if each.type != CONSOLIDATABLE)
    return attrs.evolve(claim, conditions=conditions, last_pod_event=None)


def _placed(pod: Pod) -> Pod:
    """A pod that has its node, without how it is: whether it is ready matters to budgets alone."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, conditions=()))


def _is_alike_object(one: Any, other: Any, seen: Callable[[Any], Any]) -> bool:
    """The same but for its version."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    was, now = seen(one), seen(other)
    metadata = msgspec.structs.replace(now.metadata, resource_version=was.metadata.resource_version)
    evolve = attrs.evolve if attrs.has(type(now)) else msgspec.structs.replace
    return bool(evolve(now, metadata=metadata) == was)
