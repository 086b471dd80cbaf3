"""How many failures a pool endures, where it says so itself.

Karpenter launches on and on from a pool whose nodes never join. karpy lets it rest after some of them, by its settings or by the
pool's annotation `REGISTRATION_FAILURES_ALLOWED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpy.errors import InvalidObject, shown

__all__ = ["REGISTRATION_FAILURES_ALLOWED", "registration_failures_allowed"]

REGISTRATION_FAILURES_ALLOWED: Final = "karpy.dev/registration-failures-allowed"


def registration_failures_allowed(annotations: Mapping[str, str]) -> int | None:
    """After so many nodes in a row that did not join the pool rests, 0 for never; None where the annotation is not there.

    Raises:
        InvalidObject: it is no such number.

    >>> registration_failures_allowed({REGISTRATION_FAILURES_ALLOWED: "5"})
    5
    """
    text = annotations.get(REGISTRATION_FAILURES_ALLOWED)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        path = f"metadata.annotations[{REGISTRATION_FAILURES_ALLOWED}]"
        raise InvalidObject(f"found {shown(text)}", path=path, accepted="a whole number; 0: the pool never rests")
    return int(text)
