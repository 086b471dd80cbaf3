"""Rules that several kinds of objects share: numbers, names, selectors, quantities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from karpy.errors import InvalidObject
from karpy.quantity import Quantity
from karpy.sim.api.rules.validation import quoted, validate_labels, wrong_label_key
from karpy.sim.api.status import Cause

__all__ = [
    "INTEGER",
    "NODE_OPERATORS",
    "Object",
    "check_choice",
    "check_expressions",
    "check_label_selector",
    "check_negative",
    "check_port",
    "check_quantities",
    "is_extended",
    "nanos",
    "spec_of",
]

Object = Mapping[str, Any]

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")
INTEGER = "must be an integer"


def spec_of(obj: Object) -> Object:
    return obj.get("spec") or {}


def nanos(amount: Any) -> int:
    """A quantity as a number to compare; 0 for what is none."""
    try:
        return Quantity.parse(amount).nanos
    except InvalidObject:
        return 0


def is_extended(name: str) -> bool:
    """Whether a resource is one that nodes advertise on their own, which cannot be shared out in parts."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def check_negative(value: Any, path: str) -> Iterator[Cause]:
    """A number that may not be below zero; None is no number."""
    if isinstance(value, int) and value < 0:
        yield Cause.bad(path, str(value), "must be greater than or equal to 0")


def check_port(port: Any, path: str, *, zero: bool = False) -> Iterator[Cause]:
    """The number of a port; ``zero``: it may be missing."""
    number = port or 0
    if (number or not zero) and isinstance(number, int) and not 0 < number <= 65535:
        yield Cause.bad(path, str(number), "must be between 1 and 65535, inclusive")


def check_choice(value: Any, path: str, choices: Sequence[str], *, needed: bool = True) -> Iterator[Cause]:
    """A word out of a few."""
    if value in choices:
        return
    if value:
        yield Cause.unsupported(path, quoted(value), choices)
    elif needed:
        yield Cause.required(path)


def check_quantities(amounts: Object, path: str) -> Iterator[Cause]:
    """Amounts of resources by name: none is negative, and what comes in pieces comes in whole ones."""
    for name, amount in amounts.items():
        if str(amount)[:1] == "-":
            yield Cause.bad(f"{path}[{name}]", quoted(amount), "must be greater than or equal to 0")
        if is_extended(name) and nanos(amount) % 1_000_000_000:
            yield Cause.bad(f"{path}[{name}]", quoted(amount), INTEGER)


def check_label_selector(selector: Object | None, path: str) -> Iterator[Cause]:
    """A selector by labels and expressions."""
    if selector is None:
        return
    yield from validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    yield from check_expressions(selector, path)


def check_expressions(selector: Object, path: str, operators: Sequence[str] = _LABEL_OPERATORS) -> Iterator[Cause]:
    """The expressions of a selector by labels, or of a term by the labels of nodes."""
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{i}]"
        operator, values = expression.get("operator", ""), expression.get("values") or ()
        if operator not in operators:
            yield Cause.bad(f"{where}.operator", quoted(operator), "not a valid selector operator")
        elif operator in ("In", "NotIn") and not values:
            yield Cause.required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield Cause.forbidden(f"{where}.values", why)
        elif operator in ("Gt", "Lt") and len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield Cause.required(f"{where}.values", why)
        if wrong := wrong_label_key(expression.get("key", "")):
            yield Cause.bad(f"{where}.key", quoted(expression.get("key", "")), wrong)
