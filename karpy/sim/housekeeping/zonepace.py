"""How fast a cluster gives up on nodes: one by one in each zone, slower when much of a zone is gone, not at all when all is.

A zone that loses most of its nodes at once has more likely lost its network. Source: the node lifecycle controller of Kubernetes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import attrs

from karpy import labels
from karpy.kube.client import RawObject

__all__ = ["Health", "ZonePace", "zone_of"]

Zone = tuple[str, str]
"""Region and zone; empty for nodes without these labels."""

USUAL_S = 10.0
REDUCED_S = 100.0
UNHEALTHY_SHARE = 0.55
_TOO_FEW_TO_TELL = 2
_LARGE_ZONE = 50
"""In a zone of no more nodes, nothing at all is given up on while most of it is unhealthy."""


def zone_of(node: RawObject) -> Zone:
    """Where the node is."""
    held = node["metadata"].get("labels") or {}
    return held.get(labels.REGION, ""), held.get(labels.ZONE, "")


@attrs.define
class Health:
    """How many nodes of each zone are ready and how many are not."""

    ready: Counter[Zone] = attrs.field(factory=Counter)
    unready: Counter[Zone] = attrs.field(factory=Counter)

    @classmethod
    def of(cls, nodes: Iterable[tuple[Zone, bool]]) -> Health:
        """Of zones and whether the nodes in them are ready."""
        found = cls()
        for zone, is_ready in nodes:
            found.count(zone, 1, is_ready=is_ready)
        return found

    def count(self, zone: Zone, sign: int, *, is_ready: bool) -> None:
        """A node has come (1) or gone (-1)."""
        (self.ready if is_ready else self.unready)[zone] += sign

    @property
    def is_lost(self) -> bool:
        """Whether no node at all is ready: then it is the controller that is cut off."""
        return not any(self.ready.values())

    def pause_s(self, zone: Zone) -> float | None:
        """Seconds between one node and the next in a zone; None while none is given up on."""
        if self.is_lost:
            return None
        ready, unready = self.ready[zone], self.unready[zone]
        if ready and unready > _TOO_FEW_TO_TELL and unready / (ready + unready) >= UNHEALTHY_SHARE:
            return REDUCED_S if ready + unready > _LARGE_ZONE else None
        return USUAL_S


class ZonePace:
    """When the next node of a zone may be given up on."""

    def __init__(self) -> None:
        self._last: dict[Zone, float] = {}

    def wait_s(self, zone: Zone, health: Health, now: float) -> float | None:
        """0 when it may be done now, and then it counts as done; else how long to wait, or None while nobody can tell."""
        pause = health.pause_s(zone)
        if pause is None:
            return None
        due = self._last.get(zone, now - pause) + pause
        if due > now:
            return due - now
        self._last[zone] = now
        return 0.0
