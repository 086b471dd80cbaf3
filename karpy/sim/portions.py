"""Numbers of pods that may be given as a percentage, as budgets and rolling updates have them."""

from __future__ import annotations

__all__ = ["resolve"]


def resolve(value: int | str, total: int, *, up: bool) -> int:
    """A count, or a percentage of ``total`` rounded up or down.

    >>> resolve("25%", 10, up=True), resolve("25%", 10, up=False), resolve(3, 10, up=True)
    (3, 2, 3)
    """
    if isinstance(value, str) and value.endswith("%"):
        hundredths = int(value[:-1]) * total
        return -(-hundredths // 100) if up else hundredths // 100
    return int(value)
