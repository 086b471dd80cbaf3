"""The files that a plan is made from: manifests, and recorded scenarios beside them.

A file whose name ends in ``.jsonl`` holds one scenario a line and is read line by line, however long it is. A JSON object
with ``objects`` is a scenario; everything else is manifests. Any file may be compressed (``.gz``). ``-`` is standard
input, which is read line by line when lines are asked for.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects.manifest import Manifests, Schemas, read_manifests
from karpy.scenarios.catalogue import expanded
from karpy.scenarios.recorded import Recorded, is_recorded, parse_recorded, read_recorded

__all__ = ["Lines", "Sources", "open_sources"]

STDIN = Path("-")
_UNREADABLE = (OSError, EOFError, zlib.error)


@attrs.frozen
class Lines:
    """Which lines of a file count: the one with this number, counted from 1, or all of them."""

    number: int | None = None
    every: bool = False

    @property
    def are_asked_for(self) -> bool:
        return self.every or self.number is not None


@attrs.frozen
class FoundScenario:
    """A scenario, or what is wrong with it, and the file that it stands in."""

    path: Path
    scenario: Recorded | InvalidObject


@attrs.frozen
class Sources:
    """``manifests`` are the objects of all files that are no scenarios; ``scenarios`` are read while they are gone through."""

    manifests: Manifests
    scenarios: Iterator[FoundScenario] | None
    """None where no file holds any."""


def open_sources(paths: Sequence[Path], lines: Lines, schemas: Schemas | None = None) -> Sources:
    """Read the manifests among these files, and get ready to read the scenarios.

    Raises:
        InvalidObject: a file cannot be read, or manifests cannot be used; every problem is named, one a line.
    """
    manifests = Manifests()
    parts: list[Iterable[FoundScenario]] = []
    for path in expanded(paths):
        if is_line_by_line(path) or (path == STDIN and lines.are_asked_for):
            parts.append(_recorded_lines(path, lines))
            continue
        text = _text(path)
        document = _json(text)
        if is_recorded(document):
            parts.append([_attempt(path, document)])
        else:
            manifests += read_manifests(text, _name(path), schemas)
    if not (parts or manifests.objects or manifests.problems):
        names = ", ".join(map(_name, paths))
        raise InvalidObject("there are no objects", object_name=names, accepted="manifests, or a scenario")
    if manifests.problems:
        raise InvalidObject("\n".join(str(problem) for problem in manifests.problems))
    return Sources(manifests, (each for part in parts for each in part) if parts else None)


def is_line_by_line(path: Path) -> bool:
    """Whether the file holds one scenario a line."""
    return path.name.removesuffix(".gz").endswith(".jsonl")


def _name(path: Path) -> str:
    return "standard input" if path == STDIN else str(path)


def _open(path: Path) -> BinaryIO:
    if path == STDIN:
        return sys.stdin.buffer
    return cast("BinaryIO", gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb"))


def _text(path: Path) -> str:
    try:
        with _open(path) as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not text in UTF-8: {error.reason} at byte {error.start}"
        raise InvalidObject(problem, object_name=_name(path)) from None
    except _UNREADABLE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InvalidObject:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return InvalidObject(f"cannot be read: {reason}", object_name=_name(path))


def _json(text: str) -> Any:
    """The text as JSON; None when it is none."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _attempt(path: Path, document: Any) -> FoundScenario:
    try:
        return FoundScenario(path, read_recorded(document, _name(path)))
    except InvalidObject as error:
        return FoundScenario(path, error)


def _recorded_lines(path: Path, lines: Lines) -> Iterator[FoundScenario]:
    """The scenarios of a file that holds one a line; blank lines are passed over."""
    number = found = 0
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
                if number == lines.number or (lines.every and line.strip()):
                    found += 1
                    yield _line(path, number, line)
                    if not lines.every:
                        return
    except _UNREADABLE as error:
        raise _unreadable(path, error) from None
    if not found:
        problem, path_in_it = (f"found {lines.number}", "--line") if lines.number and number else ("is empty", "")
        accepted = f"1 to {number}" if path_in_it else "one JSON object a line"
        raise InvalidObject(problem, path=path_in_it, object_name=_name(path), accepted=accepted)


def _line(path: Path, number: int, line: bytes) -> FoundScenario:
    try:
        return FoundScenario(path, parse_recorded(line, f"{_name(path)}: line {number}"))
    except InvalidObject as error:
        return FoundScenario(path, error)
