"""Keys of a manifest that stand in the wrong place or are misspelt: where they belong, by the schema of their kind."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

__all__ = ["Misplaced", "misplaced"]

Schema = Mapping[str, Any]

_CLOSE = 0.75
"""How alike two names must be, from 0 to 1, for the one to be taken for a slip of the other."""


@attrs.frozen
class Misplaced:
    """A key that the schema does not know where it stands. ``belongs`` is the likely right path, empty when there is none."""

    path: str
    problem: str
    belongs: str = ""

    def __str__(self) -> str:
        return f'"{self.path}" {self.problem}' + (f': it belongs at "{self.belongs}"' if self.belongs else "")


def misplaced(obj: Mapping[str, Any], schema: Schema) -> tuple[Misplaced, ...]:
    """The keys of ``obj`` that ``schema`` (structural, of the whole object) does not know, in the order they stand in.

    >>> size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    >>> [str(each) for each in misplaced({"size": 3}, {"type": "object", "properties": {"spec": size}})]
    ['"size" is misplaced: it belongs at "spec.size"']
    """
    places = tuple(_places(schema, ()))
    body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return tuple(_unknown(body, schema, (), (), places))


Place = tuple[tuple[str, ...], Schema]


def _places(schema: Schema, path: tuple[str, ...]) -> Iterator[Place]:
    """Every place that the schema knows, shallow ones first among siblings; ``[]`` marks the elements of a list."""
    properties = schema.get("properties") or {}
    for name, inner in properties.items():
        yield (*path, name), inner
    for name, inner in properties.items():
        yield from _places(inner, (*path, name))
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from _places(items, (*path, "[]"))


def _unknown(
    value: Any, schema: Schema, path: tuple[str, ...], meant: tuple[str, ...], places: Sequence[Place]
) -> Iterator[Misplaced]:
    """Complaints about ``value``, which stands at ``path`` and should stand at ``meant``."""
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for i, item in enumerate(value):
            yield from _unknown(item, schema["items"], (*path, f"[{i}]"), (*meant, f"[{i}]"), places)
    if not isinstance(value, Mapping) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for key, member in value.items():
        if key in properties:
            yield from _unknown(member, properties[key], (*path, key), (*meant, key), places)
        elif isinstance(additional, Mapping):
            yield from _unknown(member, additional, (*path, key), (*meant, key), places)
        elif additional is not True:
            yield from _complaint(key, member, (*path, key), meant, properties, places)


def _complaint(
    key: str,
    value: Any,
    path: tuple[str, ...],
    above: tuple[str, ...],
    properties: Mapping[str, Schema],
    places: Sequence[Place],
) -> Iterator[Misplaced]:
    near = _closest(key, properties)
    if near is not None:
        right = (*above, near)
        yield Misplaced(_shown(path), "is misspelt", _shown(right))
        yield from _unknown(value, properties[near], path, right, places)
        return
    place = _home(key, value, places)
    if place is None:
        yield Misplaced(_shown(path), "is not a known field")
        return
    right, schema = place
    yield Misplaced(_shown(path), "is misplaced" if right[-1] == key else "is misplaced and misspelt", _shown(right))
    yield from _unknown(value, schema, path, right, places)


def _closest(key: str, names: Mapping[str, Any]) -> str | None:
    folded = {name.lower(): name for name in names}
    if key.lower() in folded:
        return folded[key.lower()]
    close = difflib.get_close_matches(key, list(names), n=1, cutoff=_CLOSE)
    return close[0] if close else next((name for name in names if _is_one_slip(key, name)), None)


def _is_one_slip(written: str, meant: str) -> bool:
    """Whether two short words differ by a letter too many, too few or wrong, or by two that changed places."""
    if min(len(written), len(meant)) < 3 or abs(len(written) - len(meant)) > 1:
        return False
    head = next(
        (i for i, (a, b) in enumerate(zip(written, meant, strict=False)) if a != b), len(min(written, meant, key=len))
    )
    a, b = written[head:], meant[head:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _home(key: str, value: Any, places: Sequence[Place]) -> Place | None:
    """The place that a key most likely was meant for: the right name and type, the nearest to the top."""
    same = [place for place in places if place[0][-1] == key]
    if not same:
        names = {place[0][-1]: None for place in places}
        near = _closest(key, names)
        same = [place for place in places if place[0][-1] == near]
    fitting = [place for place in same if _fits(value, place[1])]
    return min(fitting, key=lambda place: ("[]" in place[0], "status" in place[0], len(place[0])), default=None)


def _fits(value: Any, schema: Schema) -> bool:
    declared = schema.get("type")
    if isinstance(value, Mapping):
        return declared == "object"
    if isinstance(value, list):
        return declared == "array"
    return value is None or declared not in ("object", "array")


def _shown(path: Sequence[str]) -> str:
    return ".".join(path).replace(".[", "[")
