"""Do the machines of a pool join the cluster? What the last few did, as one condition of the pool (core specification 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.lifecycle.conditions import AWAITING, AWAITING_MESSAGE
from karpy.objects.meta import Condition, find_condition
from karpy.objects.nodepool import NodePool

__all__ = [
    "AWAITED",
    "HEALTHY",
    "REGISTRATION_FAILED",
    "REGISTRATION_FAILED_MESSAGE",
    "REGISTRATION_HEALTHY",
    "History",
    "class_generation",
    "current_health",
    "unhealthy",
]

REGISTRATION_HEALTHY = "NodeRegistrationHealthy"
REGISTRATION_FAILED = "RegistrationFailed"
REGISTRATION_FAILED_MESSAGE = "Failed to register node"

AWAITED = Condition(REGISTRATION_HEALTHY, "Unknown", AWAITING, AWAITING_MESSAGE)
"""Nothing is known of the pool as it is now."""

_REMEMBERED = 4
_UNHEALTHY_FROM = 2


HEALTHY = Condition(REGISTRATION_HEALTHY, "True", REGISTRATION_HEALTHY, "")


def unhealthy(reason: str, message: str) -> Condition:
    """What is said of a pool of which the newest machine failed for this reason."""
    return Condition(REGISTRATION_HEALTHY, "False", reason, message)


@attrs.frozen
class History:
    """Whether each of the last four machines joined, the newest last.

    >>> History().after(joined=False).after(joined=False).is_healthy
    False
    """

    joined: tuple[bool, ...] = ()

    @classmethod
    def of(cls, known: Condition | None) -> History:
        """What a condition tells of machines that nobody remembers any more."""
        if known is None or known.status not in ("True", "False"):
            return cls()
        return cls((True,) if known.is_true else (False,) * _UNHEALTHY_FROM)

    def after(self, *, joined: bool) -> History:
        """The same with one machine more; this one stays as it is."""
        return History((*self.joined, joined)[-_REMEMBERED:])

    @property
    def is_healthy(self) -> bool:
        """Whether at the most one of them failed."""
        return self.joined.count(False) < _UNHEALTHY_FROM


def class_generation(node_class: Mapping[str, Any] | None) -> int | None:
    """Which version of a pool's node class there is; None where there is none."""
    return None if node_class is None else int(node_class["metadata"].get("generation") or 0)


def current_health(pool: NodePool, generation: int | None) -> Condition | None:
    """What is known of the pool as it is now, with its node class of this generation: nothing that is about another version of
    either."""
    known = find_condition(pool.conditions, REGISTRATION_HEALTHY)
    if known is None or known.observed_generation != (pool.metadata.generation or None):
        return None
    return known if pool.class_generation in (None, generation) else None
