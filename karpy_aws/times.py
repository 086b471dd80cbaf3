"""Moments as AWS gives them: objects from the SDK, text in messages and recordings."""

from __future__ import annotations

import datetime as dt
from typing import Any

from karpy.clock import parse_time
from karpy.errors import InvalidObject

__all__ = ["moment"]


def moment(found: Any, path: str) -> float:
    """Seconds since the epoch.

    Raises:
        InvalidObject: with ``path``.

    >>> moment("1970-01-01T00:01:00Z", "EndDate"), moment(dt.datetime.fromtimestamp(60, dt.UTC), "EndDate")
    (60.0, 60.0)
    """
    if isinstance(found, dt.datetime):
        return found.timestamp()
    try:
        return parse_time(found) if isinstance(found, str) else float(found)
    except InvalidObject as error:
        raise error.at(path=path) from None
    except (TypeError, ValueError):
        raise InvalidObject(f"{found!r} is not a time", path=path, accepted="a time") from None
