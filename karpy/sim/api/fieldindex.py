"""Objects by the value of one field, for the lists that are asked for all the time: the pods of a node, above all."""

from __future__ import annotations

from collections.abc import Mapping

from karpy.sim.api.records import Key, Record

__all__ = ["INDEXED", "FieldIndex"]

INDEXED: Mapping[tuple[str, str], tuple[str, str]] = {("", "pods"): ("spec", "nodeName")}
"""The field by which a resource (group, plural) is indexed, as a real API server does it."""


class FieldIndex:
    """Records by the text at ``path``; those that have none there are not in it."""

    def __init__(self, path: tuple[str, str]) -> None:
        self._path = path
        self._selector = f"{path[0]}.{path[1]}="
        self._records: dict[str, dict[Key, Record]] = {}
        self._values: dict[Key, str] = {}

    def value_in(self, selector: str) -> str:
        """The value that a field selector asks for, if it asks for this field alone; else it is empty."""
        value = selector.removeprefix(self._selector)
        return "" if value == selector or "," in value or value.startswith("=") else value.strip()

    def put(self, key: Key, record: Record) -> None:
        part = record.object.get(self._path[0])
        value = part.get(self._path[1]) if part else None
        known = self._values.get(key)
        if known is not None and known != value:
            self.remove(key)
        if value:
            self._values[key] = value
            self._records.setdefault(value, {})[key] = record

    def remove(self, key: Key) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            records = self._records[value]
            del records[key]
            if not records:
                del self._records[value]

    def records(self, value: str, namespace: str = "") -> list[Record]:
        """The records with this value, of one namespace or of all, ordered by namespace and name."""
        found = self._records.get(value, {})
        return [found[key] for key in sorted(found) if not namespace or key[0] == namespace]
