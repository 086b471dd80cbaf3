"""Parts of the cells of printed tables: ages, and what several kinds show alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from karpy.clock import parse_time

__all__ = ["NONE", "UNKNOWN", "UNSET", "Cells", "Object", "age", "containers", "created", "duration", "parts"]

Object = Mapping[str, Any]
Cells = Callable[[Object, float], list[Any]]
NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"


def duration(seconds: float) -> str:
    """A span of time as kubectl prints ages: the two largest units that matter.

    >>> duration(90), duration(3600 * 50), duration(86400 * 10)
    ('90s', '2d2h', '10d')
    """
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole > -2 else "<invalid>"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    steps = (
        (whole < 120, f"{whole}s"),
        (minutes < 10, _two(minutes, "m", whole % 60, "s")),
        (minutes < 180, f"{minutes}m"),
        (hours < 8, _two(hours, "h", minutes % 60, "m")),
        (hours < 48, f"{hours}h"),
        (hours < 192, _two(days, "d", hours % 24, "h")),
        (days < 730, f"{days}d"),
        (days < 2920, _two(days // 365, "y", days % 365, "d")),
    )
    return next((text for holds, text in steps if holds), f"{days // 365}y")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def age(time: Any, now: float) -> str:
    """How long ago a time of the API was; ``<unknown>`` when there is none."""
    return duration(now - parse_time(time)) if time else UNKNOWN


def created(obj: Object, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def parts(obj: Object) -> tuple[str, Object, Object]:
    return obj["metadata"]["name"], obj.get("spec") or {}, obj.get("status") or {}


def containers(spec: Object) -> tuple[str, str]:
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or ()
    names = ",".join(container.get("name", "") for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)
