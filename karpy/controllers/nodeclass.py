"""Node classes get the status that their cloud worked out for them, and are held until no machine needs them any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.cloud.provider import NodeClassStatus, RawNodeClass
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared, conditions_patch
from karpy.errors import ProviderError
from karpy.objects.kinds import NODE_CLAIM, Kind
from karpy.objects.meta import Condition, ObjectMeta, decode, readable_conditions, set_condition
from karpy.objects.nodepool import NodeClassRef
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["NodeClassStatusWriter"]

_REFRESH_S = 300.0
_WAIT_S = 600.0
_SHOWN = 5


class NodeClassStatusWriter:
    """Resolves the node classes of one kind, on change and every five minutes; one that is deleted stays as long as its claims."""

    def __init__(self, shared: Shared, kind: Kind) -> None:
        self._shared = shared
        self._kind = kind
        self._finalizer = "" if "alpha" in kind.version else f"{kind.group}/termination"
        """The first generations of node classes were not held."""
        self.name = f"nodeclass.{kind.kind.lower()}"

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(self._kind, by_name), Source(NODE_CLAIM, self._class_that_lost_one))

    def _class_that_lost_one(self, event: WatchEvent) -> tuple[Request, ...]:
        """The node class of a claim that is gone, if it waits for that."""
        if event.type is not EventType.DELETED:
            return ()
        ref = event.object.get("spec", {}).get("nodeClassRef") or {}
        if (ref.get("group"), ref.get("kind")) != (self._kind.group, self._kind.kind):
            return ()
        raw = self._shared.state.node_class(self._ref(ref.get("name", "")))
        return (Request(ref["name"]),) if raw is not None and raw["metadata"].get("deletionTimestamp") else ()

    def _ref(self, name: str) -> NodeClassRef:
        return NodeClassRef(self._kind.group, self._kind.kind, name)

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        ref = self._ref(request.name)
        raw, provider = shared.state.node_class(ref), shared.clouds.serving(ref)
        if raw is None or provider is None:
            return DONE
        meta = decode(raw["metadata"], ObjectMeta)
        if meta.is_deleting:
            return self._let_go(meta)
        if self._finalizer and self._finalizer not in meta.finalizers:
            raw = self._with_finalizers(meta, (*meta.finalizers, self._finalizer))
        try:
            found = provider.resolve(raw)
        except ProviderError as error:
            if error.retryable:
                raise  # what was known stays; the loop tries again
            found = NodeClassStatus(False, "ResolutionFailed", str(error))
        self._write(raw, found)
        return Result(_REFRESH_S)

    def _let_go(self, meta: ObjectMeta) -> Result:
        """Let go of a node class that no claim needs; until then name those that do."""
        if self._finalizer not in meta.finalizers:
            return DONE
        ref, views = self._ref(meta.name), self._shared.state.snapshot().nodes
        names = sorted(view.claim.name for view in views if view.claim is not None and view.claim.node_class == ref)
        if not names:
            self._with_finalizers(meta, tuple(name for name in meta.finalizers if name != self._finalizer))
            return DONE
        more = f" and {len(names) - _SHOWN} other(s)" if len(names) > _SHOWN else ""
        told = f"Waiting on NodeClaim termination for {', '.join(names[:_SHOWN])}{more}"
        self._shared.recorder.normal(self._kind, meta, "WaitingOnNodeClaimTermination", told)
        return Result(_WAIT_S)

    def _with_finalizers(self, meta: ObjectMeta, finalizers: tuple[str, ...]) -> RawNodeClass:
        patch = {"metadata": {"resourceVersion": meta.resource_version, "finalizers": list(finalizers)}}
        raw: RawNodeClass = self._shared.kube.patch(self._kind, meta.name, patch)
        return raw

    def _write(self, raw: Any, found: NodeClassStatus) -> None:
        status = raw.get("status") or {}
        known = readable_conditions(status.get("conditions"))
        new = Condition("Ready", "True", "Ready", "")
        if not found.ready:
            new = Condition("Ready", "False", found.reason or "NotReady", found.message)
        conditions = set_condition(known, new, now=self._shared.clock.now())
        if conditions == known and all(status.get(key) == value for key, value in found.status.items()):
            return
        meta = decode(raw["metadata"], ObjectMeta)
        patch = conditions_patch(meta.resource_version, conditions, **found.status)
        self._shared.kube.patch(self._kind, meta.name, patch, subresource="status")
        if not found.ready:
            self._shared.recorder.warning(
                self._kind, meta, new.reason or "", f"NodeClass is not ready: {found.message}"
            )
