"""HTTP answers as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.wire.views import encode

__all__ = ["JSON", "TEXT", "Answer", "page_not_found", "shown", "told"]

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@attrs.frozen
class Answer:
    """An HTTP answer; ``warnings`` become ``Warning`` headers."""

    code: int
    body: bytes
    content_type: str = JSON
    warnings: tuple[str, ...] = ()
    retry_after_s: float = 0.0


def shown(obj: Mapping[str, Any], code: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
    """An object as JSON."""
    return Answer(code, encode(obj), JSON, warnings)


def told(error: KubeError, warnings: tuple[str, ...] = ()) -> Answer:
    """An error as the ``Status`` that tells it."""
    return Answer(error.code, encode(status.status_object(error)), JSON, warnings, error.retry_after_s)


def page_not_found() -> Answer:
    return Answer(404, b"404 page not found\n", TEXT)
