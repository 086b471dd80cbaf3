"""How long a machine of a pool may take to be launched and to join, where the pool says so itself.

Karpenter has one limit for all pools. Machines with much to set up, such as those with accelerators, take longer than others, so
a pool may carry the annotations `LAUNCH_TIMEOUT` and `REGISTRATION_TIMEOUT` with a duration each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karpy.errors import InvalidObject, shown
from karpy.objects.duration import parse_duration

__all__ = ["LAUNCH_TIMEOUT", "REGISTRATION_TIMEOUT", "time_limit"]

LAUNCH_TIMEOUT: Final = "karpy.dev/launch-timeout"
REGISTRATION_TIMEOUT: Final = "karpy.dev/registration-timeout"

_ACCEPTED = 'a duration above zero, such as "90s" or "20m"'


def time_limit(annotations: Mapping[str, str], key: str) -> float | None:
    """Seconds; None where the annotation is not there.

    Raises:
        InvalidObject: it is no duration above zero. Without a limit a machine that never comes would be waited for for ever.

    >>> time_limit({LAUNCH_TIMEOUT: "20m"}, LAUNCH_TIMEOUT)
    1200.0
    """
    text = annotations.get(key)
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except InvalidObject:
        seconds = 0.0
    if seconds <= 0:
        raise InvalidObject(f"found {shown(text)}", path=f"metadata.annotations[{key}]", accepted=_ACCEPTED)
    return seconds
