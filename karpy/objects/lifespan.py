"""How much earlier than the end of their life machines of a pool may go, where the pool says so itself.

In Karpenter machines that were born together expire together. karpy spreads them over the last part of their life, by its settings
or by the pool's annotation `EXPIRY_SPREAD`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpy.errors import InvalidObject, shown

__all__ = ["EXPIRY_SPREAD", "expiry_spread"]

EXPIRY_SPREAD: Final = "karpy.dev/expiry-spread"


def expiry_spread(annotations: Mapping[str, str]) -> float | None:
    """The part of its life that a machine may lose; None where the annotation is not there.

    Raises:
        InvalidObject: it is no number from 0 to 1.

    >>> expiry_spread({EXPIRY_SPREAD: "0.2"})
    0.2
    """
    text = annotations.get(EXPIRY_SPREAD)
    if text is None:
        return None
    try:
        spread = float(text)
    except ValueError:
        spread = -1.0
    if not 0 <= spread <= 1:
        path = f"metadata.annotations[{EXPIRY_SPREAD}]"
        raise InvalidObject(f"found {shown(text)}", path=path, accepted="a number from 0 to 1")
    return spread
