"""Amounts of resources as integer vectors: CPU in milli-cores, everything else in whole units (bytes, pods, devices)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from karpy.errors import InvalidObject, plain
from karpy.quantity import Format, Quantity, parse_milli, parse_units

__all__ = [
    "CPU",
    "EPHEMERAL_STORAGE",
    "MEMORY",
    "NODES",
    "PODS",
    "Resources",
    "format_amount",
    "parse_amount",
    "with_usual",
]

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"
NODES = "nodes"
"""Counted by NodePool limits only: each node is one."""

_BYTES = frozenset({MEMORY, EPHEMERAL_STORAGE})


def parse_amount(name: str, quantity: str | float) -> int:
    """The integer amount of resource ``name`` that ``quantity`` stands for, rounded up to the unit that is counted.

    >>> parse_amount("cpu", "1.5"), parse_amount("memory", "1Ki")
    (1500, 1024)
    """
    return parse_milli(quantity) if name == CPU else parse_units(quantity)


def format_amount(name: str, amount: int) -> str:
    """The canonical text of an amount: ``1500m``, ``2Gi``, ``3``."""
    if name == CPU:
        return str(Quantity(amount * 10**6))
    binary = name in _BYTES or name.startswith("hugepages-")
    return str(Quantity(amount * 10**9, Format.BINARY_SI if binary else Format.DECIMAL_SI))


class Resources(Mapping[str, int]):
    """An immutable vector of amounts by resource name; a name that is absent counts as zero.

    >>> a = Resources.parse({"cpu": "1", "memory": "1Gi"})
    >>> (a + Resources.parse({"cpu": "500m"}))["cpu"]
    1500
    >>> a.fits_in(Resources.parse({"cpu": "2", "memory": "1Gi"}))
    True
    """

    __slots__ = ("_amounts", "_hash")
    _amounts: dict[str, int]
    _hash: int | None

    def __init__(self, amounts: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        self._amounts = dict(amounts)
        self._hash = None

    @classmethod
    def parse(cls, quantities: Mapping[str, Any]) -> Resources:
        """Read an API resource list.

        Raises:
            InvalidObject: with the resource's name as its path.
        """
        amounts = {}
        for name, quantity in quantities.items():
            try:
                amounts[name] = parse_amount(name, quantity)
            except InvalidObject as error:
                raise error.at(path=plain(name)) from None
        return cls(amounts)

    @property
    def amounts(self) -> Mapping[str, int]:
        """The amounts themselves, for loops that run often. They must not be changed."""
        return self._amounts

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self._amounts == other._amounts

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._amounts.items()))
        return self._hash

    def __add__(self, other: Mapping[str, int]) -> Resources:
        total = dict(self._amounts)
        for name, amount in _plain(other).items():
            total[name] = total.get(name, 0) + amount
        return Resources(total)

    def __sub__(self, other: Mapping[str, int]) -> Resources:
        rest = dict(self._amounts)
        for name, amount in _plain(other).items():
            rest[name] = rest.get(name, 0) - amount
        return Resources(rest)

    def maximum(self, other: Mapping[str, int]) -> Resources:
        """The greater amount of each resource."""
        most = dict(self._amounts)
        for name, amount in _plain(other).items():
            if amount > most.get(name, 0) or name not in most:
                most[name] = amount
        return Resources(most)

    def minimum(self, other: Mapping[str, int]) -> Resources:
        """The lesser amount of each resource that both have."""
        return Resources({name: min(amount, other[name]) for name, amount in self._amounts.items() if name in other})

    def at_least_zero(self) -> Resources:
        """The same with zero for each amount that is below it."""
        return Resources({name: max(amount, 0) for name, amount in self._amounts.items()})

    def fits_in(self, room: Mapping[str, int]) -> bool:
        """Whether every amount asked for is there. Room that is negative anywhere holds nothing (Karpenter's rule)."""
        if any(amount < 0 for amount in room.values()):
            return False
        return all(amount <= room.get(name, 0) for name, amount in self._amounts.items())

    def exceeds(self, limits: Mapping[str, int]) -> tuple[str, ...]:
        """Names of the resources in ``limits`` of which there is more than the limit, sorted."""
        return tuple(sorted(name for name, most in limits.items() if self._amounts.get(name, 0) > most))

    def to_dict(self) -> dict[str, str]:
        """The API's form, with canonical quantities, sorted by name."""
        return {name: format_amount(name, self._amounts[name]) for name in sorted(self._amounts)}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {text}" for name, text in self.to_dict().items())

    def __repr__(self) -> str:
        return f"Resources({self})"


def _plain(vector: Mapping[str, int]) -> Mapping[str, int]:
    """The dictionary inside, where there is one: it is gone through many times faster."""
    return vector.amounts if isinstance(vector, Resources) else vector


def total(vectors: Iterable[Mapping[str, int]]) -> Resources:
    """The sum of many vectors."""
    amounts: dict[str, int] = {}
    for vector in vectors:
        for name, amount in _plain(vector).items():
            amounts[name] = amounts.get(name, 0) + amount
    return Resources(amounts)


_USUAL = Resources(dict.fromkeys((CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS), 0))


def with_usual(held: Mapping[str, int]) -> Resources:
    """What a pool holds, as it is told: the usual resources are always there, if only as zero."""
    return _USUAL + held
