"""What the API server serves: resources with their versions, names, subresources and columns, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["ALL_VERBS", "Column", "Resource", "ResourceVersion", "ScalePaths"]

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@attrs.frozen
class Column:
    """A printer column of a custom resource; ``json_path`` as in the CRD, ``priority`` 0 is always shown."""

    name: str
    type: str
    json_path: str
    priority: int = 0
    description: str = ""
    format: str = ""


@attrs.frozen
class ScalePaths:
    """Where the scale subresource finds its numbers; dotted paths as in a CRD."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ""


@attrs.frozen(eq=False)
class ResourceVersion:
    """One served version of a resource. ``schema`` is the structural schema of a CRD, None for built-in kinds."""

    name: str
    schema: Mapping[str, Any] | None = None
    columns: tuple[Column, ...] = ()
    status: bool = False
    scale: ScalePaths | None = None
    served: bool = True
    warning: str = ""
    selectable: tuple[str, ...] = ()
    """Paths, without the dot before them, that field selectors may name beside those of metadata."""


@attrs.frozen(eq=False, kw_only=True)
class Resource:
    """One resource of the API, all versions of it. ``storage`` is the version that objects are kept in.

    ``counts_generations``: writes that change more than metadata and status raise ``metadata.generation``. ``defined_at``: the
    revision of the definition of a custom resource; objects that were written before may not be as it asks.
    """

    group: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    storage: str
    versions: tuple[ResourceVersion, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    counts_generations: bool = False
    custom: bool = False
    defined_at: int = 0
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    qualified: str = attrs.field(init=False)
    key: tuple[str, str] = attrs.field(init=False)

    @qualified.default
    def _qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @key.default
    def _key(self) -> tuple[str, str]:
        return (self.group, self.plural)

    @property
    def stored(self) -> ResourceVersion:
        """The version that objects are kept in."""
        return next(version for version in self.versions if version.name == self.storage)

    def version(self, name: str) -> ResourceVersion | None:
        """The served version of that name."""
        for version in self.versions:
            if version.name == name and version.served:
                return version
        return None

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version
