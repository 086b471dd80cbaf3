"""CapacityBuffers and what they may refer to, kept current event by event.

Workloads and templates are kept as they came, and read only when a buffer refers to them: a cluster has thousands of them, and
one that cannot be read is nobody's business but that buffer's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.capacitybuffer import SCALABLE_KINDS, CapacityBuffer
from karpy.objects.kinds import Kind
from karpy.state.buffers import BufferView, RawObject, view_of

__all__ = ["BufferBook"]


@attrs.frozen(eq=False)
class _Entry:
    """A buffer as it was last looked at, and the object that it referred to then."""

    buffer: CapacityBuffer | InvalidObject
    raw: RawObject
    target: RawObject | None
    view: BufferView | None


class BufferBook:
    """Not safe for threads: `ClusterState` holds its lock meanwhile."""

    #: Kinds that `take` understands.
    KINDS = (kinds.CAPACITY_BUFFER, kinds.POD_TEMPLATE, *SCALABLE_KINDS.values())

    def __init__(self) -> None:
        self._buffers: dict[str, RawObject] = {}
        self._targets: dict[tuple[Kind, str], RawObject] = {}
        self._entries: dict[str, _Entry] = {}
        self._views: tuple[BufferView, ...] | None = ()

    def take(self, kind: Kind, key: str, raw: Mapping[str, Any] | None) -> None:
        """The object is now like this, or gone. O(1)."""
        if kind != kinds.CAPACITY_BUFFER:
            _put(self._targets, (kind, key), raw)
        else:
            _put(self._buffers, key, raw)
            if raw is None:
                self._entries.pop(key, None)
        if self._buffers or kind == kinds.CAPACITY_BUFFER:
            self._views = None

    def views(self) -> tuple[BufferView, ...]:
        """The buffers that are ours to serve, by name. Views of what did not change are the same objects again."""
        if self._views is None:
            entries = (self._entry(key) for key in sorted(self._buffers))
            self._views = tuple(entry.view for entry in entries if entry.view is not None)
        return self._views

    def _entry(self, key: str) -> _Entry:
        raw, known = self._buffers[key], self._entries.get(key)
        is_same = known is not None and known.raw is raw
        buffer = known.buffer if known is not None and is_same else _read(raw)
        named = buffer.target if isinstance(buffer, CapacityBuffer) else None
        target = self._targets.get(named) if named is not None else None
        if known is None or not is_same or known.target is not target:
            known = self._entries[key] = _Entry(buffer, raw, target, view_of(raw, buffer, target))
        return known


def _read(raw: RawObject) -> CapacityBuffer | InvalidObject:
    try:
        return CapacityBuffer.from_dict(raw)
    except InvalidObject as error:
        return error


def _put(store: dict[Any, RawObject], key: Any, raw: RawObject | None) -> None:
    if raw is None:
        store.pop(key, None)
    else:
        store[key] = raw
