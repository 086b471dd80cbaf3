"""Nodes and claims that karpy is done with, and that stay because somebody else's finalizer holds them: that is said on them.

Whoever put a finalizer there may need a moment. When nothing has become of it for a minute, it is named, with whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.kube.managers import finalizer_manager
from karpy.lifecycle.blocking import BLOCKED
from karpy.objects.kinds import NODE, Kind
from karpy.objects.meta import Condition, ObjectMeta
from karpy.objects.nodeclaim import RELEASED, NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["Lingering"]

_PATIENCE_S = 60.0


class Lingering:
    """Looks at objects of one kind, nodes or claims, that are being deleted and wait for others than karpy."""

    def __init__(self, shared: Shared, kind: Kind) -> None:
        self._shared = shared
        self._kind = kind
        self._since: dict[str, float] = {}
        """When an object was first seen to wait for others. Without it, they get their minute once more."""

    @property
    def name(self) -> str:
        return f"{self._kind.kind.lower()}.lingering"

    @property
    def looks_at(self) -> Kind:
        return self._kind

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(self._kind, self._when_left),)

    def _when_left(self, event: WatchEvent) -> tuple[Request, ...]:
        metadata = event.object["metadata"]
        name, finalizers = metadata["name"], metadata.get("finalizers") or ()
        if event.type is EventType.DELETED:
            self._since.pop(name, None)
        elif "deletionTimestamp" in metadata and finalizers and labels.TERMINATION_FINALIZER not in finalizers:
            return (Request(name),)
        return ()

    def reconcile(self, request: Request) -> Result:
        shared, now = self._shared, self._shared.clock.now()
        meta, claim = self._find(request.name)
        if meta is None or claim is None or not shared.serves(claim):
            return DONE
        if not meta.is_deleting or not meta.finalizers or labels.TERMINATION_FINALIZER in meta.finalizers:
            return DONE
        since = self._since[meta.name] = min(self._since.get(meta.name, now), now)  # the clock may have jumped back
        left_s = since + _PATIENCE_S - now
        if left_s > 0:
            return Result(left_s)
        message = self._message(meta)
        shared.recorder.warning(self._kind, meta, "FailedTermination", message)
        shared.set_condition(claim, Condition(RELEASED, "Unknown", BLOCKED, message))
        return DONE

    def _find(self, name: str) -> tuple[ObjectMeta | None, NodeClaim | None]:
        """The object, and the claim on which it is said."""
        state = self._shared.state
        if self._kind != NODE:
            claim = state.claim(name)
            return (claim.metadata if claim is not None else None), claim
        node = state.node(name)
        return (None, None) if node is None else (node.metadata, state.claim_of(node))

    def _message(self, meta: ObjectMeta) -> str:
        names = ", ".join(self._described(meta, finalizer) for finalizer in meta.finalizers)
        return f"{self._kind.kind} {meta.name} cannot go before its finalizer(s) do: {names}"

    def _described(self, meta: ObjectMeta, finalizer: str) -> str:
        try:
            manager = finalizer_manager(self._shared.kube.get(self._kind, meta.name), finalizer)
        except KubeError:
            manager = ""
        return f"{finalizer} (put there by {manager})" if manager else finalizer
