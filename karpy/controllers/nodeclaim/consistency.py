"""Claims whose node has less than was bought say so: when they come up, and every ten minutes from then on.

What is learned from such a machine for the next ones is another matter: see `karpy.cloud.measured`. Source: core specification 4.7.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.lifecycle.consistency import consistency, shortfalls
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.nodeclaim import INITIALIZED
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["Consistency"]

_EVERY_S = 600.0


class Consistency:
    """Looks at each claim that is up. Which ones it looks after already is remembered to save work; a restart looks at all."""

    name = "nodeclaim.consistency"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._looked_after: set[str] = set()

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, self._when_up),)

    def _when_up(self, event: WatchEvent) -> tuple[Request, ...]:
        """Once for each claim, as soon as it is initialized."""
        metadata = event.object["metadata"]
        uid = metadata.get("uid", "")
        if event.type is EventType.DELETED or metadata.get("deletionTimestamp"):
            self._looked_after.discard(uid)
            return ()
        if uid in self._looked_after:
            return ()
        conditions = (event.object.get("status") or {}).get("conditions") or ()
        if not any(each.get("type") == INITIALIZED and each.get("status") == "True" for each in conditions):
            return ()
        self._looked_after.add(uid)
        return (Request(metadata["name"]),)

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        claim = shared.state.claim(request.name)
        if claim is None or claim.metadata.is_deleting or not shared.serves(claim):
            return DONE
        node = shared.state.node_of(claim)
        if node is not None:
            short = shortfalls(claim, node)
            for each in short:
                shared.log.error("consistency error", error=each)
                shared.recorder.warning(NODE_CLAIM, claim.metadata, "FailedConsistencyCheck", each)
            shared.set_condition(claim, consistency(short))
        return Result(_EVERY_S)
