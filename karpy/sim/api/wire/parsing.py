"""What Go's parsers say of a text that is no JSON or no YAML."""

from __future__ import annotations

import json
import re

import yaml

__all__ = ["parse_problem", "summary", "yaml_problem"]


_SUMMARY = 30
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
"""Brackets, and strings so that the brackets in them are passed over."""


def yaml_problem(error: Exception) -> str:
    """What Go's parser says of a text that is no YAML; it counts lines only after the first."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"yaml: {error}"
    line = error.problem_mark.line
    return f"yaml: line {line + 1}: {error.problem}" if line else f"yaml: {error.problem}"


def summary(body: bytes) -> str:
    """The beginning of a body that could not be read: as it is when it looks like JSON, in hexadecimal otherwise."""
    if not body:
        return "<empty>"
    more = " ..." if len(body) > _SUMMARY else ""
    start = body[:_SUMMARY]
    return (start.decode(errors="replace") if start[:1] == b"{" else start.hex()) + more


_PROBLEMS = {
    "Expecting property name": "looking for beginning of object key string",
    "Illegal trailing comma": "looking for beginning of object key string",
    "Expecting value": "looking for beginning of value",
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
    "Invalid control character": "in string literal",
    "Invalid \\escape": "in string escape code",
}
"""How Go says what Python's parser says, by the beginning of the latter."""


def parse_problem(text: str) -> str:
    """What Go's parser says of a text that is no JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        at = error.pos + len(text[error.pos :]) - len(text[error.pos :].lstrip())
        if at >= len(text) or error.msg.startswith("Unterminated string"):
            return "unexpected end of JSON input"
        told = next((go for python, go in _PROBLEMS.items() if error.msg.startswith(python)), "")
        if not told:
            inner = "array element" if _inside_array(text[:at]) else "object key:value pair"
            told = f"after {inner}"
        return f"invalid character {_go_character(text[at])} {told}"
    return "invalid character"


def _go_character(char: str) -> str:
    """A character in quotes, as Go prints it."""
    if char in "'\"":
        return {"'": r"'\''", '"': "'\"'"}[char]
    return f"'{char}'" if char.isprintable() else f"'\\u{ord(char):04x}'"


def _inside_array(text: str) -> bool:
    """Whether the innermost bracket that is open at the end of ``text`` is a square one."""
    open_brackets: list[str] = []
    for found in _BRACKETS.finditer(text):
        if found[0] in "[{":
            open_brackets.append(found[0])
        elif found[0] in "]}" and open_brackets:
            open_brackets.pop()
    return open_brackets[-1:] == ["["]
