"""Reports to stdout, complaints to stderr."""

from __future__ import annotations

import shutil
import sys

from karpy.errors import InvalidObject

__all__ = ["complain", "show", "width"]

_WIDTH = 100
"""Columns of a report that does not go to a terminal."""


def show(text: str) -> None:
    """At once: whoever feeds us line by line gets answers line by line."""
    sys.stdout.write(text)
    sys.stdout.flush()


def complain(error: InvalidObject) -> None:
    """One line for each problem."""
    sys.stderr.write("".join(f"karpy: {line}\n" for line in str(error).splitlines()))


def width() -> int:
    return shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
