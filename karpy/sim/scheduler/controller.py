"""kube-scheduler as a controller: follows nodes and pods, binds what fits, and says why the rest waits.

It reads only what watches tell and writes only bindings, the PodScheduled condition and events, so it runs against any API
server. Preemption is left out: a pod waits, however important it is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import Clock, format_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import InvalidObject, KubeError
from karpy.kube.client import KubeClient, PatchType, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.scheduler.nodes import Nodes, PlacedPod
from karpy.sim.scheduler.placement import Outcome, Placer
from karpy.sim.scheduler.queue import PodQueue, WaitingPod
from karpy.sim.scheduler.shape import Shape, Shapes
from karpy.sim.scheduler.workloads import WorkloadSelectors

__all__ = ["Scheduler"]

DEFAULT_NAME = "default-scheduler"
_REMEMBERED_FAILURES = 1_000
_TERMINAL = ("Succeeded", "Failed")
_POD_RULES = frozenset({"PodTopologySpread", "InterPodAffinity"})
_ROOM_RULES = frozenset({"NodeResourcesFit", "NodePorts"})

Key = tuple[str, str]


class Scheduler:
    """The default scheduler of a cluster. Ties between equally good nodes are broken by the seed."""

    name = "kube-scheduler"

    def __init__(self, kube: KubeClient, clock: Clock, seed: int = 0) -> None:
        self._kube = kube
        self._clock = clock
        self._random = random.Random(f"scheduler/{seed}")
        self._recorder = Recorder(kube, clock, DEFAULT_NAME)
        self._shapes = Shapes()
        self._nodes = Nodes()
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._placer = Placer(self._nodes, lambda name: self._namespaces.get(name, {}))
        self._queue = PodQueue()
        self._workloads = WorkloadSelectors()
        self._failed: dict[Shape, tuple[int, Outcome]] = {}
        self.attempts = 0

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.NAMESPACE, self._take_namespace),
            Source(kinds.NODE, self._take_node),
            Source(kinds.POD, self._take_pod),
            *(Source(kind, self._take_workload) for kind in WorkloadSelectors.KINDS),
        )

    def reconcile(self, request: Request) -> Result:
        """Try every pod that is due."""
        del request
        now = self._clock.now()
        self._queue.flush(now)
        while (waiting := self._queue.pop()) is not None:
            self._attempt(waiting)
        at = self._queue.next_time()
        return DONE if at is None else Result(max(at - now, 0.001))

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
        metadata = pod["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        node = pod["spec"].get("nodeName")
        phase = (pod.get("status") or {}).get("phase")
        if event.type is EventType.DELETED or phase in _TERMINAL:
            self._queue.remove(key)
            freed = self._nodes.forget(key)
            return self._stir(_ROOM_RULES | _POD_RULES) if freed is not None else ()
        if node:
            self._queue.remove(key)
            return self._take_placed(key, pod, node)
        if pod["spec"].get("schedulerName", DEFAULT_NAME) != DEFAULT_NAME or metadata.get("deletionTimestamp"):
            self._queue.remove(key)
            return ()
        if pod["spec"].get("schedulingGates"):
            return ()
        self._queue.put(key, pod)
        return (Request(),) if self._queue.has_active else ()

    def _take_placed(self, key: Key, pod: RawObject, node: str) -> Sequence[Request]:
        try:
            shape = self._shapes.of(pod)
        except InvalidObject:
            return ()
        is_new = self._nodes.place(PlacedPod(key, shape, node, "deletionTimestamp" in pod["metadata"]))
        return self._stir(_POD_RULES) if is_new else ()

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
            self._refuse(waiting.pod, str(error))
            return
        outcome = self._place(shape, waiting.pod)
        if not outcome.best:
            self._queue.park(waiting, outcome.plugins, now)
            self._refuse(waiting.pod, outcome.message)
            return
        node = outcome.best[0] if len(outcome.best) == 1 else self._random.choice(outcome.best)
        self._bind(waiting, shape, node)

    def _place(self, shape: Shape, pod: RawObject) -> Outcome:
        """Pods of one shape fail alike as long as nothing has changed, so only the first is worked out."""
        known = self._failed.get(shape)
        if known is not None and known[0] == self._nodes.generation:
            return known[1]
        defaults = () if shape.has_spreads else self._workloads.default_spreads(pod)
        outcome = self._placer.place(shape, defaults)
        if not outcome.best:
            if len(self._failed) >= _REMEMBERED_FAILURES:
                self._failed.clear()
            self._failed[shape] = (self._nodes.generation, outcome)
        return outcome

    def _bind(self, waiting: WaitingPod, shape: Shape, node: str) -> None:
        namespace, name = waiting.key
        try:
            self._kube.bind(name, namespace, node)
        except KubeError as error:
            if error.not_found or error.code == 409:
                self._queue.remove(waiting.key)  # gone or bound already: the watch will tell
                return
            self._queue.retry(waiting, self._clock.now())
            return
        self._nodes.place(PlacedPod(waiting.key, shape, node))
        self._queue.remove(waiting.key)
        message = f"Successfully assigned {namespace}/{name} to {node}"
        self._recorder.record(kinds.POD, waiting.pod, NORMAL, "Scheduled", message)

    def _refuse(self, pod: RawObject, message: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        known = _condition(pod)
        if any(known.get(field) != value for field, value in condition.items()):
            moved = known.get("status") != "False"
            since = format_time(self._clock.now()) if moved else known.get("lastTransitionTime")
            self._patch(pod, {**condition, "lastProbeTime": None, "lastTransitionTime": since})
        self._recorder.record(kinds.POD, pod, WARNING, "FailedScheduling", message)

    def _patch(self, pod: RawObject, condition: Mapping[str, Any]) -> None:
        metadata = pod["metadata"]
        try:
            self._kube.patch(
                kinds.POD,
                metadata["name"],
                {"status": {"conditions": [condition]}},
                metadata["namespace"],
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
        except KubeError as error:
            if not error.not_found:
                raise


def _condition(pod: RawObject) -> Mapping[str, Any]:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    found: Mapping[str, Any] = next((each for each in conditions if each.get("type") == "PodScheduled"), {})
    return found
