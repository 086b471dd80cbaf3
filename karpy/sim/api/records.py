"""Records: versions of objects with their wire forms, and the log of their changes, which watches read."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import msgspec

from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.api import status

__all__ = ["Change", "ChangeLog", "Key", "Record", "key_of"]

Object = dict[str, Any]


Key = tuple[str, str]


"""Namespace (empty for cluster-scoped objects) and name."""


_encode = msgspec.json.Encoder().encode


class Record:
    """One version of one object, with its wire forms made at most once each."""

    __slots__ = ("_forms", "_views", "object", "revision")

    def __init__(self, obj: Object, revision: int) -> None:
        self.object = obj
        self.revision = revision
        self._forms: dict[Any, bytes] | None = None
        self._views: dict[Any, Object] | None = None

    def view(self, version: Any, make: Callable[[Object], Object]) -> Object:
        """The object as ``version`` shows it, made by ``make`` when it is asked for the first time."""
        if self._views is None:
            self._views = {}
        view = self._views.get(version)
        if view is None:
            view = self._views[version] = make(self.object)
        return view

    def encoded(self) -> bytes:
        """The object as JSON, in the version it is stored in."""
        return self.form("", _encode_object)

    def form(self, name: Any, make: Callable[[Record], bytes]) -> bytes:
        """The wire form called ``name``, made by ``make`` when it is asked for the first time."""
        if self._forms is None:
            self._forms = {}
        form = self._forms.get(name)
        if form is None:
            form = self._forms[name] = make(self)
        return form


def _encode_object(record: Record) -> bytes:
    return _encode(record.object)


class Change:
    """A line of the log: what happened, the record after it (for ``DELETED`` the last one) and the one before."""

    __slots__ = ("_event", "_forms", "previous", "record", "revision", "type")

    def __init__(self, type_: EventType, record: Record, previous: Record | None) -> None:
        self.type = type_
        self.record = record
        self.previous = previous
        self.revision = record.revision
        self._event: WatchEvent | None = None

    @property
    def namespace(self) -> str:
        namespace: str = self.record.object["metadata"].get("namespace", "")
        return namespace

    def event(self, kind: Kind) -> WatchEvent:
        """The change as watchers of ``kind`` see it; shared between them."""
        event = self._event
        if event is None or (event.kind is not kind and event.kind != kind):
            event = self._event = WatchEvent(self.type, kind, self.record.object)
        return event


class ChangeLog:
    """The last changes of one resource, in order. Positions grow for ever; old lines are dropped from the front."""

    def __init__(self, capacity: int, oldest_revision: int = 0) -> None:
        self._capacity = capacity
        self._changes: list[Change] = []
        self._revisions: list[int] = []
        self._dropped = 0
        self.end = 0
        """The position after the last line."""
        self.oldest_revision = oldest_revision
        """Watches may start from this revision or a later one."""
        self.is_closed = False
        """Whether nothing will follow, as the resource is not served any more."""

    def append(self, change: Change) -> None:
        self.end += 1
        self._changes.append(change)
        self._revisions.append(change.revision)
        if len(self._changes) >= 2 * self._capacity:
            surplus = len(self._changes) - self._capacity
            self.oldest_revision = self._revisions[surplus - 1]
            del self._changes[:surplus]
            del self._revisions[:surplus]
            self._dropped += surplus

    def undone(self, revision: int) -> dict[Key, Record | None]:
        """What the objects that changed after ``revision`` were at that time; None: they did not exist.

        Raises:
            KubeError: 410, the log does not reach back that far.
        """
        before: dict[Key, Record | None] = {}
        for change in reversed(self.since(self.position(revision))):
            meta = change.record.object["metadata"]
            before[meta.get("namespace", ""), meta["name"]] = change.previous
        return before

    def position(self, revision: int) -> int:
        """The position of the first line after ``revision``.

        Raises:
            KubeError: 410, the log does not reach back that far.
        """
        if revision < self.oldest_revision:
            raise status.gone(f"too old resource version: {revision} ({self.oldest_revision})")
        return self._dropped + bisect.bisect_right(self._revisions, revision)

    def since(self, position: int) -> list[Change]:
        """The lines from ``position`` on.

        Raises:
            KubeError: 410, some of them were dropped already.
        """
        if position < self._dropped:
            raise status.gone("too old resource version: events were dropped before they were read")
        return self._changes[position - self._dropped :] if position - self._dropped < len(self._changes) else []


def key_of(record: Record) -> Key:
    """Namespace and name of a record's object."""
    meta = record.object["metadata"]
    return meta.get("namespace", ""), meta["name"]
