"""Pending pods get nodes: batch them, plan, create NodeClaims (core specification 3.2, 3.13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from karpy.controllers.base import DONE, Request, Result, Source, singleton
from karpy.controllers.capacitybuffer import HeadroomClock, report_outcomes, when_ready
from karpy.controllers.nodeclaim.creating import PROVISIONED, create_claim
from karpy.controllers.provisioning.patience import Patience
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.nodeclaim import REGISTERED
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.configured import solve_as_set
from karpy.scheduling.plan import Launch, RefusalKind, Unschedulable
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Provisioner"]

_RETRY_S = 10.0
_INITIALIZES_S = 180.0
"""Machines that joined are ready for pods by then."""


@attrs.define
class _Batch:
    """Pods that came shortly after one another. A pod that is in it already does not hold it open."""

    opened: float
    last_new: float
    uids: set[str] = attrs.field(factory=set)


class Provisioner:
    """One pass over all pods that wait, some time after the last of them came."""

    name = "provisioner"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._batch: _Batch | None = None
        self._headroom = HeadroomClock()
        self._patience = Patience()

    @property
    def sources(self) -> Sequence[Source]:
        """Pods that were given up, whatever may give such pods a place, and wishes for room in reserve."""
        buffers = (Source(kinds.CAPACITY_BUFFER, when_ready),) if self._shared.settings.capacity_buffer else ()
        return (
            *buffers,
            Source(kinds.POD, _when_given_up),
            Source(kinds.NODE_CLAIM, _when_leaving),
            Source(kinds.NODE_POOL, singleton),
            Source(kinds.PROVISIONER, singleton),
            *((Source(kinds.NODE_OVERLAY, singleton),) if self._shared.settings.node_overlay else ()),
        )

    def reconcile(self, _request: Request) -> Result:
        """Wait until the batch is complete, then plan it and act on the plan."""
        now = self._shared.clock.now()
        snapshot = self._shared.state.snapshot().at(now)
        if not snapshot.to_place and not snapshot.headroom:
            self._batch = None
            return DONE
        self._patience.look(snapshot, now)
        pods = {pod.metadata.uid: pod for pod in snapshot.to_place if not self._is_held(pod, snapshot)}
        for uid in [uid for uid in pods if self._patience.holds(uid, now)]:
            self._tell_in_vain(pods.pop(uid))
        waiting = {*pods, *self._headroom.due(snapshot, now)}
        if not waiting:
            return self._later(snapshot)
        delay = self._until_complete(waiting)
        if delay > 0:
            return Result(requeue_after_s=delay)
        self._batch = None
        self._provision(snapshot)
        return self._later(snapshot)

    def _later(self, snapshot: Snapshot) -> Result:
        """Pods that nothing can be done for now are looked at again: catalogs, prices and limits change unseen."""
        if snapshot.to_place:
            return Result(requeue_after_s=_RETRY_S)
        return Result(requeue_after_s=self._headroom.left_s(self._shared.clock.now()) or _RETRY_S)

    def _is_held(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Whether a machine that was planned for the pod is still coming up, or so fresh that it may not have seen it.

        One that joined long ago and is still not ready may never be: the pod is looked at again.
        """
        claim = snapshot.assignments.get(pod.metadata.uid)
        view = snapshot.machine(claim) if claim is not None else None
        if view is None or view.is_leaving:
            return False
        now = self._shared.clock.now()
        return view.nominated_until > now or _is_coming_up(view, now)

    def _until_complete(self, uids: set[str]) -> float:
        """Seconds until the batch may be closed: idle for a while, or open for long enough."""
        now, settings = self._shared.clock.now(), self._shared.settings
        if self._batch is None:
            self._batch = _Batch(now, now, uids)
        elif uids - self._batch.uids:
            self._batch.uids |= uids
            self._batch.last_new = now
        idle_at = self._batch.last_new + settings.batch_idle_duration_s
        return min(idle_at, self._batch.opened + settings.batch_max_duration_s) - now

    def _provision(self, taken: Snapshot) -> None:
        shared = self._shared
        snapshot, catalog = with_catalog(taken, shared.clouds, shared.settings)
        plan = solve_as_set(shared.settings, snapshot, catalog)
        shared.on_decision(shared.clock.now(), plan)
        pods = {pod.key: pod for pod in snapshot.to_place}
        launches = [launch for launch in plan.launches if not self._is_in_vain(launch)]
        failed = [error for launch in launches if (error := self._try_launch(launch, pods)) is not None]
        for nomination in plan.nominations:
            view = snapshot.node(nomination.node)
            if view is not None and view.claim is not None:
                claim = view.claim.name
                news = [key for key in nomination.pods if snapshot.assignments.get(pods[key].metadata.uid) != claim]
                self._nominate(claim, nomination.pod_uids)
                self._tell_nominated(
                    news, pods, f"nodeclaim/{claim}" + (f", node/{view.name}" if view.is_registered else "")
                )
        for part in plan.unschedulable:
            if part.kind is not RefusalKind.OPTED_OUT:
                self._tell_refused(part, pods)
        report_outcomes(shared, snapshot.buffers, plan)
        if failed:
            raise failed[0]
        self._headroom.looked_at(snapshot, plan, shared.clock.now())

    def _is_in_vain(self, launch: Launch) -> bool:
        """Whether the machine would be for pods only that did not run on those that came up for them."""
        now, uids = self._shared.clock.now(), launch.planned_uids
        return bool(uids) and all(self._patience.holds(uid, now) for uid in uids)

    def _tell_in_vain(self, pod: Pod) -> None:
        count = self._patience.came_in_vain(pod.metadata.uid)
        told = f"Failed to schedule pod, {count} machines came up for it and it runs on none of them; waiting before the next"
        self._shared.recorder.warning(kinds.POD, pod.metadata, "FailedScheduling", told, repeat_s=300)

    def _try_launch(self, launch: Launch, pods: dict[str, Pod]) -> KubeError | None:
        """Create the claim. A refusal is told on the pool and does not stop the other launches."""
        try:
            self._launch(launch, pods)
        except KubeError as error:
            pool, message = launch.pool, f"Failed to create NodeClaim: {error}"
            self._shared.recorder.warning(pool.origin, pool.metadata, "FailedCreate", message)
            self._shared.log.error("creating nodeclaim failed", NodePool=pool.name, error=str(error))
            return error
        return None

    def _launch(self, launch: Launch, pods: dict[str, Pod]) -> None:
        meta = create_claim(self._shared, launch, PROVISIONED)
        self._patience.note_launch(meta.name, launch.planned_uids)
        self._tell_nominated(launch.pods, pods, f"nodeclaim/{meta.name}")

    def _nominate(self, claim: str, pod_uids: Iterable[str]) -> None:
        until = self._shared.clock.now() + self._shared.settings.nomination_window_s
        self._shared.state.nominate(claim, pod_uids, until=until)

    def _tell_refused(self, part: Unschedulable, pods: dict[str, Pod]) -> None:
        for key in part.pods:
            self._shared.recorder.warning(
                kinds.POD,
                pods[key].metadata,
                "FailedScheduling",
                f"Failed to schedule pod, {part.reason}",
                repeat_s=300,
            )

    def _tell_nominated(self, keys: Iterable[str], pods: dict[str, Pod], target: str) -> None:
        for key in keys:
            self._shared.recorder.normal(
                kinds.POD, pods[key].metadata, "Nominated", f"Pod should schedule on: {target}"
            )


def _is_coming_up(view: NodeView, now: float) -> bool:
    joined = view.claim.condition(REGISTERED) if view.claim is not None else None
    if view.is_initialized or joined is None or not joined.is_true:
        return not view.is_initialized
    return now < joined.since + _INITIALIZES_S


def _when_given_up(event: WatchEvent) -> tuple[Request, ...]:
    """A pod that no node could take. (Most pod events are not, so this looks before anything is decoded.)"""
    if event.type is EventType.DELETED or event.object.get("spec", {}).get("nodeName"):
        return ()
    conditions = event.object.get("status", {}).get("conditions") or ()
    given_up = any(c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions)
    return (Request(),) if given_up else ()


def _when_leaving(event: WatchEvent) -> tuple[Request, ...]:
    """A machine that goes leaves pods behind."""
    leaving = event.type is EventType.DELETED or event.object["metadata"].get("deletionTimestamp")
    return (Request(),) if leaving else ()
