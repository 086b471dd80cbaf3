"""What a controller is: something that is called with a name whenever the thing of that name may need work.

Controllers are level-triggered: they look at the world as it is, not at what changed. They never sleep, are safe to run
twice, and are safe to be killed at any call they make. Threads in production and one seeded loop in `karpy.sim` run the same
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import attrs
import msgspec

from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["DONE", "Controller", "Request", "Result", "Source", "by_name", "singleton", "when_new"]


class Request(msgspec.Struct, frozen=True, order=True, gc=False):
    """Look at the object of this name. A singleton controller gets the empty name."""

    name: str = ""
    namespace: str = ""


@attrs.frozen
class Result:
    """``requeue_after_s`` seconds from now look again; None: only when something changes. 0: at once, after the others."""

    requeue_after_s: float | None = None


DONE = Result()


@attrs.frozen
class Source:
    """Events of ``kind`` wake the controller with the requests that ``requests`` names. The event's object is raw JSON."""

    kind: Kind
    requests: Callable[[WatchEvent], Iterable[Request]]


def by_name(event: WatchEvent) -> tuple[Request, ...]:
    """The event's own object."""
    metadata = event.object["metadata"]
    return (Request(metadata["name"], metadata.get("namespace", "")),)


def singleton(_event: WatchEvent) -> tuple[Request, ...]:
    """The one request of a controller that looks at everything at once."""
    return (Request(),)


def when_new(requests: Callable[[WatchEvent], tuple[Request, ...]]) -> Callable[[WatchEvent], tuple[Request, ...]]:
    """The same requests, of things that were not there before alone."""
    return lambda event: requests(event) if event.type is EventType.ADDED else ()


class Controller(Protocol):
    """Observe, decide, act, report."""

    @property
    def name(self) -> str:
        """As in logs and metrics."""
        ...

    @property
    def sources(self) -> Sequence[Source]: ...

    def reconcile(self, request: Request) -> Result:
        """Do what is due now, and say when to look again.

        Raises:
            KarpyError: tried again with back-off.
        """
        ...
