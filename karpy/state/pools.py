"""Node pools as the cluster has them, and the node classes that they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from karpy.errors import InvalidObject, plain
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.objects.provisioner import provisioner_to_pool
from karpy.state.snapshot import InvalidPool
from karpy.state.stores import Store

__all__ = ["Pools"]

_READERS: Mapping[Kind, Callable[[Mapping[str, Any]], NodePool]] = {
    kinds.NODE_POOL: NodePool.from_dict,
    kinds.PROVISIONER: provisioner_to_pool,
}


class Pools:
    """Pools of all generations, those that cannot be read among them, and node classes as raw JSON."""

    def __init__(self, node_class_kinds: tuple[Kind, ...]) -> None:
        self._node_class_kinds = node_class_kinds
        self._pools: Store[tuple[Kind, str], NodePool | InvalidPool] = Store()
        self._classes: Store[NodeClassRef, Mapping[str, Any]] = Store()
        self._resolved: tuple[NodePool, ...] | None = None

    def take(self, kind: Kind, name: str, raw: Mapping[str, Any] | None) -> None:
        """This pool or node class is so now; None: it is gone. A Provisioner with an inline provider is both."""
        self._resolved = None
        if kind in _READERS:
            self._pools.put((kind, name), None if raw is None else _read(kind, name, raw))
        if kind in self._node_class_kinds:
            self._classes.put(NodeClassRef(kind.group, kind.kind, name), raw)

    def valid(self) -> tuple[NodePool, ...]:
        """The pools that can be read, in the order in which they are tried, each with its node class named in full."""
        if self._resolved is None:
            found = (self._resolve(pool) for pool in self._pools.picture().values() if isinstance(pool, NodePool))
            self._resolved = tuple(sorted(found, key=lambda pool: pool.order))
        return self._resolved

    def invalid(self) -> tuple[InvalidPool, ...]:
        return tuple(pool for pool in self._pools.picture().values() if isinstance(pool, InvalidPool))

    def node_class(self, ref: NodeClassRef) -> Mapping[str, Any] | None:
        return self._classes.get(ref)

    def node_classes(self) -> Mapping[NodeClassRef, Mapping[str, Any]]:
        return self._classes.picture()

    def _kinds_for(self, pool: NodePool) -> tuple[Kind, ...]:
        """Node class kinds in the order in which a bare name is looked up: first those of the cloud whose labels the pool asks
        for; a Provisioner means those of its own time."""
        domains = {key.partition("/")[0] for key in pool.template_requirements}
        is_old = pool.origin == kinds.PROVISIONER

        def rank(kind: Kind) -> tuple[bool, bool]:
            return kind.group not in domains, is_old and "alpha" not in kind.version

        return tuple(sorted(self._node_class_kinds, key=rank))

    def _resolve(self, pool: NodePool) -> NodePool:
        """``pool`` with group and kind of its node class filled in."""
        ref = pool.node_class
        if (ref.group and ref.kind) or not self._node_class_kinds:
            return pool
        fitting = [
            NodeClassRef(kind.group, kind.kind, ref.name)
            for kind in self._kinds_for(pool)
            if ref.group in ("", kind.group) and ref.kind in ("", kind.kind) and kind not in _READERS
        ]
        if not fitting:
            return pool
        return attrs.evolve(
            pool, node_class=next((ref for ref in fitting if self._classes.get(ref) is not None), fitting[0])
        )


def _read(kind: Kind, name: str, raw: Mapping[str, Any]) -> NodePool | InvalidPool:
    try:
        return _READERS[kind](raw)
    except InvalidObject as error:
        return InvalidPool(name, kind, raw, error.at(object_name=f"{kind.kind}/{plain(name)}"))
