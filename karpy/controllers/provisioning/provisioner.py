"""Pending pods get nodes: batch them, plan, create NodeClaims (core specification 3.2, 3.13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.controllers.base import DONE, Request, Result, Source, singleton
from karpy.controllers.capacitybuffer import HeadroomClock, report_outcomes, when_ready
from karpy.controllers.nodeclaim.creating import PROVISIONED, create_claim
from karpy.controllers.provisioning.batching import Batching
from karpy.controllers.provisioning.patience import Patience
from karpy.controllers.provisioning.telling import Telling, name_of
from karpy.controllers.provisioning.timing import note_decisions
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.meta import ObjectMeta
from karpy.objects.nodeclaim import INITIALIZED, REGISTERED
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.barren import barren_pools
from karpy.scheduling.configured import plan_as_set, solve_as_set
from karpy.scheduling.fullness import full_launches
from karpy.scheduling.plan import Launch, Nomination, Plan
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Provisioner"]

_RETRY_S = 10.0
_FILLING_S = 2.0
"""How often it is looked whether everybody still has his place, while pods go to machines that came up."""
_FILLED_S = 10.0
"""By then they have gone there: longer than that kube-scheduler lets no pod rest between two attempts."""
_INITIALIZES_S = 180.0
"""Machines that joined are ready for pods by then."""


class Provisioner:
    """One pass over all pods that wait, some time after the last of them came."""

    name = "provisioner"

    def __init__(self, shared: Shared) -> None:
        settings = shared.settings
        self._shared = shared
        self._batching = Batching(settings.batch_idle_duration_s, settings.batch_max_duration_s)
        self._headroom = HeadroomClock()
        self._patience = Patience()
        self._telling = Telling(shared)
        self._leaving: set[str] = set()
        """Claims that were heard to be going."""
        self._has_measured = False
        self._planned_at = float("-inf")

    @property
    def sources(self) -> Sequence[Source]:
        """Pods that were given up, whatever may give such pods a place, and wishes for room in reserve."""
        buffers = (Source(kinds.CAPACITY_BUFFER, when_ready),) if self._shared.settings.capacity_buffer else ()
        return (
            *buffers,
            Source(kinds.POD, _when_given_up),
            Source(kinds.NODE_CLAIM, self._when_leaving),
            Source(kinds.NODE_POOL, singleton),
            Source(kinds.PROVISIONER, singleton),
            *((Source(kinds.NODE_OVERLAY, singleton),) if self._shared.settings.node_overlay else ()),
        )

    def _when_leaving(self, event: WatchEvent) -> tuple[Request, ...]:
        """A machine that goes leaves pods behind: when it begins to, or at its end if it never took any.

        All that is written on it in between is no news: of hundreds that go at once there is very much of that.
        """
        name = event.object["metadata"]["name"]
        if event.type is EventType.DELETED:
            was_known = name in self._leaving
            self._leaving.discard(name)
            return () if was_known and _has_joined(event.object) else (Request(),)
        if name in self._leaving or "deletionTimestamp" not in event.object["metadata"]:
            return ()
        self._leaving.add(name)
        return (Request(),)

    def reconcile(self, _request: Request) -> Result:
        """Wait until the batch is complete, then plan it and act on the plan."""
        now = self._shared.clock.now()
        snapshot = self._shared.state.snapshot().at(now)
        if not snapshot.to_place and not snapshot.headroom:
            self._batching.left_s(frozenset(), now)
            self._shared.passes.nobody_waits(self.name)
            return DONE
        self._shared.state.note_waiting(snapshot.pending, now)
        self._measure(snapshot)
        self._patience.look(snapshot, now)
        pods = {pod.metadata.uid: pod for pod in snapshot.to_place if not self._is_held(pod, snapshot)}
        for uid in [uid for uid in pods if self._patience.holds(uid, now)]:
            self._telling.in_vain(pods.pop(uid), self._patience.came_in_vain(uid))
        waiting = {*pods, *self._headroom.due(snapshot, now)}
        left = self._batching.left_s(waiting, now)
        if left > 0:
            return Result(min(left, self._look_early(snapshot, left)))
        if waiting:
            self._provision(snapshot)
        return self._later(snapshot)

    def _measure(self, snapshot: Snapshot) -> None:
        """Learn once what machines have that are there already: what former lives knew of it went with them."""
        if self._has_measured:
            return
        self._has_measured = True
        for view in snapshot.nodes:
            if view.claim is not None and view.is_initialized:
                type_ = view.claim.labels.get(labels.INSTANCE_TYPE, "")
                self._shared.clouds.measured.note(
                    view.claim.node_class, type_, view.claim.allocatable, view.allocatable
                )

    def _later(self, snapshot: Snapshot) -> Result:
        """Pods that nothing can be done for now are looked at again: catalogs, prices and limits change unseen."""
        if snapshot.to_place:
            now = self._shared.clock.now()
            machines = (snapshot.machine(name) for name in {*snapshot.assignments.values()})
            is_filling = any(view is not None and _is_filling(view, now) for view in machines)
            return Result(requeue_after_s=_FILLING_S if is_filling else _RETRY_S)
        return Result(requeue_after_s=self._headroom.left_s(self._shared.clock.now()) or _RETRY_S)

    def _is_held(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Whether a machine that was planned for the pod is still coming up, or so fresh that it may not have seen it.

        Where kube-scheduler put others in its place there is nothing to wait for: they left room elsewhere. Whether somebody's zone
        or host is taken in this way only a plan can tell, so one is made now and then while pods go to machines that came up: in
        it everybody stays where he can. One that joined long ago and is still not ready may never be: the pod is looked at again.
        """
        claim = snapshot.assignments.get(pod.metadata.uid)
        view = snapshot.machine(claim) if claim is not None else None
        if view is None or view.is_leaving or not pod.requests.fits_in(view.available):
            return False
        now = self._shared.clock.now()
        if _is_filling(view, now) and now - self._planned_at >= _FILLING_S:
            return False
        return view.nominated_until > now or _is_coming_up(view, now)

    # Planning

    def _provision(self, taken: Snapshot) -> None:
        """A whole pass: everything that the plan says is done, and told."""
        shared = self._shared
        snapshot, catalog = with_catalog(taken, shared.clouds, shared.settings)
        self._telling.begins(snapshot)
        for pool, for_min_values in barren_pools(
            snapshot, catalog, strict_min_values=shared.settings.strict_min_values
        ):
            self._telling.sells_nothing(pool, for_min_values=for_min_values)
        began = self._planned_at = shared.clock.now()
        with shared.passes.of(self.name, len(snapshot.to_place)):
            plan = plan_as_set(shared.settings, snapshot, catalog)
        shared.passes.ended(self.name, plan)
        shared.on_decision(shared.clock.now(), plan)
        self._telling.planned(plan, snapshot, shared.clock.now() - began)
        pods = {pod.key: pod for pod in snapshot.to_place}
        note_decisions(shared, plan, snapshot, pods)
        failed = self._launch(plan.launches, pods)
        for nomination in plan.nominations:
            self._nominate(nomination, snapshot, pods)
        for part in plan.unschedulable:
            self._telling.refused(part, pods)
        report_outcomes(shared, snapshot.buffers, plan)
        if failed:
            raise failed[0]
        self._headroom.looked_at(snapshot, plan, shared.clock.now())

    def _look_early(self, taken: Snapshot, left: float) -> float:
        """Of a batch that pods keep coming to, launch what is full by now; returns in how many seconds to look again.

        The pods of such machines are settled by that: they are planned with the rest, and stay where they are.
        """
        shared = self._shared
        now = shared.clock.now()
        wait = self._batching.looks_early_in_s(now)
        if not shared.settings.progressive_launch or wait > 0:
            return wait if shared.settings.progressive_launch else left
        self._batching.look_early(now)
        snapshot, catalog = with_catalog(taken, shared.clouds, shared.settings)
        with shared.passes.of(self.name, len(snapshot.to_place)):
            found = solve_as_set(shared.settings, snapshot, catalog)
        plan = self._certain(found, snapshot, catalog)
        if plan.launches:
            shared.on_decision(now, plan)
            self._telling.computed(plan.launches)
            pods = {pod.key: pod for pod in snapshot.to_place}
            note_decisions(shared, plan, snapshot, pods)
            failed = self._launch(plan.launches, pods)
            if failed:
                raise failed[0]
        return self._batching.looks_early_in_s(now)

    @staticmethod
    def _certain(plan: Plan, snapshot: Snapshot, catalog: Catalog) -> Plan:
        """What of the plan no pod that is still to come can change for the better."""
        full = full_launches(plan.launches, catalog, snapshot.to_place)
        return attrs.evolve(plan, launches=full, nominations=(), unschedulable=(), buffers=())

    # Acting on it

    def _launch(self, planned: Sequence[Launch], pods: dict[str, Pod]) -> list[KubeError]:
        """Create the claims of these machines, all at once. A refusal is told on the pool and does not stop the others."""
        launches = [launch for launch in planned if not self._is_in_vain(launch)]
        outcomes = self._shared.together([partial(self._try_create, launch) for launch in launches])
        failed = []
        for launch, outcome in zip(launches, outcomes, strict=True):
            if isinstance(outcome, KubeError):
                self._tell_refusal(launch, outcome)
                failed.append(outcome)
                continue
            self._patience.note_launch(outcome.name, launch.planned_uids)
            self._telling.nominated(launch.pods, pods, outcome.name)
        return failed

    def _try_create(self, launch: Launch) -> ObjectMeta | KubeError:
        try:
            return create_claim(self._shared, launch, PROVISIONED)
        except KubeError as error:
            return error

    def _tell_refusal(self, launch: Launch, error: KubeError) -> None:
        pool = launch.pool
        self._shared.recorder.warning(
            pool.origin, pool.metadata, "FailedCreate", f"Failed to create NodeClaim: {error}"
        )
        self._shared.log.error("creating nodeclaim failed", NodePool=name_of(pool.metadata), error=str(error))

    def _is_in_vain(self, launch: Launch) -> bool:
        """Whether the machine would be for pods only that did not run on those that came up for them."""
        now, uids = self._shared.clock.now(), launch.planned_uids
        return bool(uids) and all(self._patience.holds(uid, now) for uid in uids)

    def _nominate(self, nomination: Nomination, snapshot: Snapshot, pods: dict[str, Pod]) -> None:
        """Pods fit a machine that is there, or on its way: it is theirs for a while."""
        view = snapshot.node(nomination.node)
        if view is None or view.claim is None:
            return
        shared, claim = self._shared, view.claim.name
        news = [key for key in nomination.pods if snapshot.assignments.get(pods[key].metadata.uid) != claim]
        shared.state.nominate(
            claim, nomination.pod_uids, until=shared.clock.now() + shared.settings.nomination_window_s
        )
        self._telling.nominated(news, pods, claim, view.name if view.is_registered else "")


def _is_filling(view: NodeView, now: float) -> bool:
    """Whether the machine came up so lately that pods are still on their way to it."""
    ready = view.claim.condition(INITIALIZED) if view.claim is not None and view.is_initialized else None
    return ready is not None and 0 <= now - ready.since < _FILLED_S


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


def _has_joined(claim: RawObject) -> bool:
    conditions = claim.get("status", {}).get("conditions") or ()
    return any(each.get("type") == REGISTERED and each.get("status") == "True" for each in conditions)
