"""NodeOverlays: what the owner of a cluster knows of prices and capacities that the cloud does not say (``karpenter.sh/v1alpha1``).

An overlay names instance types and offerings by requirements, and sets or moves their price, or adds resources that the machines
will have, such as the devices of a plug-in.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from karpy.errors import InvalidObject
from karpy.labels import CORE_LABELS, normalize
from karpy.objects.labelsyntax import is_label_key, is_label_value
from karpy.objects.meta import Condition, ObjectMeta, Wire, decode, describe
from karpy.objects.nodepool import at
from karpy.requirements import Operator, Requirement, Requirements
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources

__all__ = ["InvalidOverlay", "NodeOverlay", "PriceChange", "read_overlay"]

MAX_WEIGHT: Final = 10_000
MAX_REQUIREMENTS: Final = 100
STANDARD_RESOURCES: Final = (CPU, EPHEMERAL_STORAGE, MEMORY, PODS)
"""The cloud knows these better than anyone; an overlay may not set them."""

_PRICE = re.compile(r"[0-9]+(\.[0-9]+)?")
_DELTA = re.compile(r"[+-][0-9]*\.?[0-9]+")
_PERCENT = re.compile(r"(\+[0-9]*\.?[0-9]+|-[0-9]{1,2}(\.[0-9]+)?|-100)%")
_SETS = frozenset({Operator.IN.value, Operator.NOT_IN.value})
_BOUNDS = frozenset({Operator.GT.value, Operator.LT.value, Operator.GTE.value, Operator.LTE.value})


class _Change(enum.Enum):
    ABSOLUTE = "absolute"
    DELTA = "delta"
    PERCENT = "percent"


@attrs.frozen
class PriceChange:
    """What becomes of a price.

    >>> PriceChange.parse_price("0.5").of(2.0), PriceChange.parse_adjustment("-10%").of(2.0)
    (0.5, 1.8)
    """

    kind: _Change
    amount: float

    @classmethod
    def parse_price(cls, text: str) -> PriceChange:
        """A price in the place of whatever it was.

        Raises:
            InvalidObject: it is not a plain decimal number.
        """
        if not _PRICE.fullmatch(text):
            raise InvalidObject(f"{text!r} is not a price", accepted='a decimal number without a sign, such as "0.25"')
        return cls(_Change.ABSOLUTE, _finite(text))

    @classmethod
    def parse_adjustment(cls, text: str) -> PriceChange:
        """Dollars per hour, or per cent, more or less than it was.

        Raises:
            InvalidObject: it has no sign, is not a decimal number, or takes away more than there is.
        """
        if _PERCENT.fullmatch(text):
            return cls(_Change.PERCENT, _finite(text[:-1]))
        if _DELTA.fullmatch(text):
            return cls(_Change.DELTA, _finite(text))
        raise InvalidObject(
            f"{text!r} is not an adjustment",
            accepted='a decimal number with a sign, such as "+0.5", or a percentage with one, from "-100%" up',
        )

    def of(self, price: float | None) -> float | None:
        """The price after the change, never below zero. None is no price: there is nothing to adjust, but one can be set."""
        if self.kind is _Change.ABSOLUTE:
            return self.amount
        if price is None:
            return None
        changed = price * (1 + self.amount / 100) if self.kind is _Change.PERCENT else price + self.amount
        return max(changed, 0.0)

    def __str__(self) -> str:
        if self.kind is _Change.ABSOLUTE:
            return f"{self.amount:g}"
        return f"{self.amount:+g}" + ("%" if self.kind is _Change.PERCENT else "")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidObject(f"{text[:20]}… is too large", accepted="a price that a machine may have")
    return number


@attrs.frozen(kw_only=True)
class NodeOverlay:
    """An overlay. Two are equal when they say the same under the same name, whatever their status."""

    name: str
    requirements: Requirements = Requirements()
    price: PriceChange | None = None
    """From ``spec.price`` or ``spec.priceAdjustment``, of which at most one is set."""
    capacity: Resources = Resources()
    weight: int = 0
    metadata: ObjectMeta = attrs.field(default=ObjectMeta(), eq=False)
    conditions: tuple[Condition, ...] = attrs.field(default=(), eq=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NodeOverlay:
        """Read a NodeOverlay.

        Raises:
            InvalidObject: naming the object, the field path, what was found and what is accepted.
        """
        wire = decode(data, _WireOverlay)
        try:
            return _build(wire)
        except InvalidObject as error:
            raise error.at(object_name=describe(data)) from None

    @property
    def order(self) -> tuple[int, tuple[int, ...]]:
        """Sort key: heavier first, then names from the end of the alphabet (Karpenter's order)."""
        return (-self.weight, tuple(-ord(letter) for letter in self.name))


@attrs.frozen
class InvalidOverlay:
    """An overlay that cannot be read. The others go on; it gets a condition."""

    name: str
    problem: str
    raw: Mapping[str, Any] = attrs.field(eq=False, repr=False)


def read_overlay(name: str, raw: Mapping[str, Any]) -> NodeOverlay | InvalidOverlay:
    """The overlay, or why it cannot be read."""
    try:
        return NodeOverlay.from_dict(raw)
    except InvalidObject as error:
        return InvalidOverlay(name, str(error), raw)


class _WireRequirement(Wire, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class _WireSpec(Wire, frozen=True):
    requirements: tuple[_WireRequirement, ...] | None = None
    price: str | None = None
    price_adjustment: str | None = None
    capacity: dict[str, str | int | float] | None = None
    weight: int | None = None


class _WireStatus(Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()


class _WireOverlay(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _WireSpec = _WireSpec()
    status: _WireStatus = _WireStatus()


def _build(wire: _WireOverlay) -> NodeOverlay:
    spec = wire.spec
    return NodeOverlay(
        name=wire.metadata.name,
        requirements=_requirements(spec.requirements),
        price=_price(spec),
        capacity=_capacity(spec.capacity or {}),
        weight=_weight(spec.weight),
        metadata=wire.metadata,
        conditions=wire.status.conditions,
    )


def _price(spec: _WireSpec) -> PriceChange | None:
    if spec.price is not None and spec.price_adjustment is not None:
        raise InvalidObject(
            f"price {spec.price!r} and priceAdjustment {spec.price_adjustment!r}", path="spec", accepted="one of them"
        )
    if spec.price is not None:
        return at("spec.price", PriceChange.parse_price, spec.price)
    if spec.price_adjustment is not None:
        return at("spec.priceAdjustment", PriceChange.parse_adjustment, spec.price_adjustment)
    return None


def _capacity(quantities: Mapping[str, Any]) -> Resources:
    capacity = at("spec.capacity", Resources.parse, quantities)
    for name, amount in capacity.items():
        if name in STANDARD_RESOURCES:
            accepted = f"resources other than {', '.join(STANDARD_RESOURCES)}"
            raise InvalidObject(f"{name} is for the cloud to say", path="spec.capacity", accepted=accepted)
        if amount < 0:
            raise InvalidObject(f"{quantities[name]!r} is negative", path=f"spec.capacity.{name}", accepted="0 or more")
    return capacity


def _weight(weight: int | None) -> int:
    if weight is None:
        return 0
    if not 1 <= weight <= MAX_WEIGHT:
        raise InvalidObject(f"weight is {weight}", path="spec.weight", accepted=f"an integer from 1 to {MAX_WEIGHT}")
    return weight


def _requirements(wires: Sequence[_WireRequirement] | None) -> Requirements:
    if wires is None:
        raise InvalidObject("is missing", path="spec.requirements", accepted="a list; an empty one selects everything")
    if len(wires) > MAX_REQUIREMENTS:
        found = f"{len(wires)} requirements"
        raise InvalidObject(found, path="spec.requirements", accepted=f"at most {MAX_REQUIREMENTS}")
    return Requirements(at(f"spec.requirements[{index}]", _requirement, wire) for index, wire in enumerate(wires))


def _requirement(wire: _WireRequirement) -> Requirement:
    if not is_label_key(wire.key):
        raise InvalidObject(f"{wire.key!r} is not a label key", path="key", accepted="a qualified name")
    if CORE_LABELS.is_restricted(normalize(wire.key)):
        raise InvalidObject(f"{wire.key!r} is restricted", path="key", accepted="a label that types or pools have")
    for index, value in enumerate(wire.values):
        if not is_label_value(value):
            path = f"values[{index}]"
            raise InvalidObject(
                f"{value!r} is not a label value", path=path, accepted="at most 63 of A-Z a-z 0-9 - _ ."
            )
    if wire.operator in _SETS and not wire.values:
        raise InvalidObject(f"operator {wire.operator} got nothing", path="values", accepted="at least one value")
    parsed = Requirement.parse(wire.key, wire.operator, wire.values)
    if wire.operator in _BOUNDS and int(wire.values[0]) < 0:
        raise InvalidObject(f"operator {wire.operator} got {wire.values[0]!r}", path="values", accepted="0 or more")
    return parsed
