"""What a pod asks for in all: the sums that LimitRanges and ResourceQuotas look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karpy.quantity import Quantity

__all__ = ["Amounts", "added", "container_amounts", "pod_amounts"]

Amounts = Mapping[str, Quantity]
Body = Mapping[str, Any]


def container_amounts(container: Body, part: str) -> Amounts:
    """The ``requests`` or ``limits`` (``part``) of one container."""
    found = (container.get("resources") or {}).get(part) or {}
    return {name: Quantity.parse(amount) for name, amount in found.items()}


def added(one: Quantity | None, other: Quantity) -> Quantity:
    """The sum, in the notation of the first unless that is nothing."""
    if one is None or one.nanos == 0:
        return other
    return Quantity(one.nanos + other.nanos, one.format)


def pod_amounts(spec: Body, part: str) -> Amounts:
    """The ``requests`` or ``limits`` of a pod: its containers together, or its greediest moment of initialization.

    Init containers that restart always run beside the others from then on. Overhead comes on top, of limits where there are any.
    """
    together = _sum(container_amounts(each, part) for each in spec.get("containers") or ())
    beside: dict[str, Quantity] = {}
    greatest: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        amounts = container_amounts(container, part)
        if container.get("restartPolicy") == "Always":
            together, beside = _sum((together, amounts)), _sum((beside, amounts))
            moment: Amounts = beside
        else:
            moment = _sum((beside, amounts))
        _raise_to(greatest, moment)
    _raise_to(together, greatest)
    for name, amount in (spec.get("overhead") or {}).items():
        if part == "requests" or name in together:
            together[name] = added(together.get(name), Quantity.parse(amount))
    return together


def _sum(parts: Iterable[Amounts]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for amounts in parts:
        for name, amount in amounts.items():
            total[name] = added(total.get(name), amount)
    return total


def _raise_to(amounts: dict[str, Quantity], least: Amounts) -> None:
    for name, amount in least.items():
        if name not in amounts or amounts[name].nanos < amount.nanos:
            amounts[name] = amount
