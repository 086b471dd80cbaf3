"""Recorded scenarios: one JSON object that holds a cluster, the time, the settings to decide by, and a catalog's name.

Such files carry test cases from one program to another. Their cloud is that of the catalog: NodePools whose node class is of
another group than `GROUP` belong to somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs
import msgspec

from karpy.clock import parse_time
from karpy.cloud.instancetype import Catalog
from karpy.cloud.overlays import Overlays
from karpy.errors import InvalidObject, shown, standing
from karpy.kube.client import RawObject
from karpy.labels import CORE_LABELS
from karpy.objects.manifest import Manifests, check_objects
from karpy.scenarios.recorded_catalog import RecordedCatalog
from karpy.scenarios.situation import Situation, gate_notes, nominated, state_of
from karpy.settings import Settings
from karpy.state.catalogs import gated

__all__ = ["GROUP", "Recorded", "is_recorded", "parse_recorded", "read_recorded"]

T = TypeVar("T")

GROUP = "cloud.test"
"""The group of the node classes that a scenario's own cloud serves."""

_FORM = "a JSON object with objects and catalog"
_SETTINGS: Mapping[str, tuple[str, Mapping[bool | str, bool]]] = {
    "preferencePolicy": ("respect_preferences", {"Respect": True, "Ignore": False}),
    "minValuesPolicy": ("strict_min_values", {"Strict": True, "BestEffort": False}),
    "reservedCapacity": ("reserved_capacity", {True: True, False: False}),
    "spotToSpotConsolidation": ("spot_to_spot_consolidation", {True: True, False: False}),
}
"""The settings of a scenario: which of `Settings` each stands for, and what its values mean."""


@attrs.frozen(kw_only=True, eq=False)
class Recorded:
    """A scenario as it was read. ``source`` names the file and the line; ``now`` is None where none is recorded."""

    source: str
    name: str
    catalog: str
    objects: Manifests
    now: float | None = None
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    """The settings that it was recorded with, by their names in `Settings`; where it names none, those of the reader count."""
    nominated: frozenset[str] = frozenset()
    """Nodes that pods were planned onto a moment ago, and that therefore stay."""

    def situation(
        self,
        catalog: RecordedCatalog,
        more: Sequence[RawObject] = (),
        *,
        now: float = 0.0,
        settings: Settings | None = None,
    ) -> Situation:
        """What to decide about: the scenario's cluster, with ``more`` objects in it. ``now`` and ``settings`` are taken where none
        are recorded.

        Raises:
            InvalidObject: objects cannot be read; each is named with its place, one a line.
        """
        settings = attrs.evolve(settings or Settings(), **self.settings)
        state = state_of(self.objects, more=more)
        whole = state.snapshot()
        snapshot = gated(whole, settings)
        ours = tuple(pool for pool in snapshot.pools if pool.node_class.group == GROUP)
        evaluated = Overlays().evaluate(snapshot.overlays, ours, {pool.name: catalog.types for pool in ours})
        return Situation(
            name=self.name,
            snapshot=nominated(attrs.evolve(snapshot, pools=ours), self.nominated),
            catalog=Catalog(evaluated.types, CORE_LABELS | catalog.labels),
            now=now if self.now is None else self.now,
            settings=settings,
            notes=tuple(gate_notes(whole, settings, evaluated.verdicts)),
            pods=state.pods(),
        )


def is_recorded(document: Any) -> bool:
    """Whether a JSON document is a scenario and not a Kubernetes object."""
    return isinstance(document, Mapping) and "kind" not in document and "objects" in document


def parse_recorded(text: str | bytes, source: str) -> Recorded:
    """The scenario that ``text`` is.

    Raises:
        InvalidObject: it is no JSON, or no scenario.
    """
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidObject(f"is not JSON: {error}", object_name=source, accepted=_FORM) from None
    return read_recorded(document, source)


def read_recorded(document: Any, source: str) -> Recorded:
    """The scenario that a JSON document is; what karpy does not use (such as the expected answer) is skipped.

    Raises:
        InvalidObject: naming the source, the field path, what was found and what is accepted; each problem of objects on a
            line of its own.
    """
    if not isinstance(document, Mapping):
        raise InvalidObject(f"found {standing(document)}", object_name=source, accepted=_FORM)
    try:
        found = _read(document, source)
    except InvalidObject as error:
        raise error.at(object_name=source) from None
    if found.objects.problems:
        raise InvalidObject("\n".join(str(problem) for problem in found.objects.problems))
    return found


def _read(document: Mapping[str, Any], source: str) -> Recorded:
    objects = _field(document, "objects", list, "a list of Kubernetes objects")
    settings = _field(document, "settings", dict, "an object", default={})
    names = _field(document, "nominated", list, "a list of node names", default=[])
    return Recorded(
        source=source,
        name=_field(document, "name", str, "text", default=source),
        catalog=_field(document, "catalog", str, "the name of a catalog"),
        objects=check_objects(objects, f"{source}: objects"),
        now=_time(document),
        settings=_within("settings", lambda: _read_settings(settings)),
        nominated=frozenset(str(name) for name in names),
    )


def _read_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    found = {}
    for name, (field, values) in _SETTINGS.items():
        if name not in settings:
            continue
        value = settings[name]
        if not isinstance(value, bool | str) or value not in values:
            accepted = " or ".join("true" if each is True else "false" if each is False else each for each in values)
            raise InvalidObject(f"found {shown(value)}", path=name, accepted=accepted)
        found[field] = values[value]
    return found


def _time(document: Mapping[str, Any]) -> float | None:
    text = _field(document, "now", str, "a time", default="")
    return _within("now", lambda: parse_time(text)) if text else None


def _within(path: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except InvalidObject as error:
        raise error.at(path=path) from None


def _field(document: Mapping[str, Any], name: str, type_: type[T], accepted: str, default: T | None = None) -> T:
    """A field of the right JSON type. Without a default it must be there."""
    found = document.get(name, default)
    if not isinstance(found, type_):
        raise InvalidObject(f"found {standing(found)}", path=name, accepted=accepted)
    return found
