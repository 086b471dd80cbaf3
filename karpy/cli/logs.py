"""Where the controllers of a running cluster log to: one line an event, for people on stderr, or as JSON for machines."""

from __future__ import annotations

import datetime as dt
import logging
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import structlog

from karpy.clock import Clock, SystemClock
from karpy.controllers.turns import TurnKeys

__all__ = ["LEVELS", "json_logger", "stderr_logger"]

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR}
"""What may be asked for, and how structlog counts it."""

_OBJECTS = frozenset({"Node", "NodeClaim", "NodePool", "Pod"})

Line = MutableMapping[str, Any]


def stderr_logger() -> Any:
    """A structlog logger with time, level and fields; in colour on a terminal."""
    return structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            _in_turn,
            _by_name,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0),
        ],
    )


def _in_turn(logger: Any, level: str, line: Line) -> Line:
    """Whose turn it is, and which object is looked at: what a person wants to know of it."""
    whole = TurnKeys(lambda: "")(logger, level, dict(line))
    return {key: value for key, value in whole.items() if key in line or key in _OBJECTS or key == "controller"}


def json_logger(stream: TextIO, level: str = "info", *, clock: Clock | None = None) -> Any:
    """A structlog logger that writes Karpenter's lines (core specification 8.3): JSON with level, time, logger and message first.

    ``level``: ``debug``, ``info`` or ``error``; what is below it is not written.
    """
    time = clock or SystemClock()

    def headed(_logger: Any, said: str, line: Line) -> Line:
        now = dt.datetime.fromtimestamp(time.now(), dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"level": said.upper(), "time": now, "logger": "controller", "message": line["event"]}
        return {**head, **_keyed(line)}

    return structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[TurnKeys(), headed, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )


def _keyed(line: Line) -> dict[str, Any]:
    """What controllers say with Python's names, by Karpenter's keys: with dashes, and objects as name and namespace."""
    said = {key.replace("_", "-"): value for key, value in line.items() if key != "event"}
    return {
        key: _named(value) if key in _OBJECTS else value for key, value in said.items() if key not in _OBJECTS or value
    }


def _named(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    namespace, _, name = value.rpartition("/")
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def _by_name(_logger: Any, _level: str, line: Line) -> Line:
    """Objects are shown to people by their names alone."""
    return {key: _short(value) for key, value in line.items()}


def _short(value: Any) -> Any:
    if isinstance(value, Mapping) and "name" in value and set(value) <= {"name", "namespace"}:
        return "/".join(value[key] for key in ("namespace", "name") if value.get(key))
    return value
