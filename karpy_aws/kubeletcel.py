"""Numbers that depend on the instance type, as expressions in CEL: ``min(110, vcpus * 8)``.

The part of the `Common Expression Language <https://cel.dev>`_ that such numbers need: whole numbers and doubles (which do not
mix), text, truth values and lists of them; arithmetic, comparison, logic, ``? :``, ``in``, conversions, a few questions about
text, and ``min`` and ``max``. Types are checked before anything is computed, so that a mistake shows for all instance types.
Left out on purpose is ``matches``: a pattern can be written that takes Python's regular expressions years.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy.errors import shown

__all__ = ["VARIABLES", "EvaluationError", "Expression", "ExpressionError", "compile_expression"]

INT: Final = "int"
DOUBLE: Final = "double"
STRING: Final = "string"
BOOL: Final = "bool"
_LIST: Final = "list of "

VARIABLES: Final[Mapping[str, str]] = {
    "vcpus": INT,
    "memory_mib": INT,
    "default_enis": INT,
    "ips_per_eni": INT,
    "max_pods": INT,
    "instance_type": STRING,
}

_MOST_CHARACTERS: Final = 2_000
_MOST_LEVELS: Final = 50
_INT_RANGE: Final = (-(2**63), 2**63 - 1)

Values = Mapping[str, int | str]


class ExpressionError(ValueError):
    """The expression has no meaning, whatever the instance type."""


class EvaluationError(ValueError):
    """The expression has no value for one instance type."""


@attrs.frozen
class Expression:
    """A checked expression; its value is a number."""

    source: str
    _run: Callable[[Values], Any]

    def value(self, values: Values) -> int:
        """The value for one instance type, without its fraction. ``values`` has all `VARIABLES`.

        Raises:
            EvaluationError: saying why there is none.

        >>> compile_expression("min(50, max_pods)").value({"max_pods": 29})
        29
        """
        result = self._run(values)
        if isinstance(result, float) and not math.isfinite(result):
            raise EvaluationError("the result is not finite")
        return int(result)


@functools.lru_cache(maxsize=1024)
def compile_expression(source: str) -> Expression:
    """Read and check an expression.

    Raises:
        ExpressionError: naming the place and what is wrong there.
    """
    if len(source) > _MOST_CHARACTERS:
        raise ExpressionError(f"it has {len(source)} characters (accepted: at most {_MOST_CHARACTERS})")
    node = _Parser(source).parse()
    if node.type not in (INT, DOUBLE):
        raise ExpressionError(f"it gives a {node.type} (accepted: an int or a double)")
    return Expression(source, node.run)


@attrs.frozen
class _Node:
    type: str
    run: Callable[[Values], Any]


# Reading

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<double>(?:[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?))
    |(?P<int>0[xX][0-9a-fA-F]+|[0-9]+)
    |(?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]])
    )""",
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "\\": "\\", "`": "`", "?": "?"}
_RELATIONS: Final = ("==", "!=", "<=", ">=", "<", ">", "in")


@attrs.frozen
class _Token:
    kind: str
    text: str
    at: int


def _tokens(source: str) -> list[_Token]:
    found, position = [], 0
    end = len(source.rstrip())
    while position < end:
        match = _TOKEN.match(source, position)
        if match is None or match.lastgroup is None:
            start = position + len(source[position:]) - len(source[position:].lstrip())
            raise ExpressionError(f"at character {start + 1}: {source[start]!r} has no meaning here")
        found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    return [*found, _Token("end", "the end", end)]


class _Parser:
    """By recursive descent, the operators that bind weakest first."""

    def __init__(self, source: str) -> None:
        self._tokens = _tokens(source)
        self._next = 0
        self._depth = 0

    def parse(self) -> _Node:
        node = self._ternary()
        if self._token.kind != "end":
            raise self._unexpected()
        return node

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> str:
        """The next token when it is one of ``texts``, else nothing."""
        token = self._token
        if token.kind in ("sign", "name") and token.text in texts:
            self._next += 1
            return token.text
        return ""

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise self._unexpected(f"{text!r}")

    def _unexpected(self, accepted: str = "") -> ExpressionError:
        told = f" (accepted: {accepted})" if accepted else ""
        return ExpressionError(f"at character {self._token.at + 1}: found {shown(self._token.text)}{told}")

    def _ternary(self) -> _Node:
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            raise ExpressionError(f"it is nested too deeply (accepted: {_MOST_LEVELS} levels)")
        node = self._or()
        if self._take("?"):
            yes = self._ternary()
            self._need(":")
            node = _choice(node, yes, self._ternary())
        self._depth -= 1
        return node

    def _or(self) -> _Node:
        node = self._and()
        while self._take("||"):
            node = _logic(node, self._and(), decisive=True)
        return node

    def _and(self) -> _Node:
        node = self._relation()
        while self._take("&&"):
            node = _logic(node, self._relation(), decisive=False)
        return node

    def _relation(self) -> _Node:
        node = self._sum()
        while sign := self._take(*_RELATIONS):
            node = _relation(sign, node, self._sum())
        return node

    def _sum(self) -> _Node:
        node = self._product()
        while sign := self._take("+", "-"):
            node = _arithmetic(sign, node, self._product())
        return node

    def _product(self) -> _Node:
        node = self._unary()
        while sign := self._take("*", "/", "%"):
            node = _arithmetic(sign, node, self._unary())
        return node

    def _unary(self) -> _Node:
        signs = []
        while sign := self._take("-", "!"):
            signs.append(sign)
        # The least integer has no positive counterpart, so its sign belongs to the literal.
        if signs and signs[-1] == "-" and self._token.kind == "int":
            signs.pop()
            node = self._members(self._integer(negative=True))
        else:
            node = self._members(self._primary())
        for sign in reversed(signs):
            node = _call("!_" if sign == "!" else "-_", [node])
        return node

    def _members(self, node: _Node) -> _Node:
        while self._take("."):
            token = self._token
            if token.kind != "name":
                raise self._unexpected("the name of a function")
            self._next += 1
            self._need("(")
            node = _call(f".{token.text}", [node, *self._arguments(")")])
        return node

    def _primary(self) -> _Node:
        token = self._token
        if token.kind == "int":
            return self._integer(negative=False)
        if self._take("("):
            node = self._ternary()
            self._need(")")
            return node
        if self._take("["):
            return _list(self._arguments("]"))
        if token.kind not in ("double", "string", "name"):
            raise self._unexpected("a value")
        self._next += 1
        if token.kind == "double":
            number = float(token.text)
            return _Node(DOUBLE, lambda _: number)
        if token.kind == "string":
            return _string(token)
        return _call(token.text, self._arguments(")")) if self._take("(") else _name(token)

    def _integer(self, *, negative: bool) -> _Node:
        token = self._token
        self._next += 1
        digits = token.text
        number = int(digits, 16 if digits[:2].lower() == "0x" else 10) * (-1 if negative else 1)
        if not _INT_RANGE[0] <= number <= _INT_RANGE[1]:
            raise ExpressionError(f"at character {token.at + 1}: {digits} does not fit 64 bits")
        return _Node(INT, lambda _: number)

    def _arguments(self, closing: str) -> list[_Node]:
        found: list[_Node] = []
        if self._take(closing):
            return found
        while True:
            found.append(self._ternary())
            if self._take(closing):
                return found
            self._need(",")


