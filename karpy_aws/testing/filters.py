"""EC2's filters: values of one filter are alternatives, filters all hold, ``*`` and ``?`` stand for any letters.

An unknown filter is refused, as EC2 refuses it; a fake that ignored it would let a slip pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from karpy_aws.testing.refusals import Refused

__all__ = ["Members", "matching", "tags_of"]

Members = Mapping[str, str]
"""By filter name, where its value stands: ``State.Name``; a list on the way stands for each of its items."""
Record = Mapping[str, Any]


def matching(records: Iterable[Record], request: Mapping[str, Any], members: Members) -> list[dict[str, Any]]:
    """The records that all filters of the request let through."""
    filters: Sequence[Mapping[str, Any]] = request.get("Filters") or ()
    for wanted in filters:
        name = wanted["Name"]
        if name not in members and name != "tag-key" and not name.startswith("tag:"):
            raise Refused("InvalidParameterValue", f"The filter '{name}' is invalid")
    return [dict(record) for record in records if all(_passes(record, wanted, members) for wanted in filters)]


def _passes(record: Record, wanted: Mapping[str, Any], members: Members) -> bool:
    name, patterns = wanted["Name"], [_pattern(text) for text in wanted.get("Values") or ()]
    if name == "tag-key":
        found: Iterable[str] = tags_of(record)
    elif name.startswith("tag:"):
        found = (value for key, value in tags_of(record).items() if key == name.removeprefix("tag:"))
    else:
        found = _values(record, members[name].split("."))
    return any(pattern.fullmatch(value) for value in found for pattern in patterns)


def tags_of(record: Record) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in record.get("Tags") or ()}


def _values(value: object, path: Sequence[str]) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _values(item, path)
    elif path and isinstance(value, Mapping):
        yield from _values(value.get(path[0]), path[1:])
    elif value is not None and not path:
        yield str(value).lower() if isinstance(value, bool) else str(value)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in text), re.DOTALL)
