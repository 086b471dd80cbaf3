"""What can go wrong between a controller and the API server or the cloud, as a value: drawn from a seed, written on one line.

A fault comes by chance, with a rate for each crossing of the boundary, or by plan, at the n-th. A run by chance can be told
again as a plan of what happened in it, and plans can be made smaller: so a failing run is brought down to the few faults that
it takes.
"""

from __future__ import annotations

import enum
import math
import random
from collections.abc import Iterable, Iterator, Mapping

import attrs

from karpy.errors import InvalidObject, shown
from karpy.sim.region.terse import at_least_one, share

__all__ = ["Fault", "Faults", "Planned"]


class Fault(enum.Enum):
    """One kind of fault. All but the last two are met by calls; those are met when a watch has something to deliver."""

    CONFLICT = "conflict"
    """409: the object changed meanwhile. Only writes meet it."""
    THROTTLED = "throttled"
    """429 with Retry-After, or a cloud that asks to slow down."""
    ERROR = "error"
    """500, or a cloud that fails; nothing was done."""
    LOST = "lost"
    """The answer of a call that took effect never arrives."""
    CRASH_BEFORE = "crash-before"
    """The process dies before the call reaches the other side."""
    CRASH_AFTER = "crash-after"
    """The process dies before the answer reaches it."""
    SLOW = "slow"
    """The call takes 5 to 15 seconds, some of them before it takes effect; the world goes on meanwhile."""
    STALL = "stall"
    """The whole process hangs, long enough to lose a lease, sometimes; then the call fails."""
    DEPOSED = "deposed"
    """The process cannot reach its lease for so long that another takes it over. Only processes that elect meet it."""
    JUMP = "jump"
    """The process's clock jumps, back or forth."""
    DROP = "drop"
    """The watch breaks; what it had to tell is told by the next list."""
    LATE = "late"
    """What the watch has to tell comes some seconds late, and so out of step with other kinds."""

    @property
    def is_of_delivery(self) -> bool:
        return self in (Fault.DROP, Fault.LATE)


_HIGHEST_RATES: Mapping[Fault, float] = {
    Fault.CONFLICT: 0.08,
    Fault.THROTTLED: 0.05,
    Fault.ERROR: 0.05,
    Fault.LOST: 0.05,
    Fault.CRASH_BEFORE: 0.02,
    Fault.CRASH_AFTER: 0.02,
    Fault.SLOW: 0.02,
    Fault.STALL: 0.01,
    Fault.DEPOSED: 0.01,
    Fault.JUMP: 0.005,
    Fault.DROP: 0.03,
    Fault.LATE: 0.2,
}
_SPAN = 30.0
"""The highest rate that is drawn is so many times the lowest."""


@attrs.frozen
class Planned:
    """A fault at a crossing: the n-th call, or for `Fault.is_of_delivery` the n-th delivery, counted from 1 in the whole world."""

    number: int = attrs.field(validator=at_least_one)
    fault: Fault

    def __str__(self) -> str:
        return f"{self.fault.value}@{self.number}"


def _in_order(plan: Iterable[Planned]) -> tuple[Planned, ...]:
    return tuple(sorted(plan, key=lambda each: (each.number, each.fault.value)))


_shares = attrs.validators.deep_mapping(value_validator=share)


@attrs.frozen
class Faults:
    """The faults of one run; without arguments none. ``str()`` gives one line that `parse` reads back.

    ``rates``: the chance at each crossing, until ``until_s`` seconds have passed. ``plan``: those that come for certain. ``seed``
    decides about chances, and about how long or late a fault is.

    >>> str(Faults.parse("crash-after@41 conflict:0.02 until:300 seed:7"))
    'crash-after@41 conflict:0.02 until:300 seed:7'
    """

    plan: tuple[Planned, ...] = attrs.field(default=(), converter=_in_order)
    rates: Mapping[Fault, float] = attrs.field(factory=dict, validator=_shares)
    until_s: float = math.inf
    seed: int = 0

    @classmethod
    def draw(cls, seed: int, *, until_s: float = math.inf) -> Faults:
        """A mixture of kinds and rates; now and then nothing at all."""
        dice = random.Random(f"faults/{seed}")
        rates = {
            fault: round(highest / _SPAN ** dice.random(), 5)
            for fault, highest in _HIGHEST_RATES.items()
            if dice.random() < 0.5
        }
        if not rates or dice.random() < 0.05:
            return cls()
        return cls(rates=rates, until_s=until_s, seed=seed)

    @classmethod
    def parse(cls, line: str) -> Faults:
        """Read what ``str()`` wrote.

        Raises:
            InvalidObject: naming the word that cannot be read.
        """
        plan: list[Planned] = []
        rates: dict[Fault, float] = {}
        numbers = {"until": math.inf, "seed": 0.0}
        for word in line.split():
            name, mark, value = _parted(word)
            if name in numbers and mark == ":":
                numbers[name] = _number(word, value)
            elif mark == "@":
                plan.append(Planned(int(_number(word, value, whole=True)), _fault(word, name)))
            else:
                rates[_fault(word, name)] = _number(word, value)
        return cls(tuple(plan), rates, numbers["until"], int(numbers["seed"]))

    def __str__(self) -> str:
        words = [str(each) for each in self.plan]
        words += [f"{fault.value}:{rate:g}" for fault, rate in self.rates.items()]
        if self.rates and self.until_s < math.inf:
            words.append(f"until:{self.until_s:g}")
        return " ".join([*words, f"seed:{self.seed}"]) if words else ""

    def __bool__(self) -> bool:
        return bool(self.plan or self.rates)

    def by_plan(self, happened: tuple[Planned, ...]) -> Faults:
        """The same faults again, without chance: those that happened in a run."""
        return Faults(happened, seed=self.seed) if happened else Faults()

    def smaller(self) -> Iterator[Faults]:
        """Runs with fewer faults, the smallest first: none, halves, quarters, and each with one left out."""
        if not self:
            return
        yield Faults()
        if self.rates:
            for fault in self.rates:
                rates = {key: rate for key, rate in self.rates.items() if key is not fault}
                if rates or self.plan:
                    yield attrs.evolve(self, rates=rates)
        size = len(self.plan) // 2
        while size:
            for start in range(0, len(self.plan), size):
                yield attrs.evolve(self, plan=self.plan[:start] + self.plan[start + size :])
            size //= 2


def _parted(word: str) -> tuple[str, str, str]:
    for mark in "@:":
        name, found, value = word.partition(mark)
        if found:
            return name, mark, value
    raise _unreadable(word)


def _fault(word: str, name: str) -> Fault:
    try:
        return Fault(name)
    except ValueError:
        raise _unreadable(word) from None


def _number(word: str, text: str, *, whole: bool = False) -> float:
    try:
        found = float(int(text)) if whole else float(text)
    except ValueError:
        raise _unreadable(word) from None
    if not 0 <= found < math.inf:
        raise _unreadable(word)
    return found


def _unreadable(word: str) -> InvalidObject:
    names = ", ".join(fault.value for fault in Fault)
    return InvalidObject(
        f"found {shown(word)}",
        object_name="Faults",
        accepted=f"NAME@NUMBER, NAME:RATE, until:SECONDS or seed:NUMBER, where NAME is one of {names}",
    )
