"""Claims that do not say by a label of which node class they are get it: those that were made by hand, or before there was one."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.labels import node_class_label
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["ClaimHydration"]


class ClaimHydration:
    """The label is ``<group>/<kind in small letters>``, its value the name (core specification 4.5)."""

    name = "nodeclaim.hydration"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE_CLAIM, _when_without),)

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        claim = shared.state.claim(request.name)
        if claim is None or not shared.serves(claim):
            return DONE
        ref = claim.node_class
        key = node_class_label(ref.group, ref.kind)
        if key not in claim.labels:
            patch = {"metadata": {"uid": claim.metadata.uid, "labels": {key: ref.name}}}
            try:
                shared.kube.patch(NODE_CLAIM, claim.name, patch)
            except KubeError as error:
                if not error.not_found:
                    raise
        return DONE


def _when_without(event: WatchEvent) -> tuple[Request, ...]:
    if event.type is EventType.DELETED:
        return ()
    metadata, ref = event.object["metadata"], event.object.get("spec", {}).get("nodeClassRef") or {}
    key = node_class_label(ref.get("group", ""), ref.get("kind", ""))
    return () if key in (metadata.get("labels") or {}) else (Request(metadata["name"]),)
