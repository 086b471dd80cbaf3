"""ReplicaSets: so many pods of one template, no more and no fewer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from karpy import labels
from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.podfacts import available_since, condition_of, is_active, is_deleting, is_ready
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads.objects import (
    Wishes,
    claim,
    delete_pod,
    is_settled,
    owners,
    pod_from,
    with_condition,
    write_status,
)

__all__ = ["ReplicaSets", "deletion_order"]

_BURST = 500
"""Pods made or ended in one go; the rest follows with the next look."""


@attrs.frozen
class _Own:
    """Of the active pods of a set: how many there are, how many are ready, and which they are."""

    active: int
    ready: int
    pods: Callable[[], list[RawObject]]


class ReplicaSets:
    """The ReplicaSet controller."""

    name = "replicaset-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)
        self._wishes = Wishes()

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.REPLICA_SET, self._wishes.requests), Source(kinds.POD, self._of_pod))

    def _of_pod(self, event: WatchEvent) -> Sequence[Request]:
        return owners(event, "ReplicaSet")

    def reconcile(self, request: Request) -> Result:
        replica_set = self._cache.get(kinds.REPLICA_SET, request.name, request.namespace)
        if replica_set is None:
            return DONE
        own = self._own(replica_set)
        try:
            if not is_deleting(replica_set):
                self._fit(replica_set, own)
        except KubeError as error:
            self._write_status(replica_set, own, error)
            raise
        return self._write_status(replica_set, own)

    def _own(self, replica_set: RawObject) -> _Own:
        """Its pods. While nothing is to be claimed or let go, which is nearly always, they need not be gone through."""
        if not is_settled(self._cache, kinds.POD, replica_set):
            claimed = claim(self._kube, self._cache, kinds.POD, kinds.REPLICA_SET, replica_set)
            pods = [pod for pod in claimed if is_active(pod)]
            return _Own(len(pods), sum(map(is_ready, pods)), lambda: pods)
        crowd = self._cache.crowd(kinds.POD, replica_set["metadata"]["uid"])
        return _Own(crowd.active, crowd.ready, lambda: [pod for pod in crowd.members.values() if is_active(pod)])

    def _fit(self, replica_set: RawObject, own: _Own) -> None:
        missing = replica_set["spec"].get("replicas", 1) - own.active
        if missing > 0:
            self._create(replica_set, min(missing, _BURST))
        elif missing < 0:
            self._end(replica_set, own.pods(), min(-missing, _BURST))

    def _create(self, replica_set: RawObject, count: int) -> None:
        metadata = replica_set["metadata"]
        pod = pod_from(
            replica_set["spec"]["template"],
            kinds.REPLICA_SET,
            replica_set,
            generateName=f"{metadata['name']}-",
        )
        for _ in range(count):
            try:
                made = self._kube.create(kinds.POD, pod, metadata["namespace"])
            except KubeError as error:
                message = f"Error creating: {error.message}"
                self._recorder.record(kinds.REPLICA_SET, replica_set, WARNING, "FailedCreate", message)
                raise
            self._tell(replica_set, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    def _end(self, replica_set: RawObject, pods: Sequence[RawObject], count: int) -> None:
        for pod in deletion_order(pods, self._by_node(replica_set), self._clock.now())[:count]:
            if delete_pod(self._kube, pod):
                self._tell(replica_set, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _by_node(self, replica_set: RawObject) -> Counter[str]:
        """How many pods of all ReplicaSets of the same Deployment are on each node."""
        owner = controller_of(replica_set)
        siblings = (replica_set,) if owner is None else self._cache.owned(kinds.REPLICA_SET, owner["uid"])
        found: Counter[str] = Counter()
        for each in siblings:
            found.update(self._cache.crowd(kinds.POD, each["metadata"]["uid"]).by_node)
        return found

    def _tell(self, replica_set: RawObject, reason: str, message: str) -> None:
        self._recorder.record(kinds.REPLICA_SET, replica_set, NORMAL, reason, message)

    def _write_status(self, replica_set: RawObject, own: _Own, error: KubeError | None = None) -> Result:
        later = self._available_later(replica_set, own)
        status: dict[str, Any] = {
            "replicas": own.active,
            "fullyLabeledReplicas": own.active,
            "readyReplicas": own.ready,
            "availableReplicas": own.ready - len(later),
            "observedGeneration": replica_set["metadata"].get("generation", 0),
        }
        conditions = self._conditions(replica_set, own.active, error)
        if conditions is not None:
            status["conditions"] = conditions or None
        optional = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        write_status(self._kube, kinds.REPLICA_SET, replica_set, status, optional)
        return Result(min(later) - self._clock.now()) if later else DONE

    def _available_later(self, replica_set: RawObject, own: _Own) -> list[float]:
        """From when on those of its ready pods count as available that do not yet."""
        min_ready_s = float(replica_set["spec"].get("minReadySeconds") or 0)
        if not min_ready_s:
            return []
        now = self._clock.now()
        since = (available_since(pod, min_ready_s) for pod in own.pods())
        return [time for time in since if time is not None and time > now]

    def _conditions(self, replica_set: RawObject, count: int, error: KubeError | None) -> list[Any] | None:
        """The conditions when they are to change. A failure for the same reason is not told anew: its text may name another pod."""
        known = (replica_set.get("status") or {}).get("conditions") or ()
        if error is None:
            return [each for each in known if each["type"] != "ReplicaFailure"] if known else None
        reason = "FailedCreate" if replica_set["spec"].get("replicas", 1) > count else "FailedDelete"
        present = condition_of(replica_set, "ReplicaFailure")
        if present is not None and present["reason"] == reason:
            return None
        return list(with_condition(known, "ReplicaFailure", "True", reason, error.message, self._clock.now()))


_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def deletion_order(
    pods: Sequence[RawObject], by_node: Mapping[str, int] | None = None, now: float = 0.0
) -> list[RawObject]:
    """The pods that can best be spared first.

    Those without a node, then not running, not ready, of lower deletion cost, on nodes with more of their kind, ready for a shorter
    time, restarted more often, and younger (the order of the Kubernetes controller). ``by_node`` counts all active pods of
    the workload; without it, these pods alone count. Times count by their order of magnitude, so that of many pods of about one age
    not always the youngest goes.
    """
    crowd = by_node or Counter(pod["spec"].get("nodeName", "") for pod in pods if is_active(pod))

    def rank(pod: RawObject) -> tuple[Any, ...]:
        metadata, node = pod["metadata"], pod["spec"].get("nodeName", "")
        condition = condition_of(pod, "Ready")
        ready = condition is not None and condition["status"] == "True"
        ready_since = parse_time(condition["lastTransitionTime"]) if condition is not None and ready else now
        return (
            bool(node),
            _PHASES.get((pod.get("status") or {}).get("phase", ""), 0),
            ready,
            _deletion_cost(pod),
            -crowd.get(node, 0),
            _magnitude(now - ready_since),
            -_restarts(pod),
            _magnitude(now - parse_time(metadata["creationTimestamp"])),
            metadata["uid"],
        )

    return sorted(pods, key=rank)


def _magnitude(age_s: float) -> int:
    """The binary order of magnitude of an age in nanoseconds."""
    return int(math.log2(age_s * 1e9)) if age_s > 0 else -1


def _restarts(pod: RawObject) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((int(each.get("restartCount") or 0) for each in statuses), default=0)


def _deletion_cost(pod: RawObject) -> int:
    try:
        return int((pod["metadata"].get("annotations") or {}).get(labels.POD_DELETION_COST, "0"))
    except ValueError:
        return 0
