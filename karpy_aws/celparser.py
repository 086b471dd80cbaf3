"""Reading the text of an expression in CEL into checked nodes; see `karpy_aws.kubeletcel` for how much of CEL that is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs

from karpy.errors import shown
from karpy_aws.celmeaning import (
    BOOL,
    DOUBLE,
    INT,
    INT_RANGE,
    STRING,
    ExpressionError,
    Node,
    arithmetic,
    call,
    choice,
    listed,
    logic,
    relation,
)

__all__ = ["parse"]

_MOST_LEVELS: Final = 50
_MOST_TOKENS: Final = 250
"""Nodes call each other, and Python's stack is not deep."""
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


def parse(source: str, variables: Mapping[str, str]) -> Node:
    """Read an expression that may name these variables, each of the type said.

    Raises:
        ExpressionError: naming the place and what is wrong there.
    """
    return _Parser(source, variables).parse()


class _Parser:
    """By recursive descent, the operators that bind weakest first."""

    def __init__(self, source: str, variables: Mapping[str, str]) -> None:
        self._tokens = _tokens(source)
        if len(self._tokens) > _MOST_TOKENS:
            raise ExpressionError(f"it has {len(self._tokens)} parts (accepted: at most {_MOST_TOKENS})")
        self._variables = variables
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
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

    def _ternary(self) -> Node:
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            raise ExpressionError(f"it is nested too deeply (accepted: {_MOST_LEVELS} levels)")
        node = self._or()
        if self._take("?"):
            yes = self._ternary()
            self._need(":")
            node = choice(node, yes, self._ternary())
        self._depth -= 1
        return node

    def _or(self) -> Node:
        node = self._and()
        while self._take("||"):
            node = logic(node, self._and(), decisive=True)
        return node

    def _and(self) -> Node:
        node = self._relation()
        while self._take("&&"):
            node = logic(node, self._relation(), decisive=False)
        return node

    def _relation(self) -> Node:
        node = self._sum()
        while sign := self._take(*_RELATIONS):
            node = relation(sign, node, self._sum())
        return node

    def _sum(self) -> Node:
        node = self._product()
        while sign := self._take("+", "-"):
            node = arithmetic(sign, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._unary()
        while sign := self._take("*", "/", "%"):
            node = arithmetic(sign, node, self._unary())
        return node

    def _unary(self) -> Node:
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
            node = call("!_" if sign == "!" else "-_", [node])
        return node

    def _members(self, node: Node) -> Node:
        while self._take("."):
            token = self._token
            if token.kind != "name":
                raise self._unexpected("the name of a function")
            self._next += 1
            self._need("(")
            node = call(f".{token.text}", [node, *self._arguments(")")])
        return node

    def _primary(self) -> Node:
        token = self._token
        if token.kind == "int":
            return self._integer(negative=False)
        if self._take("("):
            node = self._ternary()
            self._need(")")
            return node
        if self._take("["):
            return listed(self._arguments("]"))
        if token.kind not in ("double", "string", "name"):
            raise self._unexpected("a value")
        self._next += 1
        if token.kind == "double":
            number = float(token.text)
            return Node(DOUBLE, lambda _: number)
        if token.kind == "string":
            return _string(token)
        return call(token.text, self._arguments(")")) if self._take("(") else self._name(token)

    def _name(self, token: _Token) -> Node:
        if token.text in ("true", "false"):
            truth = token.text == "true"
            return Node(BOOL, lambda _: truth)
        if token.text not in self._variables:
            known = ", ".join(self._variables)
            raise ExpressionError(f"at character {token.at + 1}: {shown(token.text)} is not known (accepted: {known})")
        return Node(self._variables[token.text], lambda values: values[token.text])

    def _integer(self, *, negative: bool) -> Node:
        token = self._token
        self._next += 1
        digits = token.text
        number = int(digits, 16 if digits[:2].lower() == "0x" else 10) * (-1 if negative else 1)
        if not INT_RANGE[0] <= number <= INT_RANGE[1]:
            raise ExpressionError(f"at character {token.at + 1}: {digits} does not fit 64 bits")
        return Node(INT, lambda _: number)

    def _arguments(self, closing: str) -> list[Node]:
        found: list[Node] = []
        if self._take(closing):
            return found
        while True:
            found.append(self._ternary())
            if self._take(closing):
                return found
            self._need(",")


def _string(token: _Token) -> Node:
    def unescaped(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise ExpressionError(f"at character {token.at + 1}: escape \\{match[1]} is not known")
        return _ESCAPES[match[1]]

    value = re.sub(r"\\(.)", unescaped, token.text[1:-1])
    return Node(STRING, lambda _: value)
