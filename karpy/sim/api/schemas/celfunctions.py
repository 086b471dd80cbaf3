"""The functions that Kubernetes adds to CEL, as far as they work on plain strings, numbers and lists."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from karpy.errors import InvalidObject
from karpy.quantity import Quantity

__all__ = ["FUNCTIONS"]


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found.group(0) if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [match.group(0) for match in re.finditer(pattern, text)]
    return found if most < 0 else found[:most]


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if not separator:
        return list(text) if most < 0 else [*text[: most - 1], text[most - 1 :]]
    return text.split(separator) if most < 0 else text.split(separator, most - 1)


def _join(parts: Sequence[str], separator: str = "") -> str:
    return separator.join(parts)


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if not 0 <= start <= (len(text) if end is None else end) <= len(text):
        raise ValueError(f"index out of range: {start}")
    return text[start:end]


def _index_of(within: Any, wanted: Any, start: int = 0) -> int:
    if isinstance(within, str):
        return within.find(wanted, start)
    return next((i for i, item in enumerate(within) if item == wanted), -1)


def _last_index_of(within: Any, wanted: Any) -> int:
    if isinstance(within, str):
        return within.rfind(wanted)
    return next((i for i in range(len(within) - 1, -1, -1) if within[i] == wanted), -1)


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(items))


def _parses(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            read(text)
        except (ValueError, InvalidObject):
            return False
        return True

    return test


def _url(text: str) -> None:
    parts = urlsplit(text)
    if not (parts.scheme and (parts.netloc or parts.path)) and not text.startswith("/"):
        raise ValueError(text)


def _cidr(text: str) -> None:
    if "/" not in text:
        raise ValueError(text)
    ipaddress.ip_network(text, strict=False)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "find": _find,
    "findAll": _find_all,
    "split": _split,
    "join": _join,
    "replace": _replace,
    "substring": _substring,
    "trim": str.strip,
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "charAt": lambda text, at: text[at : at + 1],
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "isSorted": _is_sorted,
    "sum": sum,
    "min": min,
    "max": max,
    "isURL": _parses(_url),
    "isIP": _parses(ipaddress.ip_address),
    "isCIDR": _parses(_cidr),
    "isQuantity": _parses(Quantity.parse),
}