def _string(token: _Token) -> _Node:
    def unescaped(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise ExpressionError(f"at character {token.at + 1}: escape \\{match[1]} is not known")
        return _ESCAPES[match[1]]

    value = re.sub(r"\\(.)", unescaped, token.text[1:-1])
    return _Node(STRING, lambda _: value)


def _name(token: _Token) -> _Node:
    if token.text in ("true", "false"):
        truth = token.text == "true"
        return _Node(BOOL, lambda _: truth)
    if token.text not in VARIABLES:
        raise ExpressionError(
            f"at character {token.at + 1}: {shown(token.text)} is not known (accepted: {', '.join(VARIABLES)})"
        )
    return _Node(VARIABLES[token.text], lambda values: values[token.text])


# Meaning


def _list(items: Sequence[_Node]) -> _Node:
    types = {item.type for item in items}
    if len(types) != 1:
        raise ExpressionError("a list has no items, or items of several types (accepted: items of one type)")
    return _Node(_LIST + types.pop(), lambda values: [item.run(values) for item in items])


def _choice(condition: _Node, yes: _Node, no: _Node) -> _Node:
    if condition.type != BOOL or yes.type != no.type:
        found = f"{condition.type} ? {yes.type} : {no.type}"
        raise ExpressionError(f"found {found} (accepted: bool ? a : b with a and b of one type)")
    return _Node(yes.type, lambda values: (yes if condition.run(values) else no).run(values))


def _logic(left: _Node, right: _Node, *, decisive: bool) -> _Node:
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

    return _Node(BOOL, run)


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _relation(sign: str, left: _Node, right: _Node) -> _Node:
    if sign == "in":
        if right.type != _LIST + left.type:
            raise ExpressionError(f"found {left.type} in {right.type} (accepted: a value in a list of its type)")
        return _Node(BOOL, lambda values: left.run(values) in right.run(values))
    if left.type != right.type or (left.type.startswith(_LIST) and sign not in ("==", "!=")):
        raise ExpressionError(f"found {left.type} {sign} {right.type} (accepted: two values of one type)")
    compare = _COMPARISONS[sign]
    return _Node(BOOL, lambda values: compare(left.run(values), right.run(values)))


def _arithmetic(sign: str, left: _Node, right: _Node) -> _Node:
    kinds = (INT, DOUBLE, STRING) if sign == "+" else (INT,) if sign == "%" else (INT, DOUBLE)
    if left.type != right.type or left.type not in kinds:
        accepted = " or ".join(f"{kind} {sign} {kind}" for kind in kinds)
        raise ExpressionError(f"found {left.type} {sign} {right.type} (accepted: {accepted})")
    compute = {INT: _INTEGERS, DOUBLE: _DOUBLES, STRING: {"+": operator.add}}[left.type][sign]
    return _Node(left.type, lambda values: compute(left.run(values), right.run(values)))


def _fitting(number: int) -> int:
    if not _INT_RANGE[0] <= number <= _INT_RANGE[1]:
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


def _call(name: str, arguments: Sequence[_Node]) -> _Node:
    types = tuple(argument.type for argument in arguments)
    found = _FUNCTIONS.get((name, *types))
    if found is None:
        known = [key for key in _FUNCTIONS if key[0] == name]
        accepted = " or ".join(_signature(*key) for key in known) or ", ".join(sorted({key[0] for key in _FUNCTIONS}))
        raise ExpressionError(f"found {_signature(name, *types)} (accepted: {accepted})")
    type_, compute = found
    return _Node(type_, lambda values: compute(*(argument.run(values) for argument in arguments)))


def _signature(name: str, *types: str) -> str:
    """
    >>> _signature(".size", "string"), _signature("min", "int", "int")
    ('string.size()', 'min(int, int)')
    """
    if name.startswith("."):
        return f"{types[0]}{name}({', '.join(types[1:])})"
    return f"{name.rstrip('_')}{types[0]}" if name.endswith("_") else f"{name}({', '.join(types)})"
