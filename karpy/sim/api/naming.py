"""Names that the server makes up."""

from __future__ import annotations

import random

__all__ = ["generated_name", "suffix"]

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 5
_LONGEST_PREFIX = 63 - _LENGTH


def suffix(rng: random.Random) -> str:
    """Five letters and digits that spell no words."""
    return "".join(rng.choices(_ALPHABET, k=_LENGTH))


def generated_name(prefix: str, rng: random.Random) -> str:
    """A name for an object with ``generateName``."""
    return prefix[:_LONGEST_PREFIX] + suffix(rng)
