"""A 64-bit digest of nested values that does not depend on the order of lists and maps.

Karpenter marks nodes with such digests, computed by the Go library hashstructure (format 2, lists as sets, zero values left
out). The same digits come out here, so nodes that Karpenter made do not drift when karpy takes over. Three habits of that
format must be kept for this: two equal elements of a list cancel out, absent differs from empty, and the order in which a
record lists its fields matters.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["int32", "int64", "pairs", "record", "text", "truth", "unordered"]

_PRIME: Final = 0x100_0000_01B3
_BASIS: Final = 0xCBF2_9CE4_8422_2325
_MASK: Final = 2**64 - 1


def _fnv(data: bytes) -> int:
    """FNV-1 of 64 bits."""
    digest = _BASIS
    for byte in data:
        digest = (digest * _PRIME & _MASK) ^ byte
    return digest


def text(value: str) -> int:
    return _fnv(value.encode())


def truth(value: bool) -> int:
    return _fnv(b"\1" if value else b"\0")


def int32(value: int) -> int:
    return _fnv(struct.pack("<i", value))


def int64(value: int) -> int:
    return _fnv(struct.pack("<q", value))


def pairs(value: Mapping[str, str]) -> int:
    """The digest of a map."""
    return _finished(unordered(_ordered(text(key), text(member)) for key, member in value.items()))


def unordered(digests: Iterable[int]) -> int:
    """The digest of a list, taken as a set, from those of its elements."""
    return functools.reduce(operator.xor, digests, 0)


def record(name: str, fields: Iterable[tuple[str, int | None]]) -> int:
    """The digest of a struct from those of its fields, in their order; None stands for a field that is not set."""
    digest = text(name)
    for field, value in fields:
        if value is not None:
            digest = _finished(digest ^ _ordered(text(field), value))
    return digest


def _ordered(first: int, second: int) -> int:
    return _fnv(struct.pack("<QQ", first, second))


def _finished(digest: int) -> int:
    return _fnv(struct.pack("<Q", digest))
