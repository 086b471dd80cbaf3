"""kube-scheduler as a controller: follows nodes, pods and volumes, binds what fits, makes room for what matters more, and says why
the rest waits.

It reads only what watches tell and writes only what a scheduler writes, so it runs against any API server.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import attrs

from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import InvalidObject, KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.meta import decode
from karpy.objects.selectors import LabelSelector
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import Key, key_of
from karpy.sim.podfacts import condition_of, is_deleting, is_finished
from karpy.sim.scheduler import preemption, reasons
from karpy.sim.scheduler.nodes import Nodes, PlacedPod
from karpy.sim.scheduler.nominations import Nominations
from karpy.sim.scheduler.placement import Outcome, Placer
from karpy.sim.scheduler.preemption import Budget, Preemption
from karpy.sim.scheduler.queue import PodQueue, WaitingPod
from karpy.sim.scheduler.selectors import compile_selector
from karpy.sim.scheduler.shape import Shape, Shapes
from karpy.sim.scheduler.storage import Storage
from karpy.sim.scheduler.volumes import ClaimPlan
from karpy.sim.scheduler.workloads import WorkloadSelectors
from karpy.sim.scheduler.writes import BY_SCHEDULER, DEFAULT_NAME, Writes

__all__ = ["Scheduler"]

BINDING_TIMEOUT_S = 600.0
"""How long a pod that has its node waits for its volumes."""
_REMEMBERED_FAILURES = 1_000
_POD_RULES = frozenset({"PodTopologySpread", "InterPodAffinity"})
_ROOM_RULES = frozenset({"NodeResourcesFit", "NodePorts", "VolumeRestrictions", "NodeVolumeLimits"})
_STORAGE_RULES = frozenset({"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"})

_State = tuple[int, int]


@attrs.frozen(eq=False)
class _Reserved:
    """A pod that has its node and waits for its volumes."""

    waiting: WaitingPod
    node: str
    plans: tuple[ClaimPlan, ...]
    until: float


class Scheduler:
    """The default scheduler of a cluster. Ties between equally good nodes are broken by the seed."""

    name = "kube-scheduler"

    def __init__(self, kube: KubeClient, clock: Clock, seed: int = 0) -> None:
        self._clock = clock
        self._random = random.Random(f"scheduler/{seed}")
        self._writes = Writes(kube, clock)
        self._shapes = Shapes()
        self._nodes = Nodes()
        self._storage = Storage()
        self._nominations = Nominations()
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._placer = Placer(
            self._nodes, lambda name: self._namespaces.get(name, {}), self._storage, self._nominations
        )
        self._queue = PodQueue()
        self._workloads = WorkloadSelectors()
        self._budgets: dict[Key, Budget] = {}
        self._bound: dict[Key, RawObject] = {}
        self._reserved: dict[Key, _Reserved] = {}
        self._failed: dict[Shape, tuple[_State, Outcome, Preemption]] = {}
        self.attempts = 0

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.NAMESPACE, self._take_namespace),
            Source(kinds.NODE, self._take_node),
            *(Source(kind, self._take_storage) for kind in Storage.KINDS),
            Source(kinds.POD_DISRUPTION_BUDGET, self._take_budget),
            Source(kinds.POD, self._take_pod),
            *(Source(kind, self._take_workload) for kind in WorkloadSelectors.KINDS),
        )

    def reconcile(self, request: Request) -> Result:
        """Try every pod that is due."""
        del request
        now = self._clock.now()
        self._finish_reserved(now)
        self._queue.flush(now)
        while (waiting := self._queue.pop()) is not None:
            self._attempt(waiting)
        times = [each.until for each in self._reserved.values()]
        at = self._queue.next_time()
        if at is not None:
            times.append(at)
        return Result(max(min(times) - now, 0.001)) if times else DONE

    # What the watches tell

    def _take_namespace(self, event: WatchEvent) -> Sequence[Request]:
        metadata = event.object["metadata"]
        if event.type is EventType.DELETED:
            self._namespaces.pop(metadata["name"], None)
        else:
            self._namespaces[metadata["name"]] = metadata.get("labels") or {}
        return ()

    def _take_workload(self, event: WatchEvent) -> Sequence[Request]:
        self._workloads.take(event)
        return ()

    def _take_budget(self, event: WatchEvent) -> Sequence[Request]:
        key, metadata = key_of(event.object), event.object["metadata"]
        selector = event.object["spec"].get("selector")
        if event.type is EventType.DELETED or not selector:
            self._budgets.pop(key, None)  # a budget whose selector is empty counts for nothing here
            return ()
        known, version = self._budgets.get(key), (metadata["uid"], metadata.get("generation", 0))
        is_read = known is not None and known.version == version  # only its status is new
        selects = known.selects if known is not None and is_read else compile_selector(decode(selector, LabelSelector))
        status = event.object.get("status") or {}
        if selects is not None:
            disrupted = frozenset(status.get("disruptedPods") or ())
            self._budgets[key] = Budget(key[0], selects, int(status.get("disruptionsAllowed") or 0), disrupted, version)
        return ()

    def _take_storage(self, event: WatchEvent) -> Sequence[Request]:
        try:
            self._storage.take(event)
        except InvalidObject:
            return ()  # what cannot be read is as if it were not there
        return (Request(),) if self._reserved else self._stir(_STORAGE_RULES)

    def _take_node(self, event: WatchEvent) -> Sequence[Request]:
        if event.type is EventType.DELETED:
            self._nodes.remove(event.object["metadata"]["name"])
            return self._stir(_POD_RULES)
        try:
            changed = self._nodes.describe(event.object)
        except InvalidObject:
            return ()  # a node that cannot be read is not placed on
        return self._stir(None) if changed else ()

    def _take_pod(self, event: WatchEvent) -> Sequence[Request]:
        pod = event.object
        key = key_of(pod)
        node = pod["spec"].get("nodeName")
        if event.type is EventType.DELETED or is_finished(pod):
            self._drop(key)
            freed = self._nodes.forget(key)
            return self._stir(_ROOM_RULES | _POD_RULES) if freed is not None else ()
        if node:
            before = self._bound.get(key)
            if before is None:
                self._drop(key)
            self._bound[key] = pod
            return self._take_placed(key, pod, node, before)
        if pod["spec"].get("schedulerName", DEFAULT_NAME) != DEFAULT_NAME or is_deleting(pod):
            if key in self._reserved:
                self._nodes.forget(key)
            self._drop(key)
            return ()
        if pod["spec"].get("schedulingGates") or key in self._reserved:
            return ()
        self._take_nomination(key, pod)
        self._queue.put(key, pod, self._clock.now())
        return (Request(),) if self._queue.has_active or self._queue.next_time() is not None else ()

    def _drop(self, key: Key) -> None:
        """The pod needs no node any more."""
        self._queue.remove(key)
        self._nominations.drop(key)
        self._reserved.pop(key, None)
        self._bound.pop(key, None)

    def _take_nomination(self, key: Key, pod: RawObject) -> None:
        """Follow a nomination that someone has written: this scheduler before it was restarted, or another component."""
        nominated = (pod.get("status") or {}).get("nominatedNodeName")
        if nominated and not self._nominations.node_of(key):
            try:
                self._nominations.put(key, self._shapes.of(pod), nominated)
            except InvalidObject:
                return  # the attempt will say what is wrong with the pod

    def _take_placed(self, key: Key, pod: RawObject, node: str, before: RawObject | None) -> Sequence[Request]:
        known = self._nodes.placed(key) if before is not None else None
        try:
            shape = known.shape if known is not None and _is_alike(pod, before) else self._shapes.of(pod)
        except InvalidObject:
            return ()
        started, is_ending = (pod.get("status") or {}).get("startTime"), is_deleting(pod)
        placed = PlacedPod(
            key,
            shape,
            node,
            is_ending,
            parse_time(started) if started else math.inf,
            is_ending and (condition_of(pod, "DisruptionTarget") or {}).get("reason") == BY_SCHEDULER,
        )
        return self._stir(_POD_RULES) if self._nodes.place(placed) else ()

    def _stir(self, rules: frozenset[str] | None) -> Sequence[Request]:
        """Wake pods that these rules (None: any) refused. Without a refusal there were no nodes at all."""

        def could_help(waiting: WaitingPod) -> bool:
            return rules is None or bool(waiting.plugins & rules)

        self._queue.stir(could_help, self._clock.now())
        return (Request(),) if self._queue.has_active or self._queue.next_time() is not None else ()

    # Placing

    def _attempt(self, waiting: WaitingPod) -> None:
        self.attempts += 1
        now = self._clock.now()
        try:
            shape = self._shapes.of(waiting.pod)
        except InvalidObject as error:
            self._queue.park(waiting, frozenset({"NodeAffinity"}), now)
            self._writes.refuse(waiting.pod, str(error), "")
            return
        outcome, room = self._place(waiting, shape)
        if not outcome.best:
            self._queue.park(waiting, outcome.plugins, now)
            self._make_room(waiting, shape, outcome, room)
            return
        node = outcome.best[0] if len(outcome.best) == 1 else self._random.choice(outcome.best)
        picture = self._nodes.get(node)
        plans = outcome.rules.volumes.plan(picture) if outcome.rules and outcome.rules.volumes and picture else ()
        self._nodes.place(PlacedPod(waiting.key, shape, node))
        if plans:
            self._reserve(waiting, node, plans, now)
        else:
            self._bind(waiting, node)

    def _place(self, waiting: WaitingPod, shape: Shape) -> tuple[Outcome, Preemption]:
        """Pods of one shape fail alike as long as nothing has changed, so only the first is worked out."""
        nominated = self._nominations.node_of(waiting.key)
        alike = not (shape.has_volumes or nominated)
        state = (self._nodes.generation, self._nominations.generation)
        known = self._failed.get(shape) if alike else None
        if known is not None and known[0] == state:
            return known[1:]
        defaults = () if shape.has_spreads else self._workloads.default_spreads(waiting.pod)
        outcome = self._placer.place(waiting.key, shape, defaults)
        if outcome.best or outcome.rules is None:
            return outcome, Preemption()
        budgets = tuple(self._budgets.values())
        room = preemption.search(outcome.rules, self._nodes, outcome.refusals, budgets, nominated)
        if alike and not room.candidates:
            if len(self._failed) >= _REMEMBERED_FAILURES:
                self._failed.clear()
            self._failed[shape] = (state, attrs.evolve(outcome, rules=None, refusals={}), room)
        return outcome, room

    def _make_room(self, waiting: WaitingPod, shape: Shape, outcome: Outcome, room: Preemption) -> None:
        """Drive out the victims on the node that this hurts least, and say why the pod waits."""
        if not room.candidates:
            nominated = self._nominations.node_of(waiting.key) if room.message == reasons.IN_PROGRESS else ""
            if not nominated:
                self._nominations.drop(waiting.key)
            message = f"{outcome.message} preemption: {room.message}" if room.message else outcome.message
            self._writes.refuse(waiting.pod, message, nominated)
            return
        best = preemption.least_harm(room.candidates)
        chosen = best[0] if len(best) == 1 else self._random.choice(best)
        self._nominations.put(waiting.key, shape, chosen.node)
        for victim in chosen.pods:
            raw = self._bound.get(victim.key)
            if raw is not None:
                self._writes.drive_out(victim, raw, chosen.node, waiting.pod)
        for key in self._nominations.lesser(chosen.node, shape.priority):
            self._nominations.drop(key)
            self._writes.withdraw_nomination(key)
        self._writes.refuse(waiting.pod, outcome.message, chosen.node)

    # Binding

    def _bind(self, waiting: WaitingPod, node: str) -> None:
        try:
            self._writes.bind(waiting.pod, node)
        except KubeError as error:
            self._nodes.forget(waiting.key)
            if error.not_found or error.code == 409:
                self._drop(waiting.key)  # gone or bound already: the watch will tell
            else:
                self._queue.retry(waiting, self._clock.now())
            return
        self._queue.remove(waiting.key)
        self._nominations.drop(waiting.key)

    def _reserve(self, waiting: WaitingPod, node: str, plans: tuple[ClaimPlan, ...], now: float) -> None:
        """Ask for the pod's volumes; it is bound when they are there."""
        claims = [self._storage.claim(*plan.claim) for plan in plans]
        uids = {claim.key: claim.raw["metadata"]["uid"] for claim in claims if claim is not None}
        try:
            self._writes.prepare_volumes(plans, uids, node)
        except KubeError:
            self._nodes.forget(waiting.key)
            self._queue.retry(waiting, now)
            return
        self._reserved[waiting.key] = _Reserved(waiting, node, plans, now + BINDING_TIMEOUT_S)

    def _finish_reserved(self, now: float) -> None:
        for key, reserved in tuple(self._reserved.items()):
            claims = [self._storage.claim(*plan.claim) for plan in reserved.plans]
            if all(claim is not None and claim.is_bound for claim in claims):
                del self._reserved[key]
                self._bind(reserved.waiting, reserved.node)
            elif reserved.until <= now or self._nodes.get(reserved.node) is None:
                del self._reserved[key]
                self._nodes.forget(key)
                self._queue.retry(reserved.waiting, now)
                message = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
                self._writes.refuse(reserved.waiting.pod, message, "", "SchedulerError")


def _is_alike(pod: RawObject, before: RawObject | None) -> bool:
    """Whether two versions of a pod share all that its shape is read from, as they do when its status was written."""
    if before is None or pod["spec"] is not before["spec"]:
        return False
    return pod["metadata"].get("labels") is before["metadata"].get("labels")
