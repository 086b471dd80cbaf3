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
from karpy.errors import InvalidObject
from karpy.kube.client import RawObject
from karpy.labels import CORE_LABELS
from karpy.objects.manifest import Manifests, check_objects
from karpy.scenarios.recorded_catalog import RecordedCatalog
from karpy.scenarios.situation import Policies, Situation, nominated, snapshot_of

__all__ = ["GROUP", "Recorded", "is_recorded", "parse_recorded", "read_recorded"]

T = TypeVar("T")

GROUP = "cloud.test"
"""The group of the node classes that a scenario's own cloud serves."""

_FORM = "a JSON object with objects and catalog"
_POLICIES: Mapping[str, Mapping[str, bool]] = {
    "preferencePolicy": {"Respect": True, "Ignore": False},
    "minValuesPolicy": {"Strict": True, "BestEffort": False},
}


@attrs.frozen(kw_only=True, eq=False)
class Recorded:
    """A scenario as it was read. ``source`` names the file and the line; ``now`` is None where none is recorded."""

    source: str
    name: str
    catalog: str
    objects: Manifests
    now: float | None = None
    policies: Policies = Policies()
    nominated: frozenset[str] = frozenset()
    """Nodes that pods were planned onto a moment ago, and that therefore stay."""

    def situation(self, catalog: RecordedCatalog, more: Sequence[RawObject] = (), *, now: float = 0.0) -> Situation:
        """What to decide about: the scenario's cluster, with ``more`` objects in it. ``now`` is taken where none is recorded.

        Raises:
            InvalidObject: objects cannot be read; each is named with its place, one a line.
        """
        snapshot = snapshot_of(self.objects, more=more)
        ours = tuple(pool for pool in snapshot.pools if pool.node_class.group == GROUP)
        return Situation(
            name=self.name,
            snapshot=nominated(attrs.evolve(snapshot, pools=ours), self.nominated),
            catalog=Catalog({pool.name: catalog.types for pool in ours}, CORE_LABELS | catalog.labels),
            now=now if self.now is None else self.now,
            policies=self.policies,
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
        raise InvalidObject(f"found {_shown(document)}", object_name=source, accepted=_FORM)
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
        policies=_within("settings", lambda: _read_policies(settings)),
        nominated=frozenset(str(name) for name in names),
    )


def _read_policies(settings: Mapping[str, Any]) -> Policies:
    return Policies(
        respect_preferences=_choice(settings, "preferencePolicy"),
        strict_min_values=_choice(settings, "minValuesPolicy"),
        reserved_capacity=_field(settings, "reservedCapacity", bool, "true or false", default=True),
        spot_to_spot=_field(settings, "spotToSpotConsolidation", bool, "true or false", default=False),
    )


def _choice(settings: Mapping[str, Any], name: str) -> bool:
    accepted = _POLICIES[name]
    found = settings.get(name, next(iter(accepted)))
    if not isinstance(found, str) or found not in accepted:
        raise InvalidObject(f"found {_shown(found)}", path=name, accepted=" or ".join(accepted))
    return accepted[found]


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
        raise InvalidObject(f"found {_shown(found)}", path=name, accepted=accepted)
    return found


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "an object"
    return repr(value)
