"""The set algebra of node selection.

A `Requirement` is a set of values that one label may take; `Requirements` is one such set per key. Both are immutable and
hashable, so that equal ones can be shared and their answers remembered.

Source: Kubernetes node-selector operators, with Karpenter's rules for bounds, undefined keys and ``minValues``.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from karpy import labels
from karpy.errors import InvalidObject, shown

__all__ = ["Conflict", "Operator", "Requirement", "Requirements"]

_SHOWN = 5  # values that a message shows before it says "and N others"
MAX_INT64 = 2**63 - 1
_MAX_DIGITS = 64  # leading zeros included; a label holds no more


class Operator(enum.Enum):
    """How a selector relates a key to its values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"
    GTE = "Gte"
    LTE = "Lte"


NEGATIVE = frozenset({Operator.NOT_IN, Operator.DOES_NOT_EXIST})
"""A label that is not there satisfies these."""
BOUNDS = frozenset({Operator.GT, Operator.LT, Operator.GTE, Operator.LTE})
"""These compare with one integer."""


@attrs.frozen(cache_hash=True, repr=False)
class Requirement:
    """The values that label ``key`` may take: ``values``, or everything but them (``complement``), within ``gte`` and ``lte``.

    A finite set carries no bounds, and an empty finite set means that the label must be absent, so equal sets are equal
    values. ``min_values`` asks that instance types of at least so many different values stay on offer.

    >>> print(Requirement.in_("zone", "a", "b") & Requirement.not_in("zone", "a"))
    zone In [b]
    """

    key: str
    complement: bool = False
    values: frozenset[str] = frozenset()
    gte: int | None = None
    lte: int | None = None
    min_values: int | None = None

    # Builders

    @classmethod
    def in_(cls, key: str, *values: str, min_values: int | None = None) -> Requirement:
        return _one_of(key, values, min_values)

    @classmethod
    def not_in(cls, key: str, *values: str, min_values: int | None = None) -> Requirement:
        return cls(labels.normalize(key), complement=True, values=frozenset(values), min_values=min_values)

    @classmethod
    def exists(cls, key: str, min_values: int | None = None) -> Requirement:
        return cls(labels.normalize(key), complement=True, min_values=min_values)

    @classmethod
    def absent(cls, key: str, min_values: int | None = None) -> Requirement:
        return _one_of(key, (), min_values)

    @classmethod
    def at_least(cls, key: str, bound: int, min_values: int | None = None) -> Requirement:
        if bound > MAX_INT64:
            return cls.absent(key, min_values)
        return cls(labels.normalize(key), complement=True, gte=bound, min_values=min_values)

    @classmethod
    def at_most(cls, key: str, bound: int, min_values: int | None = None) -> Requirement:
        return cls(labels.normalize(key), complement=True, lte=bound, min_values=min_values)

    @classmethod
    def parse(cls, key: str, operator: str, values: Sequence[str] = (), min_values: int | None = None) -> Requirement:
        """Read one node-selector requirement.

        Raises:
            InvalidObject: unknown operator, or values that the operator does not take.
        """
        try:
            kind = Operator(operator)
        except ValueError:
            raise InvalidObject(
                f"unknown operator {shown(operator)} for key {shown(key)}",
                path="operator",
                accepted=", ".join(member.value for member in Operator),
            ) from None
        if kind in BOUNDS:
            return cls._bounded(key, kind, values, min_values)
        if kind is Operator.IN:
            return cls.in_(key, *values, min_values=min_values)
        if kind is Operator.NOT_IN:
            return cls.not_in(key, *values, min_values=min_values)
        return cls.exists(key, min_values) if kind is Operator.EXISTS else cls.absent(key, min_values)

    @classmethod
    def _bounded(cls, key: str, kind: Operator, values: Sequence[str], min_values: int | None) -> Requirement:
        bound = as_integer(values[0]) if len(values) == 1 else None
        if bound is None:
            found = ", ".join(shown(value) for value in values[:_SHOWN]) or "nothing"
            raise InvalidObject(
                f"operator {kind.value} of key {shown(key)} got {found}", path="values", accepted="exactly one integer"
            )
        if kind is Operator.GT:
            return cls.at_least(key, bound + 1, min_values)
        if kind is Operator.GTE:
            return cls.at_least(key, bound, min_values)
        return cls.at_most(key, bound - 1 if kind is Operator.LT else bound, min_values)

    # Questions

    @property
    def operator(self) -> Operator:
        """The operator that describes this set best; a bounded set is `Operator.EXISTS`, or `NOT_IN` with exclusions."""
        if self.complement:
            return Operator.NOT_IN if self.values else Operator.EXISTS
        return Operator.IN if self.values else Operator.DOES_NOT_EXIST

    @property
    def is_bounded(self) -> bool:
        return self.gte is not None or self.lte is not None

    def has(self, value: str) -> bool:
        """Whether the label may have ``value``. With a bound, what is not an integer never may."""
        return (value in self.values) != self.complement and _within(value, self.gte, self.lte)

    def single(self) -> str | None:
        """The one value, when there is exactly one."""
        return next(iter(self.values)) if not self.complement and len(self.values) == 1 else None

    def intersects(self, other: Requirement) -> bool:
        """Whether some value is in both sets; the same answer as ``&``, without building it."""
        gte, lte = _tighter(self, other)
        if gte is not None and lte is not None and gte > lte:
            return False
        if self.complement:
            if other.complement:
                return True
            return any(value not in self.values and _within(value, gte, lte) for value in other.values)
        if other.complement:
            return any(value not in other.values and _within(value, gte, lte) for value in self.values)
        return any(value in other.values and _within(value, gte, lte) for value in self.values)

    def __and__(self, other: Requirement) -> Requirement:
        """The values in both sets. ``min_values`` becomes the greater one. Commutative, associative, idempotent."""
        least = _greater(self.min_values, other.min_values)
        gte, lte = _tighter(self, other)
        if gte is not None and lte is not None and gte > lte:
            return Requirement(self.key, min_values=least)
        if self.complement and other.complement:
            kept = frozenset(value for value in self.values | other.values if _within(value, gte, lte))
            return Requirement(self.key, True, kept, gte, lte, least)
        if self.complement:
            values: AbstractSet[str] = other.values - self.values
        elif other.complement:
            values = self.values - other.values
        else:
            values = self.values & other.values
        if gte is not None or lte is not None:
            values = {value for value in values if _within(value, gte, lte)}
        return Requirement(self.key, values=frozenset(values), min_values=least)

    # Text

    def to_selectors(self) -> tuple[dict[str, Any], ...]:
        """The API's form; a set bounded on both sides takes two entries.

        Exclusions of a bounded set are not written, as in Karpenter: the instance types that remain say the same.
        """
        extra = {} if self.min_values is None else {"minValues": self.min_values}
        bounds = [("Gte", self.gte), ("Lte", self.lte)]
        entries = [
            {"key": self.key, "operator": name, "values": [str(bound)], **extra}
            for name, bound in bounds
            if bound is not None
        ]
        if entries:
            return tuple(entries)
        entry: dict[str, Any] = {"key": self.key, "operator": self.operator.value}
        if self.values:
            entry["values"] = sorted(self.values)
        return ({**entry, **extra},)

    def __str__(self) -> str:
        operator = self.operator
        text = f"{self.key} {operator.value}"
        if operator in (Operator.IN, Operator.NOT_IN):
            shown = sorted(self.values)
            rest = f" and {len(shown) - _SHOWN} others" if len(shown) > _SHOWN else ""
            text += f" [{' '.join(shown[:_SHOWN])}{rest}]"
        if self.gte is not None:
            text += f" >={self.gte}"
        if self.lte is not None:
            text += f" <={self.lte}"
        return text if self.min_values is None else f"{text} minValues {self.min_values}"

    def __repr__(self) -> str:
        return f"Requirement({self})"


