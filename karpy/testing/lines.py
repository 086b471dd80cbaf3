"""Weather on a line: read back what its ``repr()`` wrote."""

from __future__ import annotations

import ast
from typing import Any

from karpy.errors import InvalidObject, shown
from karpy.sim import weather as weathers
from karpy.sim.weather import Weather

__all__ = ["parse_weather"]


def parse_weather(text: str) -> Weather:
    """Read the call of `Weather` that its ``repr()`` is. Nothing else is called, whatever the text says.

    Raises:
        InvalidObject: it is none.
    """
    values = {name: getattr(weathers, name) for name in weathers.__all__}

    def read(node: ast.AST) -> Any:
        if isinstance(node, ast.Tuple):
            return tuple(map(read, node.elts))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in values:
            named = {word.arg: read(word.value) for word in node.keywords if word.arg}
            return values[node.func.id](*map(read, node.args), **named)
        return ast.literal_eval(node)

    try:
        found = read(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, ValueError) as error:
        if isinstance(error, InvalidObject):
            raise
        found = None
    if not isinstance(found, Weather):
        raise InvalidObject(
            f"found {shown(text)}", object_name="Weather", accepted="text like 'Weather(lasts_s=240.0)'"
        )
    return found
