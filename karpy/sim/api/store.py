"""The memory of the API server: records by key, one revision counter, and a log of changes that watches read.

A stored object is never changed: every write makes a new record. A watch is a cursor into the log of its resource, so an
idle watch costs nothing and a write costs the same with one watch as with a thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from karpy.objects.watchevent import EventType
from karpy.sim.api.fieldindex import INDEXED, FieldIndex
from karpy.sim.api.records import Change, ChangeLog, Record, key_of
from karpy.sim.api.resources import Resource

__all__ = ["Collection", "Store"]

Object = dict[str, Any]


class Collection:
    """All objects of one resource, by namespace and name."""

    def __init__(self, resource: Resource, log: ChangeLog) -> None:
        self.resource = resource
        self.log = log
        self._by_namespace: dict[str, dict[str, Record]] = {}
        self._ordered: dict[str, tuple[Record, ...]] = {}
        path = INDEXED.get(resource.key)
        self.index = None if path is None else FieldIndex(path)

    def get(self, namespace: str, name: str) -> Record | None:
        names = self._by_namespace.get(namespace)
        return names.get(name) if names is not None else None

    def records(self, namespace: str = "") -> tuple[Record, ...]:
        """The records of one namespace, or of all when it is empty, ordered by namespace and name."""
        ordered = self._ordered.get(namespace)
        if ordered is None:
            ordered = tuple(self._in_order(namespace))
            if ordered:  # whoever asks for namespaces that are not there costs nothing
                self._ordered[namespace] = ordered
        return ordered

    def narrowed(self, field_selector: str, namespace: str = "") -> Sequence[Record]:
        """`records`, without some of those that the selector does not choose: where an index has the others at hand."""
        value = "" if self.index is None else self.index.value_in(field_selector)
        return self.index.records(value, namespace) if self.index is not None and value else self.records(namespace)

    def _in_order(self, namespace: str) -> Iterable[Record]:
        spaces = [namespace] if namespace else sorted(self._by_namespace)
        for space in spaces:
            names = self._by_namespace.get(space, {})
            for name in sorted(names):
                yield names[name]

    def records_at(self, revision: int, namespace: str = "") -> list[Record]:
        """The records as they were at ``revision``, ordered like `records`.

        Raises:
            KubeError: 410, that is too long ago.
        """
        before = self.log.undone(revision)
        if not before:
            return list(self.records(namespace))
        kept = {key_of(record): record for record in self.records(namespace)}
        for key, record in before.items():
            if record is None:
                kept.pop(key, None)
            elif not namespace or key[0] == namespace:
                kept[key] = record
        return [kept[key] for key in sorted(kept)]

    def __len__(self) -> int:
        return sum(map(len, self._by_namespace.values()))

    def has_any(self, namespace: str) -> bool:
        """Whether there is any object in this namespace."""
        return namespace in self._by_namespace

    def put(self, namespace: str, name: str, record: Record) -> None:
        names = self._by_namespace.get(namespace)
        if names is None:
            names = self._by_namespace[namespace] = {}
        names[name] = record
        if self.index is not None:
            self.index.put((namespace, name), record)
        self._forget_order(namespace)

    def remove(self, namespace: str, name: str) -> None:
        names = self._by_namespace[namespace]
        del names[name]
        if not names:
            del self._by_namespace[namespace]
        if self.index is not None:
            self.index.remove((namespace, name))
        self._forget_order(namespace)

    def _forget_order(self, namespace: str) -> None:
        if self._ordered:
            self._ordered.pop(namespace, None)
            self._ordered.pop("", None)


class Store:
    """Every collection, the revision counter and the index of owners."""

    def __init__(self, *, log_capacity: int = 16_384) -> None:
        self._log_capacity = log_capacity
        self._collections: dict[tuple[str, str], Collection] = {}
        self._dependents: dict[str, dict[tuple[Collection, str, str], None]] = {}
        self._owners: dict[str, tuple[Collection, str, str]] = {}
        self.revision = 1
        self.changes = 0
        """How many changes watches can tell of by now."""
        self.changed: dict[tuple[str, str], int] = {}
        """Which of them was the last of a resource."""
        self._dropped_at = 0
        """Nobody knows what an earlier resource of the same name held up to then."""
        self._listeners: list[Callable[[], None]] = []
        self._reactions: list[Callable[[Collection, Change], None]] = []

    def collection(self, resource: Resource) -> Collection:
        """The collection of ``resource``; a newer definition of the same resource takes the older one's place."""
        collection = self._collections.get(resource.key)
        if collection is None:
            log = ChangeLog(self._log_capacity, self._dropped_at)
            collection = self._collections[resource.key] = Collection(resource, log)
        return collection

    def redefine(self, resource: Resource) -> None:
        self.collection(resource).resource = resource

    def drop(self, resource: Resource) -> None:
        """Forget a resource: who watches it is told all that happened to it, and that this was all."""
        dropped = self._collections.pop(resource.key, None)
        if dropped is not None:
            dropped.log.is_closed = True
            self._dropped_at = self.revision
            self._note_change(resource.key)
            self._call_listeners()

    def existing(self, key: tuple[str, str]) -> Collection | None:
        """The collection of the resource ``key`` (group, plural), if anything was ever stored in it."""
        return self._collections.get(key)

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    def on_write(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after every write; the answer takes it off again."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def react(self, reaction: Callable[[Collection, Change], None]) -> None:
        """Have ``reaction`` follow every write with writes of its own, as a controller of the cluster would a moment later."""
        self._reactions.append(reaction)

    def find_uid(self, uid: str) -> tuple[Collection, Record] | None:
        """The object that carries ``uid``, if it still exists."""
        place = self._owners.get(uid)
        if place is None:
            return None
        record = place[0].get(place[1], place[2])
        return (place[0], record) if record is not None else None

    def dependents(self, uid: str) -> list[tuple[Collection, Record]]:
        """The objects whose ownerReferences name ``uid``, oldest reference first."""
        found = []
        for collection, namespace, name in self._dependents.get(uid, ()):
            record = collection.get(namespace, name)
            if record is not None:
                found.append((collection, record))
        return found

    def put(self, collection: Collection, obj: Object, previous: Record | None) -> Record:
        """Store ``obj``, whose ``metadata`` must be a fresh dict: the new resourceVersion is written into it."""
        record = self._next(obj)
        meta = obj["metadata"]
        namespace, name = meta.get("namespace", ""), meta["name"]
        collection.put(namespace, name, record)
        old_owners = previous.object["metadata"].get("ownerReferences") if previous else None
        owners = meta.get("ownerReferences")
        if owners is not old_owners:
            self._index_owners(collection, namespace, name, old_owners, owners)
        if previous is None:
            self._owners[meta["uid"]] = (collection, namespace, name)
        kind = EventType.ADDED if previous is None else EventType.MODIFIED
        self._announce(collection, Change(kind, record, previous))
        return record

    def remove(self, collection: Collection, obj: Object, previous: Record) -> Record:
        """Take an object out; ``obj`` is its last state, with a fresh ``metadata`` dict."""
        record = self._next(obj)
        meta = obj["metadata"]
        namespace, name = meta.get("namespace", ""), meta["name"]
        collection.remove(namespace, name)
        owners = previous.object["metadata"].get("ownerReferences")
        if owners:
            self._index_owners(collection, namespace, name, owners, None)
        self._owners.pop(meta["uid"], None)
        self._announce(collection, Change(EventType.DELETED, record, previous))
        return record

    def _next(self, obj: Object) -> Record:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return Record(obj, self.revision)

    def _index_owners(
        self, collection: Collection, namespace: str, name: str, old: list[Object] | None, new: list[Object] | None
    ) -> None:
        place = (collection, namespace, name)
        for reference in old or ():
            places = self._dependents.get(reference.get("uid", ""))
            if places is not None:
                places.pop(place, None)
                if not places:
                    del self._dependents[reference.get("uid", "")]
        for reference in new or ():
            self._dependents.setdefault(reference.get("uid", ""), {})[place] = None

    def _announce(self, collection: Collection, change: Change) -> None:
        collection.log.append(change)
        self._note_change(collection.resource.key)
        for reaction in self._reactions:
            reaction(collection, change)
        self._call_listeners()

    def _note_change(self, key: tuple[str, str]) -> None:
        """Whoever sees the new number, in whatever thread, finds whose it is, and the line in the log."""
        at = self.changed[key] = self.changes + 1
        self.changes = at

    def _call_listeners(self) -> None:
        for listener in self._listeners:
            listener()
