"""MIME multipart archives, the form in which cloud-init and nodeadm take several files at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.message import Message
from email.parser import HeaderParser
from typing import Final

import attrs

from karpy.errors import InvalidObject, shown

__all__ = ["Part", "is_archive", "read_parts", "shell_part", "write_parts"]

SHELL: Final = 'text/x-shellscript; charset="us-ascii"'
_PATH: Final = "spec.userData"
_ARCHIVE: Final = re.compile(r"\s*(mime-version|content-type):", re.IGNORECASE)
_BOUNDARY: Final = "//"


@attrs.frozen
class Part:
    """One file: its headers in their order, and what is in it."""

    headers: tuple[tuple[str, str], ...]
    body: str


def shell_part(body: str) -> Part:
    return Part((("Content-Type", SHELL),), body)


def is_archive(text: str) -> bool:
    """Whether a user means ``text`` as an archive, well made or not."""
    return _ARCHIVE.match(text) is not None


def read_parts(text: str) -> tuple[Part, ...]:
    """The parts of an archive. What is in them is not looked at: a part may be an archive again.

    Raises:
        InvalidObject: it is no multipart archive, or its end is missing.
    """
    archive = HeaderParser().parsestr(text.replace("\r", "").lstrip())
    if archive.get_content_maintype() != "multipart":
        kind = archive.get_content_type()
        raise InvalidObject(f"it is {shown(kind)}", path=_PATH, accepted="a multipart archive (multipart/mixed)")
    boundary = archive.get_boundary()
    if not boundary:
        raise InvalidObject(
            "the archive names no boundary", path=_PATH, accepted='Content-Type: multipart/mixed; boundary="…"'
        )
    return tuple(_read_part(lines) for lines in _between(_payload(archive).split("\n"), f"--{boundary}"))


def _between(lines: Sequence[str], delimiter: str) -> list[str]:
    """What stands between delimiters; the line break before one is part of it."""
    parts: list[list[str]] = []
    for line in lines:
        marked = line.rstrip(" \t")
        if marked == f"{delimiter}--":
            return ["\n".join(part) for part in parts]
        if marked == delimiter:
            parts.append([])
        elif parts:
            parts[-1].append(line)
    raise InvalidObject(
        "the archive breaks off",
        path=_PATH,
        accepted=f"{shown(f'{delimiter}--')} on a line of its own after its last part",
    )


def _read_part(text: str) -> Part:
    message = HeaderParser().parsestr(text)
    return Part(tuple((name, str(value)) for name, value in message.items()), _payload(message))


def _payload(message: Message) -> str:
    return str(message.get_payload())


def write_parts(parts: Sequence[Part]) -> str:
    """An archive of these parts, lines ended as Unix does."""
    boundary = _BOUNDARY
    while any(f"--{boundary}" in part.body for part in parts):
        boundary += "/"
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{boundary}"', ""]
    for part in parts:
        lines += [f"--{boundary}", *(f"{name}: {value}" for name, value in part.headers), "", part.body]
    return "\n".join([*lines, f"--{boundary}--", ""]).replace("\r", "")
