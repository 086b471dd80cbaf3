"""The part of JSONPath that printer columns use: members, escaped members, indices, filters by equality, and wildcards."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["find"]

Step = Callable[[list[Any]], list[Any]]

_STEP = re.compile(
    r"""\.(?P<member>(?:\\.|[^.\[\\])+)          # .name, with \. for a dot
      | \[\?\(@\.(?P<key>[\w.-]+)\s*==\s*["'](?P<value>[^"']*)["']\)\]
      | \[(?P<index>-?\d+)\]
      | \['(?P<quoted>[^']+)'\]
      | (?P<all>\[\*\])""",
    re.VERBOSE,
)


def find(path: str, obj: Any) -> list[Any]:
    """Everything in ``obj`` that ``path`` leads to, in order; an empty list when it leads nowhere.

    >>> find('.status.conditions[?(@.type=="Ready")].status', {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    ['True']
    """
    found = [obj]
    for step in _parse(path):
        found = step(found)
        if not found:
            break
    return found


@functools.lru_cache(maxsize=1024)
def _parse(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}")
    if text and text[0] not in ".[":
        text = "." + text
    return tuple(_step(match) for match in _STEP.finditer(text))


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return _index(int(match["index"]))
    if match["all"] is not None:
        return _every
    if match["key"] is not None:
        return _filter(match["key"], match["value"])
    name = match["quoted"] if match["quoted"] is not None else match["member"]
    return _member(re.sub(r"\\(.)", r"\1", name))


def _member(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, Mapping) and name in value]


def _index(index: int) -> Step:
    return lambda values: [v[index] for v in values if isinstance(v, list) and -len(v) <= index < len(v)]


def _filter(key: str, wanted: str) -> Step:
    return lambda values: [
        item
        for value in values
        if isinstance(value, list)
        for item in value
        if isinstance(item, Mapping) and str(item.get(key)) == wanted
    ]


def _every(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else []
    return found
