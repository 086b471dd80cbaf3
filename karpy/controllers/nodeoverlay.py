"""NodeOverlays say whether they count: a condition and an event name what is wrong, or the overlay that they conflict with."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.cloud.overlays import OverlayVerdict, Validity
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared, conditions_patch
from karpy.lifecycle.conditions import with_condition
from karpy.objects.kinds import NODE_OVERLAY, NODE_POOL, PROVISIONER, Kind
from karpy.objects.meta import Condition, ObjectMeta, decode, readable_conditions
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.catalogs import current_evaluation

__all__ = ["OverlayStatus"]

VALIDATION_SUCCEEDED = "ValidationSucceeded"
_EVALUATE_EVERY_S = 6 * 3600.0


class OverlayStatus:
    """One overlay at a time; but each is looked at whenever any of them changes, or a pool, or a node class."""

    name = "nodeoverlay.controller"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._generations: dict[tuple[Kind, str], int | None] = {}

    @property
    def sources(self) -> Sequence[Source]:
        kinds = dict.fromkeys((NODE_OVERLAY, NODE_POOL, PROVISIONER, *self._shared.clouds.kinds))
        return tuple(Source(kind, self._all) for kind in kinds)

    def _all(self, event: WatchEvent) -> tuple[Request, ...]:
        """Every overlay, unless only the status of something was written; then the object itself, if it is one."""
        metadata = event.object["metadata"]
        key, generation = (event.kind, metadata["name"]), metadata.get("generation")
        known = self._generations.pop(key, None)
        if event.type is not EventType.DELETED:
            self._generations[key] = generation
            if generation is not None and generation == known:
                return (Request(metadata["name"]),) if event.kind == NODE_OVERLAY else ()
        return tuple(Request(overlay.name) for overlay in self._shared.state.overlays())

    def reconcile(self, request: Request) -> Result:
        overlay = self._shared.state.overlay(request.name)
        verdict = current_evaluation(self._shared.state, self._shared.clouds).verdicts.get(request.name)
        if overlay is None or verdict is None:
            return DONE
        self._report(overlay, verdict)
        return Result(_EVALUATE_EVERY_S)

    def _report(self, overlay: NodeOverlay | InvalidOverlay, verdict: OverlayVerdict) -> None:
        shared = self._shared
        meta, known = _stored(overlay)
        is_valid = verdict.validity is Validity.VALID
        reason = verdict.validity.value
        found = Condition(VALIDATION_SUCCEEDED, "True" if is_valid else "False", reason, verdict.message)
        conditions = with_condition(
            known, found, (VALIDATION_SUCCEEDED,), now=shared.clock.now(), generation=meta.generation
        )
        if conditions != known:
            patch = conditions_patch(meta.resource_version, conditions)
            shared.kube.patch(NODE_OVERLAY, meta.name, patch, subresource="status")
        if not is_valid:
            shared.recorder.warning(NODE_OVERLAY, meta, reason, verdict.message)


def _stored(overlay: NodeOverlay | InvalidOverlay) -> tuple[ObjectMeta, tuple[Condition, ...]]:
    if isinstance(overlay, NodeOverlay):
        return overlay.metadata, overlay.conditions
    known = readable_conditions((overlay.raw.get("status") or {}).get("conditions"))
    return decode(overlay.raw["metadata"], ObjectMeta), known
