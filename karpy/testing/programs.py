"""Programs by name, so that a line can say which one it plays."""

from __future__ import annotations

import importlib

from karpy.errors import InvalidObject, shown
from karpy.sim.processes.process import Program

__all__ = ["load_program", "name_of"]


def name_of(program: Program) -> str:
    """``module:function``; nothing for what no module has under that name."""
    module, name = getattr(program, "__module__", ""), getattr(program, "__qualname__", "")
    try:
        found = load_program(f"{module}:{name}")
    except InvalidObject:
        return ""
    return f"{module}:{name}" if found is program else ""


def load_program(name: str) -> Program:
    """The program of this name.

    Raises:
        InvalidObject: there is none.
    """
    module, mark, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute) if mark else None
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        raise InvalidObject(
            f"found {shown(name)}", path="--program", accepted="MODULE:FUNCTION, of a module that can be imported here"
        )
    program: Program = found
    return program
