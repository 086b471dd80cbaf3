"""A readable log of everything that controllers asked of the API server and of the cloud, and what they were answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import attrs

from karpy.clock import format_time
from karpy.objects.kinds import Kind
from karpy.sim.faults import Fault

__all__ = ["Call", "Trace"]

_REMEMBERED = 100_000


@attrs.define(eq=False, kw_only=True)
class Call:
    """One call across the boundary. ``kind`` is None for the cloud, whose objects are named by provider id or claim."""

    number: int
    at: float
    who: str
    verb: str
    kind: Kind | None
    name: str
    namespace: str = ""
    body: Any = None
    """What was sent: an object, a patch, a claim."""
    subresource: str = ""
    fault: Fault | None = None
    answer: str = ""
    """``ok``, what was refused and why, or how the process ended."""
    ends_at: float | None = None
    """When a slow call will be over."""
    result: Any = None
    """What the other side answered, if it did and the call was not lost."""

    @property
    def is_of_cloud(self) -> bool:
        return self.kind is None

    @property
    def is_write(self) -> bool:
        return self.verb not in _READS

    @property
    def is_ok(self) -> bool:
        """Whether it took effect, whatever the process heard of it."""
        return self.answer.startswith("ok")

    @property
    def object(self) -> str:
        """``nodes/node-1``, ``pods/default/web-0/eviction``, ``cloud/sim:///…``."""
        where = "cloud" if self.kind is None else self.kind.resource
        return "/".join(filter(None, (where, self.namespace, self.name, self.subresource)))

    def __str__(self) -> str:
        """``09:00:12.250 #41 karpy create nodeclaims.karpenter.sh/default-x → ok``."""
        clock = f"{format_time(self.at)[11:19]}.{int(self.at * 1000) % 1000:03d}"
        return f"{clock} #{self.number} {self.who} {self.verb} {self.object} → {self.answer}"


_READS = frozenset({"get", "list", "watch", "receive", "resolve"})


class Trace:
    """The calls of one world in order; the oldest are forgotten after very many."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque(maxlen=_REMEMBERED)

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __str__(self) -> str:
        """One line for each call."""
        return "\n".join(map(str, self._calls))
