"""What a watch says: an object was added, changed or removed.

It lives here so that the Kubernetes client need not know the cluster state, nor the state the client.
"""

from __future__ import annotations

import enum
from typing import Any

import attrs

from karpy.objects.kinds import Kind

__all__ = ["EventType", "WatchEvent"]


class EventType(enum.Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@attrs.frozen
class WatchEvent:
    """``object`` is the state after the event, or the last known state for ``DELETED``.

    It is the JSON object as the API server sent it in `karpy.kube`, and a decoded value of `karpy.objects` from there on.
    """

    type: EventType
    kind: Kind
    object: Any
