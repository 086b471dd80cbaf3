"""What the parts of an expression in CEL mean: each is a node with a type, known at once, and a way to its value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

__all__ = [
    "BOOL",
    "DOUBLE",
    "INT",
    "INT_RANGE",
    "STRING",
    "EvaluationError",
    "ExpressionError",
    "Node",
    "Values",
    "arithmetic",
    "call",
    "choice",
    "listed",
    "logic",
    "relation",
]

INT: Final = "int"
DOUBLE: Final = "double"
STRING: Final = "string"
BOOL: Final = "bool"
_LIST: Final = "list of "
INT_RANGE: Final = (-(2**63), 2**63 - 1)

Values = Mapping[str, int | str]


class ExpressionError(ValueError):
    """The expression has no meaning, whatever the instance type."""


class EvaluationError(ValueError):
    """The expression has no value for one instance type."""


@attrs.frozen
class Node:
    """A part of an expression."""

    type: str
    run: Callable[[Values], Any]


def listed(items: Sequence[Node]) -> Node:
    types = {item.type for item in items}
    if len(types) != 1:
        raise ExpressionError("a list has no items, or items of several types (accepted: items of one type)")
    return Node(_LIST + types.pop(), lambda values: [item.run(values) for item in items])


def choice(condition: Node, yes: Node, no: Node) -> Node:
    if condition.type != BOOL or yes.type != no.type:
        found = f"{condition.type} ? {yes.type} : {no.type}"
        raise ExpressionError(f"found {found} (accepted: bool ? a : b with a and b of one type)")
    return Node(yes.type, lambda values: (yes if condition.run(values) else no).run(values))


def logic(left: Node, right: Node, *, decisive: bool) -> Node:
    """``&&`` and ``||``: one decisive side is enough, even when the other has no value."""
    if left.type != BOOL or right.type != BOOL:
        sign = "||" if decisive else "&&"
        raise ExpressionError(f"found {left.type} {sign} {right.type} (accepted: bool {sign} bool)")

    def run(values: Values) -> Any:
        try:
            first = left.run(values)
        except EvaluationError:
            if right.run(values) is decisive:
                return decisive
            raise
        return first if first is decisive else right.run(values)

    return Node(BOOL, run)


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def relation(sign: str, left: Node, right: Node) -> Node:
    if sign == "in":
        if right.type != _LIST + left.type:
            raise ExpressionError(f"found {left.type} in {right.type} (accepted: a value in a list of its type)")
        return Node(BOOL, lambda values: left.run(values) in right.run(values))
    if left.type != right.type or (left.type.startswith(_LIST) and sign not in ("==", "!=")):
        raise ExpressionError(f"found {left.type} {sign} {right.type} (accepted: two values of one type)")
    compare = _COMPARISONS[sign]
    return Node(BOOL, lambda values: compare(left.run(values), right.run(values)))


def arithmetic(sign: str, left: Node, right: Node) -> Node:
    kinds = (INT, DOUBLE, STRING) if sign == "+" else (INT,) if sign == "%" else (INT, DOUBLE)
    if left.type != right.type or left.type not in kinds:
        accepted = " or ".join(f"{kind} {sign} {kind}" for kind in kinds)
        raise ExpressionError(f"found {left.type} {sign} {right.type} (accepted: {accepted})")
    compute = {INT: _INTEGERS, DOUBLE: _DOUBLES, STRING: {"+": operator.add}}[left.type][sign]
    return Node(left.type, lambda values: compute(left.run(values), right.run(values)))


def _fitting(number: int) -> int:
    if not INT_RANGE[0] <= number <= INT_RANGE[1]:
        raise EvaluationError("a whole number does not fit 64 bits")
    return number


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero."""
    if b == 0:
        raise EvaluationError("division by zero")
    return _fitting(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def _rest(a: int, b: int) -> int:
    """With the sign of ``a``."""
    if b == 0:
        raise EvaluationError("division by zero")
    return a - b * _quotient(a, b)


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


_INTEGERS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: _fitting(a + b),
    "-": lambda a, b: _fitting(a - b),
    "*": lambda a, b: _fitting(a * b),
    "/": _quotient,
    "%": _rest,
}
_DOUBLES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
}


def _whole(number: float) -> int:
    if not math.isfinite(number):
        raise EvaluationError("int() of what is not finite")
    return _fitting(int(number))


_FUNCTIONS: Final[Mapping[tuple[str, ...], tuple[str, Callable[..., Any]]]] = {
    ("-_", INT): (INT, lambda a: _fitting(-a)),
    ("-_", DOUBLE): (DOUBLE, operator.neg),
    ("!_", BOOL): (BOOL, operator.not_),
    ("min", INT, INT): (INT, min),
    ("min", DOUBLE, DOUBLE): (DOUBLE, min),
    ("max", INT, INT): (INT, max),
    ("max", DOUBLE, DOUBLE): (DOUBLE, max),
    ("int", INT): (INT, int),
    ("int", DOUBLE): (INT, _whole),
    ("double", INT): (DOUBLE, float),
    ("double", DOUBLE): (DOUBLE, float),
    ("size", STRING): (INT, len),
    (".size", STRING): (INT, len),
    (".startsWith", STRING, STRING): (BOOL, str.startswith),
    (".endsWith", STRING, STRING): (BOOL, str.endswith),
    (".contains", STRING, STRING): (BOOL, operator.contains),
}
"""What there is by name and types: the type of the result, and how it is computed. A method's name begins with a dot."""


def call(name: str, arguments: Sequence[Node]) -> Node:
    types = tuple(argument.type for argument in arguments)
    found = _FUNCTIONS.get((name, *types))
    if found is None:
        known = [key for key in _FUNCTIONS if key[0] == name]
        accepted = " or ".join(_signature(*key) for key in known) or ", ".join(sorted({key[0] for key in _FUNCTIONS}))
        raise ExpressionError(f"found {_signature(name, *types)} (accepted: {accepted})")
    type_, compute = found
    return Node(type_, lambda values: compute(*(argument.run(values) for argument in arguments)))


def _signature(name: str, *types: str) -> str:
    """
    >>> _signature(".size", "string"), _signature("min", "int", "int")
    ('string.size()', 'min(int, int)')
    """
    if name.startswith("."):
        return f"{types[0]}{name}({', '.join(types[1:])})"
    return f"{name.rstrip('_')}{types[0]}" if name.endswith("_") else f"{name}({', '.join(types)})"
