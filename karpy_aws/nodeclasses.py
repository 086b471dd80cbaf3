"""`NodeClasses`: node classes as a launch needs them, read once and with all that their status has no place for.

What was found by looking them up last is remembered beside the objects: a placement group is in no status, and a Provisioner has
none at all. After a restart the object's own status is what is known.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final

import attrs

from karpy.cloud.provider import RawNodeClass
from karpy_aws.objects import NodeClass, read_node_class
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["NodeClasses"]

_MOST: Final = 256

Find = Callable[[NodeClass], NodeClassStatusFields]


@attrs.define(eq=False)
class _Read:
    """The object itself is held on to, so that its identity stays its own."""

    raw: RawNodeClass
    own: NodeClass
    """As the object says it."""
    status: NodeClassStatusFields | None = None
    node_class: NodeClass = attrs.field(default=attrs.Factory(lambda self: self.own, takes_self=True))
    """With ``status``."""


class NodeClasses:
    """``adapt`` is applied to what is read: the settings say what older generations leave open. Safe from several threads."""

    def __init__(self, find: Find, adapt: Callable[[NodeClass], NodeClass] = lambda node_class: node_class) -> None:
        self._find = find
        self._adapt = adapt
        self._lock = threading.Lock()
        self._read: dict[int, _Read] = {}
        self._found: dict[Hashable, NodeClassStatusFields] = {}

    def last_known(self, raw: RawNodeClass) -> NodeClass:
        """The node class with what was found last; where nothing was, as its own status has it.

        Raises:
            InvalidObject: it cannot be read.
        """
        entry = self._entry(raw)
        with self._lock:
            status = self._found.get(_key(entry.own))
            if status is not None and entry.status is not status:
                told = attrs.evolve(status, conditions=entry.own.status.conditions)
                entry.node_class, entry.status = attrs.evolve(entry.own, status=told), status
            return entry.node_class

    def get(self, raw: RawNodeClass) -> NodeClass:
        """The node class with what it refers to; the same value while nothing changed. Looked up where nothing was found yet.

        Raises:
            InvalidObject: it cannot be read.
            NodeClassNotReady: something that it refers to is not there.
            ProviderError: AWS did not tell.
        """
        node_class = self.last_known(raw)
        with self._lock:
            is_found = _key(node_class) in self._found
        if not is_found:
            self.found(node_class, self._find(node_class))
        return self.last_known(raw)

    def found(self, node_class: NodeClass, status: NodeClassStatusFields) -> None:
        """What a class refers to was looked up; conditions stay the object's. An equal answer leaves what was made of the last."""
        key, status = _key(node_class), attrs.evolve(status, conditions=())
        with self._lock:
            if self._found.get(key) == status:
                status = self._found[key]
            self._found.pop(key, None)
            self._found[key] = status
            _forget_oldest(self._found)

    @property
    def statuses(self) -> tuple[NodeClassStatusFields, ...]:
        """What was found last for each class."""
        with self._lock:
            return tuple(self._found.values())

    def _entry(self, raw: RawNodeClass) -> _Read:
        with self._lock:
            entry = self._read.get(id(raw))
        if entry is not None and entry.raw is raw:
            return entry
        entry = _Read(raw, self._adapt(read_node_class(raw)))
        with self._lock:
            self._read[id(raw)] = entry
            _forget_oldest(self._read)
        return entry


def _key(node_class: NodeClass) -> Hashable:
    return node_class.origin.kind, node_class.name, node_class.metadata.uid


def _forget_oldest(entries: dict[Any, Any]) -> None:
    if len(entries) > _MOST:
        del entries[next(iter(entries))]
