"""Node classes get the status that their cloud worked out for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.cloud.provider import NodeClassStatus
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared, conditions_patch
from karpy.errors import ProviderError
from karpy.objects.kinds import Kind
from karpy.objects.meta import Condition, ObjectMeta, decode, readable_conditions, set_condition
from karpy.objects.nodepool import NodeClassRef

__all__ = ["NodeClassStatusWriter"]

_REFRESH_S = 300.0


class NodeClassStatusWriter:
    """Resolves the node classes of one kind, on change and every five minutes."""

    def __init__(self, shared: Shared, kind: Kind) -> None:
        self._shared = shared
        self._kind = kind
        self.name = f"nodeclass.{kind.kind.lower()}"

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(self._kind, by_name),)

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        ref = NodeClassRef(self._kind.group, self._kind.kind, request.name)
        raw, provider = shared.state.node_class(ref), shared.clouds.serving(ref)
        if raw is None or provider is None:
            return DONE
        try:
            found = provider.resolve(raw)
        except ProviderError as error:
            if error.retryable:
                raise  # what was known stays; the loop tries again
            found = NodeClassStatus(False, "ResolutionFailed", str(error))
        self._write(raw, found)
        return Result(_REFRESH_S)

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
