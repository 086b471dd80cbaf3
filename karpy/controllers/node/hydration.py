"""Nodes of claims that joined before nodes were labelled with their node class get the label (core specification 4.5)."""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.objects.kinds import NODE
from karpy.objects.node import Node
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["NodeHydration"]


class NodeHydration:
    """Looks at registered nodes only: those that register now are labelled by that."""

    name = "node.hydration"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(NODE, self._when_without),)

    def _when_without(self, event: WatchEvent) -> tuple[Request, ...]:
        metadata = event.object["metadata"]
        own = metadata.get("labels") or {}
        if event.type is EventType.DELETED or own.get(labels.REGISTERED) != "true":
            return ()
        if any(labels.node_class_label(kind.group, kind.kind) in own for kind in self._shared.clouds.kinds):
            return ()
        return (Request(metadata["name"]),)

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        node = shared.state.node(request.name)
        missing = {} if node is None else self._missing(node)
        if node is not None and missing:
            patch = {"metadata": {"uid": node.metadata.uid, "labels": missing}}
            try:
                shared.kube.patch(NODE, node.name, patch)
            except KubeError as error:
                if not error.not_found:
                    raise
        return DONE

    def _missing(self, node: Node) -> dict[str, str]:
        claim = self._shared.state.claim_of(node)
        if claim is None or not self._shared.serves(claim):
            return {}
        ref = claim.node_class
        key = labels.node_class_label(ref.group, ref.kind)
        return {} if key in node.labels else {key: ref.name}
