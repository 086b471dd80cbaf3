"""Plain tables, as kubectl prints them: columns padded with spaces, no lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["table"]

_GAP = 3


def table(head: Sequence[str], rows: Iterable[Sequence[str]], gap: int = _GAP) -> str:
    """The rows under their heads, ``gap`` spaces between columns, without a newline at the end.

    >>> print(table(("NAME", "AGE"), [("web", "3s"), ("a", "12m")]))
    NAME   AGE
    web    3s
    a      12m
    """
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) + gap for column in range(len(head))]
    padded = ("".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)
