"""Events are kept for an hour, as a real API server keeps them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["EventExpiry"]

KEPT_S = 3600.0
SWEEP_S = 60.0


class EventExpiry:
    """Deletes Events an hour after they were made."""

    name = "event-expiry"

    def __init__(self, kube: KubeClient, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._ages: deque[tuple[float, str, str]] = deque()

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.EVENT, self._take),)

    def _take(self, event: WatchEvent) -> Sequence[Request]:
        if event.type is not EventType.ADDED:
            return ()
        metadata = event.object["metadata"]
        is_first = not self._ages
        self._ages.append((parse_time(metadata["creationTimestamp"]), metadata["namespace"], metadata["name"]))
        return (Request(),) if is_first else ()

    def reconcile(self, request: Request) -> Result:
        del request
        now = self._clock.now()
        while self._ages and self._ages[0][0] + KEPT_S <= now:
            _, namespace, name = self._ages.popleft()
            try:
                self._kube.delete(kinds.EVENT, name, namespace)
            except KubeError as error:
                if not error.not_found:
                    raise
        if not self._ages:
            return DONE
        return Result(max(self._ages[0][0] + KEPT_S - now, SWEEP_S))
