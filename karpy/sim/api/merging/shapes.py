"""How the value at a place divides into fields: as the built-in kinds have it, or as a schema says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from karpy.sim.api.merging import listtypes

__all__ = ["BuiltinShape", "SchemaShape", "Shape"]


class Shape(Protocol):
    """How the value at one place of an object divides into fields."""

    def member(self, name: str) -> Shape: ...

    def element(self) -> Shape: ...

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The keys that name an element, for a list of objects that merges."""
        ...

    @property
    def is_set(self) -> bool: ...

    @property
    def is_atomic(self) -> bool:
        """An object that has one owner as a whole."""
        ...


class BuiltinShape:
    """Shapes of built-in kinds and of metadata, from the tables of `listtypes`."""

    __slots__ = ("_path",)

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        self._path = path

    def member(self, name: str) -> Shape:
        return BuiltinShape((*self._path, name))

    def element(self) -> Shape:
        return self

    @property
    def keys(self) -> tuple[str, ...] | None:
        return listtypes.apply_keys(self._path)

    @property
    def is_set(self) -> bool:
        return listtypes.is_set(self._path)

    @property
    def is_atomic(self) -> bool:
        return listtypes.is_atomic(self._path)


class SchemaShape:
    """Shapes of a custom resource, from its structural schema."""

    __slots__ = ("_schema", "_top")

    def __init__(self, schema: Mapping[str, Any], *, top: bool = False) -> None:
        self._schema = schema
        self._top = top

    def member(self, name: str) -> Shape:
        if self._top and name == "metadata":
            return BuiltinShape(("metadata",))
        known = (self._schema.get("properties") or {}).get(name)
        additional = self._schema.get("additionalProperties")
        return SchemaShape(known if known is not None else additional if isinstance(additional, Mapping) else {})

    def element(self) -> Shape:
        items = self._schema.get("items")
        return SchemaShape(items if isinstance(items, Mapping) else {})

    @property
    def keys(self) -> tuple[str, ...] | None:
        if self._schema.get("x-kubernetes-list-type") != "map":
            return None
        return tuple(self._schema.get("x-kubernetes-list-map-keys") or ())

    @property
    def is_set(self) -> bool:
        return self._schema.get("x-kubernetes-list-type") == "set"

    @property
    def is_atomic(self) -> bool:
        return self._schema.get("x-kubernetes-map-type") == "atomic"