def as_integer(value: str) -> int | None:
    """As Go's strconv.Atoi: an optional sign and decimal digits, within 64 bits."""
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MAX_DIGITS:
        return None
    number = int(value)
    return number if -MAX_INT64 - 1 <= number <= MAX_INT64 else None


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    if gte is None and lte is None:
        return True
    number = as_integer(value)
    return number is not None and (gte is None or number >= gte) and (lte is None or number <= lte)


def _greater(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


def _tighter(a: Requirement, b: Requirement) -> tuple[int | None, int | None]:
    if a.lte is None or b.lte is None:
        lte = b.lte if a.lte is None else a.lte
    else:
        lte = min(a.lte, b.lte)
    return _greater(a.gte, b.gte), lte


@attrs.frozen
class Conflict:
    """Why two sets of requirements cannot both hold: the key, what was asked of it, and what is there (None: nothing).

    ``hint`` is the key that was probably meant.
    """

    key: str
    wanted: Requirement
    found: Requirement | None
    hint: str = ""

    def __str__(self) -> str:
        if self.found is None:
            typo = f' (typo of "{self.hint}"?)' if self.hint else ""
            return f'label "{self.key}" does not have known values{typo}'
        return f"key {self.key}, {self.wanted} not in {self.found}"


@functools.lru_cache(maxsize=65_536)
def _one_of(key: str, values: tuple[str, ...], min_values: int | None) -> Requirement:
    """One object for equal ones: nodes, instance types and offerings have most of theirs in common."""
    return Requirement(labels.normalize(key), values=frozenset(values), min_values=min_values)


class Requirements(Mapping[str, Requirement]):
    """One `Requirement` per key, all of which must hold. Immutable and hashable.

    >>> pool = Requirements.from_labels({"team": "a"})
    >>> pool.compatible(Requirements([Requirement.in_("team", "b")]))
    Conflict(key='team', wanted=Requirement(team In [b]), found=Requirement(team In [a]), hint='')
    """

    __slots__ = ("_by_key", "_hash")
    _by_key: dict[str, Requirement]
    _hash: int | None

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for requirement in requirements:
            present = by_key.get(requirement.key)
            by_key[requirement.key] = requirement if present is None else present & requirement
        self._by_key = by_key
        self._hash = None

    @classmethod
    def from_labels(cls, given: Mapping[str, str]) -> Requirements:
        """One In requirement per label."""
        return cls(_one_of(key, (value,), None) for key, value in given.items())

    @classmethod
    def from_selectors(cls, selectors: Iterable[Mapping[str, Any]]) -> Requirements:
        """Read a list of ``{key, operator, values, minValues}``.

        Raises:
            InvalidObject: with the index of the entry in its path.
        """
        parsed = []
        for index, entry in enumerate(selectors):
            try:
                values = tuple(entry.get("values") or ())
                parsed.append(Requirement.parse(entry["key"], entry["operator"], values, entry.get("minValues")))
            except InvalidObject as error:
                raise error.at(path=f"[{index}]") from None
        return cls(parsed)

    def __getitem__(self, key: str) -> Requirement:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._by_key.values()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Requirements) and self._by_key == other._by_key)

    def __and__(self, other: Requirements) -> Requirements:
        """Both sets at once."""
        if not other._by_key:
            return self
        if not self._by_key:
            return other
        both = Requirements()
        by_key = dict(self._by_key)
        for key, requirement in other._by_key.items():
            present = by_key.get(key)
            by_key[key] = requirement if present is None else present & requirement
        both._by_key = by_key
        return both

    def without(self, *keys: str) -> Requirements:
        return Requirements(requirement for key, requirement in self._by_key.items() if key not in keys)

    def intersects(self, other: Requirements) -> Conflict | None:
        """The first conflict among keys that both sets name, or None.

        Two negative requirements (NotIn, DoesNotExist) never conflict: leaving the label off satisfies both.
        """
        mine, theirs = self._by_key, other._by_key
        for key in mine if len(mine) < len(theirs) else theirs:
            a, b = mine.get(key), theirs.get(key)
            if a is None or b is None or a.intersects(b):
                continue
            if not (a.operator in NEGATIVE and b.operator in NEGATIVE):
                return Conflict(key, b, a)
        return None

    def compatible(self, other: Requirements, allow_undefined: AbstractSet[str] = frozenset()) -> Conflict | None:
        """Why a thing described by ``self`` (a node, a template) cannot satisfy ``other`` (a pod), or None when it can.

        A key that ``self`` does not define must be in ``allow_undefined``, or be asked for negatively.
        """
        undefined = [
            key
            for key, wanted in other._by_key.items()
            if key not in self._by_key and key not in allow_undefined and wanted.operator not in NEGATIVE
        ]
        if undefined:
            key = min(undefined)
            hint = _probably_meant(key, allow_undefined) or _probably_meant(key, self._by_key)
            return Conflict(key, other._by_key[key], None, hint)
        return self.intersects(other)

    def labels(self) -> dict[str, str]:
        """The labels that these requirements pin to one value."""
        pinned = ((key, requirement.single()) for key, requirement in self._by_key.items())
        return {key: value for key, value in pinned if value is not None}

    def to_selectors(self) -> list[dict[str, Any]]:
        """The API's form, sorted by key."""
        return [entry for key in sorted(self._by_key) for entry in self._by_key[key].to_selectors()]

    def __str__(self) -> str:
        return ", ".join(str(self._by_key[key]) for key in sorted(self._by_key) if key != labels.HOSTNAME)

    def __repr__(self) -> str:
        return f"Requirements({self})"


def _probably_meant(key: str, known: Iterable[str]) -> str:
    """A known key that contains ``key``, or ends in the name that it has after its domain."""
    name = key.rpartition("/")[2]
    for candidate in sorted(known):
        if key in candidate or (name and candidate.endswith(name)):
            return candidate
    return ""
