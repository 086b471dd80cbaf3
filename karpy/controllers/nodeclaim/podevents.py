"""Notes on a claim when a pod last came to its node or left it: quiet nodes may be disrupted (core specification 4.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import format_time, parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.objects.kinds import NODE_CLAIM, POD
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["PodEvents"]

_DEDUPE_S = 10.0


class PodEvents:
    """Writes ``status.lastPodEventTime``, at most every ten seconds per claim."""

    name = "nodeclaim.podevents"
    looks_at = NODE_CLAIM

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._seen: dict[tuple[str, str], tuple[bool, bool, bool]] = {}

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(POD, self._claim_of_pod),)

    def _claim_of_pod(self, event: WatchEvent) -> tuple[Request, ...]:
        """The claim whose node the pod was bound to, finished on, or began to leave. That it is gone is no news."""
        spec, metadata = event.object.get("spec", {}), event.object["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if event.type is EventType.DELETED:
            self._seen.pop(key, None)
            return ()
        node_name = spec.get("nodeName", "")
        finished = event.object.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if event.type is EventType.ADDED and node_name:
            self._seen[key] = (True, finished, "deletionTimestamp" in metadata)
            return ()  # it was there before we looked
        now_is = (bool(node_name), finished, "deletionTimestamp" in metadata)
        before = self._seen.get(key)
        self._seen[key] = now_is
        if before == now_is or not node_name or _is_daemon(metadata):
            return ()
        node = self._shared.state.node(node_name)
        claim = self._shared.state.claim_of(node) if node is not None else None
        return (Request(claim.name),) if claim is not None else ()

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        claim = shared.state.claim(request.name)
        now = shared.clock.now()
        if claim is None or claim.metadata.is_deleting or not shared.serves(claim):
            return DONE
        if claim.last_pod_event is not None and 0 <= now - parse_time(claim.last_pod_event) < _DEDUPE_S:
            return DONE
        shared.kube.patch(
            NODE_CLAIM, claim.name, {"status": {"lastPodEventTime": format_time(now)}}, subresource="status"
        )
        return DONE


def _is_daemon(metadata: Mapping[str, Any]) -> bool:
    """As `Pod.is_owned_by_daemon_set`, of what is not decoded: every event of every pod comes by here."""
    owners = metadata.get("ownerReferences") or ()
    return any(owner.get("kind") == "DaemonSet" and owner.get("apiVersion") == "apps/v1" for owner in owners)
