"""How the fake says no: a code, a message and an HTTP status, without knowing which call it was."""

from __future__ import annotations

import attrs

__all__ = ["Refused"]


@attrs.frozen
class Refused(Exception):
    """What AWS answers instead."""

    code: str
    message: str = ""
    status: int = 400
