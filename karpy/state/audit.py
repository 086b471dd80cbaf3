"""Whether what is known of a kind is what the API server has: two looks, some time apart.

One look proves nothing: events may be under way. What was out of date at the first, and has not moved since, was missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

__all__ = ["missed", "suspects"]

Versions = Mapping[str, str]
"""Resource versions by key."""


def suspects(known: Versions, listed: Versions, unreadable: AbstractSet[str] = frozenset()) -> dict[str, str | None]:
    """What is known otherwise than it was listed, and as what it is known (None: not at all). What cannot be read is left out."""
    differing = (key for key in sorted({*known, *listed} - unreadable) if known.get(key) != listed.get(key))
    return {key: known.get(key) for key in differing}


def missed(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> list[str]:
    """The suspects of both looks that are known as they were: no event came for them in all that time."""
    return [key for key, version in now.items() if key in before and before[key] == version]
