"""`Happening`: one thing that happened in a cluster, as a value; as one line of text or of JSON."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any

import attrs

from karpy.clock import format_time

__all__ = ["Happening", "What", "clock_text"]


class What(enum.Enum):
    """The kinds of event; the value stands in the JSON."""

    NOTE = "note"
    SCALE = "scale"
    PODS_PENDING = "pods-pending"
    PODS_BOUND = "pods-bound"
    PODS_RUNNING = "pods-running"
    PODS_GONE = "pods-gone"
    LAUNCH_DECIDED = "launch-decided"
    UNSCHEDULABLE = "unschedulable"
    DISRUPTION_DECIDED = "disruption-decided"
    CLAIM_CREATED = "claim-created"
    CLAIM_LAUNCHED = "claim-launched"
    NODE_JOINED = "node-joined"
    NODE_READY = "node-ready"
    NODE_DRAINING = "node-draining"
    NODE_TERMINATING = "node-terminating"
    CLAIM_GONE = "claim-gone"


@attrs.frozen(eq=False)
class Happening:
    """``at`` is seconds since the epoch; ``text`` is for people, ``fields`` for programs."""

    at: float
    what: What
    text: str
    fields: Mapping[str, Any] = attrs.field(factory=dict)

    def to_line(self, start: float) -> str:
        """For people: the time since ``start``, what, and the text."""
        return f"{clock_text(self.at - start)}  {self.what.value:<19} {self.text}"

    def to_json(self, start: float) -> str:
        """For programs: one JSON object; ``seconds`` counts from ``start``."""
        head = {"time": format_time(self.at), "seconds": round(self.at - start, 3), "event": self.what.value}
        return json.dumps({**head, **self.fields, "text": self.text}, ensure_ascii=False)


def clock_text(seconds: float) -> str:
    """Minutes and seconds.

    >>> clock_text(754.2)
    '12:34'
    """
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"
