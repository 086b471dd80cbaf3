"""What is known of the cluster is complete, and stays right: who decides waits until it is, and nobody waits for ever.

Watches tell every change, so there should be nothing to do here. But a state that is wrong once is wrong until the next restart,
and everything is decided by it. So it is compared with the API server now and then, and what was missed is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from karpy.controllers.base import Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.gauges import CLUSTER_STATE_SYNCED, CLUSTER_STATE_UNSYNCED_TIME
from karpy.kube.client import ObjectList
from karpy.metrics import CLUSTER_STATE_REPAIRS, Reading
from karpy.objects.kinds import NODE, NODE_CLAIM, Kind
from karpy.objects.lists import key_of
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.audit import missed, suspects

__all__ = ["StateSync"]

_WATCHED = (NODE_CLAIM, NODE)
"""What machines are made of: there are few of them, and each that is missing, or does not exist, costs money."""
_POLL_S = 1.0
_COMPLAIN_AFTER_S = 30.0
_COMPLAIN_EVERY_S = 10.0
_COMPARE_EVERY_S = 600.0
_LOOK_AGAIN_S = 30.0


class StateSync:
    """Says whether the state is synced, has it made so if it takes too long, and compares it with the API server."""

    name = "state.sync"
    sources: Sequence[Source] = ()

    def __init__(self, shared: Shared) -> None:
        self.tell: Callable[[WatchEvent], None] = lambda _event: None
        """Told, after the state, of all that was missed: those who would have looked at it had the event come have to be woken."""
        self._shared = shared
        self._is_fresh = True
        """Whether it was not synced when it was last looked at: there is nothing to compare then."""
        self._unsynced_since: float | None = None
        self._complained_at = 0.0
        self._suspects: Mapping[Kind, Mapping[str, str | None]] = {}

    def reconcile(self, _request: Request) -> Result:
        if not self._shared.state.is_synced:
            return self._wait()
        self._unsynced_since = None
        if self._is_fresh:
            self._is_fresh = False
            return Result(_COMPARE_EVERY_S)
        return self._compare()

    def readings(self, now: float) -> Iterator[Reading]:
        """Whether it is synced, and for how long it has not been."""
        is_synced, since = self._shared.state.is_synced, self._unsynced_since
        yield Reading(CLUSTER_STATE_SYNCED, float(is_synced))
        yield Reading(CLUSTER_STATE_UNSYNCED_TIME, 0.0 if is_synced or since is None else max(now - since, 0.0))

    # Until it is synced

    def _wait(self) -> Result:
        now = self._shared.clock.now()
        if self._unsynced_since is None or now < self._unsynced_since:  # a clock may jump back
            self._unsynced_since = self._complained_at = now
        unsynced_s = now - self._unsynced_since
        if unsynced_s >= _COMPLAIN_AFTER_S and not 0 <= now - self._complained_at < _COMPLAIN_EVERY_S:
            self._complained_at = now
            self._complain(unsynced_s)
        return Result(_POLL_S)

    def _complain(self, unsynced_s: float) -> None:
        """Say what is missing, and read it without the watches, which had their time."""
        awaited = self._shared.state.awaited
        reasons = {kind.resource: reason for kind in awaited if (reason := self._read(kind))}
        self._shared.log.error(
            "waiting on cluster sync",
            duration_s=unsynced_s,
            kinds=[kind.resource for kind in awaited],
            reasons=reasons,
        )

    def _read(self, kind: Kind) -> str:
        """Take in all objects of a kind; returns why that cannot be done."""
        try:
            objects = self._shared.kube.list(kind).items
        except KubeError as error:
            if not error.not_found:
                return str(error)
            objects = ()  # a kind that is not served has no objects
        self._shared.state.fill(kind, objects)
        return ""

    # From then on

    def _compare(self) -> Result:
        """Look at what the API server has; mend what was out of date at the last look and has not moved since."""
        before, self._suspects = self._suspects, {}
        found = {}
        for kind in _WATCHED:
            listed = self._shared.kube.list(kind)
            seen = self._differing(kind, listed)
            lost = missed(before.get(kind, {}), seen)
            if lost:
                self._repair(kind, listed, lost)
            found[kind] = {key: version for key, version in seen.items() if key not in lost}
        self._suspects = {kind: seen for kind, seen in found.items() if seen}
        return Result(_LOOK_AGAIN_S if self._suspects else _COMPARE_EVERY_S)

    def _differing(self, kind: Kind, listed: ObjectList) -> dict[str, str | None]:
        state = self._shared.state
        versions = {key_of(obj): str(obj["metadata"].get("resourceVersion", "")) for obj in listed.items}
        unreadable = {key for of, key in state.unreadable if of == kind}
        return suspects(state.versions(kind), versions, unreadable)

    def _repair(self, kind: Kind, listed: ObjectList, lost: Sequence[str]) -> None:
        shared, objects = self._shared, {key_of(obj): obj for obj in listed.items}
        known = set(shared.state.versions(kind))
        for key in lost:
            obj, type_ = objects.get(key), EventType.MODIFIED if key in known else EventType.ADDED
            if obj is None:
                obj, type_ = {"metadata": {"name": key}}, EventType.DELETED
            event = WatchEvent(type_, kind, obj)
            shared.state.apply(event)
            self.tell(event)
        shared.log.error("repaired cluster state, events were lost", kind=kind.resource, names=list(lost))
        shared.metrics.add(CLUSTER_STATE_REPAIRS, len(lost), kind=kind.kind)
