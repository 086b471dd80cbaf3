"""Objects on the wire: single ones, lists, tables and metadata alone, encoded from records with as little work as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import msgspec

from karpy.objects.watchevent import EventType
from karpy.sim.api.conversion import as_version
from karpy.sim.api.printing.tables import partial_metadata, table, table_columns, table_row
from karpy.sim.api.records import Change, Record
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.wire.newevents import API_VERSION, as_new
from karpy.sim.api.wire.requests import Accept

__all__ = ["View", "as_seen", "encode"]

Object = dict[str, Any]

encode = msgspec.json.Encoder().encode


@attrs.frozen
class View:
    """How one client wants to see one resource."""

    resource: Resource
    version: ResourceVersion
    accept: Accept
    include: str = "Metadata"
    new_events: bool = attrs.field(default=False, kw_only=True)

    @property
    def _api_version(self) -> str:
        return API_VERSION if self.new_events else self.resource.api_version(self.version.name)

    @property
    def is_table(self) -> bool:
        return self.accept.kind == "Table"

    @property
    def is_partial(self) -> bool:
        return self.accept.kind.startswith("PartialObjectMetadata")

    def object(self, record: Record) -> Object:
        if self.new_events:
            return record.view(API_VERSION, as_new)
        return as_version(record, self.resource, self.version)

    def encoded(self, record: Record) -> bytes:
        """The object of a record as it stands, in this view's version."""
        if self.new_events:
            return record.form(API_VERSION, lambda each: encode(self.object(each)))
        if self.version.name == self.resource.storage and record.revision > self.resource.defined_at:
            return record.encoded()
        return record.form(self.version, lambda each: encode(self.object(each)))

    def single(self, record: Record, now: float) -> bytes:
        """The answer that shows one object."""
        if self.is_table:
            return self._table([record], now, {"resourceVersion": record.object["metadata"]["resourceVersion"]})
        if self.is_partial:
            return encode(partial_metadata(record.object))
        return self.encoded(record)

    def _table(self, records: Iterable[Record], now: float, metadata: Mapping[str, Any]) -> bytes:
        rows = [
            table_row(as_version(each, self.resource, self.version), self.resource, self.version, now, self.include)
            for each in records
        ]
        return encode(table(table_columns(self.resource, self.version), rows, metadata))

    def collection(self, records: Iterable[Record], now: float, metadata: Mapping[str, Any]) -> bytes:
        """The answer that shows a list of objects."""
        if self.is_table:
            return self._table(records, now, metadata)
        if self.is_partial:
            head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
            return encode({**head, "items": [partial_metadata(each.object) for each in records]})
        api_version = self._api_version
        if self.resource.custom:
            head = {
                "apiVersion": api_version,
                "kind": self.resource.list_kind,
                "metadata": {"continue": "", **metadata},
            }
            items = b",".join(self.encoded(each) for each in records)
        else:
            head = {"kind": self.resource.list_kind, "apiVersion": api_version, "metadata": metadata}
            # items of a list of a built-in kind do not repeat kind and apiVersion, which every encoded object starts with
            skip = len(encode({"kind": self.resource.kind, "apiVersion": api_version}))
            items = b",".join(b"{" + self.encoded(each)[skip:] for each in records)
        return encode(head)[:-1] + b',"items":[' + items + b"]}"

    def event(self, type_: EventType, record: Record, now: float, *, first: bool = False) -> bytes:
        """One line of a watch. Events that show plain objects are encoded once and shared by all watchers."""
        if self.is_table:
            row = table_row(
                as_version(record, self.resource, self.version), self.resource, self.version, now, self.include
            )
            columns = table_columns(self.resource, self.version) if first else None
            meta = {"resourceVersion": record.object["metadata"]["resourceVersion"]}
            shown = encode(table(columns, [row], meta))
        elif self.is_partial:
            shown = encode(partial_metadata(record.object))
        else:
            name = (type_, self.version, self.new_events)
            return record.form(name, lambda each: _line(type_.value, self.encoded(each)))
        return _line(type_.value, shown)

    def bookmark(self, resource_version: str, *, initial_end: bool = False) -> bytes:
        """A line that carries a resource version and nothing else."""
        meta: Object = {"resourceVersion": resource_version, "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj: Object = {"kind": self.resource.kind, "apiVersion": self._api_version, "metadata": meta}
        if self.is_table:
            obj = {
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "columnDefinitions": None,
                "rows": [],
            }
        elif self.is_partial:
            obj = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
        return _line("BOOKMARK", encode(obj))


def _line(type_: str, shown: bytes) -> bytes:
    return b'{"type":"' + type_.encode() + b'","object":' + shown + b"}\n"


def as_seen(change: Change, chosen: Any) -> tuple[EventType, Record] | None:
    """What a watcher that selects objects by ``chosen`` sees of a change: objects enter and leave its selection."""
    if chosen is None:
        return change.type, change.record
    now = chosen(change.record.object)
    before = change.previous is not None and chosen(change.previous.object)
    if change.type is EventType.DELETED:
        return (EventType.DELETED, change.record) if before or now else None
    if now:
        return (EventType.MODIFIED if before else EventType.ADDED), change.record
    if before and change.previous is not None:
        return EventType.DELETED, _departed(change)
    return None


def _departed(change: Change) -> Record:
    """The last state that was selected, under the version of the change that ended the selection."""
    previous = change.previous.object if change.previous is not None else change.record.object
    meta = {**previous["metadata"], "resourceVersion": change.record.object["metadata"]["resourceVersion"]}
    return Record({**previous, "metadata": meta}, change.revision)
