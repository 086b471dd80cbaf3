"""Where the controllers of a running cluster log to: stderr, one line an event."""

from __future__ import annotations

import sys
from typing import Any

import structlog

__all__ = ["stderr_logger"]


def stderr_logger() -> Any:
    """A structlog logger with time, level and fields; in colour on a terminal."""
    return structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0),
        ],
    )
