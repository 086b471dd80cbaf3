"""StatefulSets: numbered pods, made in order and ended in reverse, each under its own name and with its own volumes.

Source: the StatefulSet controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.podfacts import available_since, is_deleting, is_finished, is_ready
from karpy.sim.portions import resolve
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads.objects import claim, delete_pod, owners, write_status
from karpy.sim.workloads.revisions import CONTROLLER_REVISION, Revisions, revision_of
from karpy.sim.workloads.statefulpods import Claims, index_of, pod_for

__all__ = ["StatefulSets"]

_OPTIONAL = ("readyReplicas", "currentReplicas", "updatedReplicas")


@attrs.define(eq=False)
class _Look:
    """One look at one set."""

    stateful_set: RawObject
    pods: dict[int, RawObject]
    current: str
    update: str
    now: float

    @property
    def numbers(self) -> range:
        """The numbers of the pods that there should be."""
        spec = self.stateful_set["spec"]
        first = int((spec.get("ordinals") or {}).get("start", 0))
        return range(first, first + int(spec.get("replicas", 1)))

    @property
    def in_order(self) -> bool:
        return bool(self.stateful_set["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady")

    @property
    def rolling(self) -> dict[str, Any] | None:
        """How outdated pods are replaced; None when they are not."""
        strategy = self.stateful_set["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return None
        return dict(strategy.get("rollingUpdate") or {})

    def available_at(self, pod: RawObject) -> float | None:
        return available_since(pod, float(self.stateful_set["spec"].get("minReadySeconds") or 0))

    def is_available(self, pod: RawObject) -> bool:
        since = self.available_at(pod)
        return since is not None and since <= self.now

    def revision_for(self, index: int) -> str:
        """Below the partition the old template still counts."""
        partition = int((self.rolling or {}).get("partition") or 0)
        return self.current if index < self.numbers.start + partition else self.update


class StatefulSets:
    """The StatefulSet controller."""

    name = "statefulset-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)
        self._revisions = Revisions(kube, cache, kinds.STATEFUL_SET)
        self._claims = Claims(kube, cache)

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.STATEFUL_SET, by_name),
            Source(kinds.POD, self._of_pod),
            Source(CONTROLLER_REVISION, lambda _: ()),
            Source(kinds.PERSISTENT_VOLUME_CLAIM, lambda _: ()),
        )

    @staticmethod
    def _of_pod(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "StatefulSet")

    def reconcile(self, request: Request) -> Result:
        stateful_set = self._cache.get(kinds.STATEFUL_SET, request.name, request.namespace)
        if stateful_set is None:
            return DONE
        pods = claim(self._kube, self._cache, kinds.POD, kinds.STATEFUL_SET, stateful_set)
        by_index = {index: pod for pod in pods if (index := index_of(stateful_set, pod)) is not None}
        update = self._revisions.current(stateful_set)
        current = str((stateful_set.get("status") or {}).get("currentRevision") or update)
        look = _Look(stateful_set, by_index, current, update, self._clock.now())
        if not is_deleting(stateful_set):
            self._act(look)
        self._write_status(look)
        self._revisions.prune(stateful_set, {current, update, *map(revision_of, pods)})
        later = [since for pod in pods if (since := look.available_at(pod)) is not None and since > look.now]
        return Result(min(later) - look.now) if later else DONE

    def _act(self, look: _Look) -> None:
        """Create what is missing, else end what is surplus, else replace what is outdated; in order one at a time."""
        if self._fill(look) and self._empty(look):
            self._update(look)

    def _fill(self, look: _Look) -> bool:
        """Make the pods that there should be; False while the order forbids to go on."""
        for index in look.numbers:
            pod = look.pods.get(index)
            if pod is None:
                self._create(look, index)
            else:
                self._claims.entrust(look.stateful_set, index)
                if is_finished(pod) and not is_deleting(pod):
                    self._end(look.stateful_set, pod)
            if look.in_order and (pod is None or is_deleting(pod) or not look.is_available(pod)):
                return False
        return True

    def _empty(self, look: _Look) -> bool:
        """End the pods that there should not be, the highest first; False while the order forbids to go on."""
        surplus = sorted((index for index in look.pods if index not in look.numbers), reverse=True)
        for index in surplus:
            self._claims.entrust(look.stateful_set, index, given_up=look.pods[index])
        for index in surplus:
            if not is_deleting(look.pods[index]):
                self._end(look.stateful_set, look.pods[index])
            if look.in_order:
                return False
        return True

    def _update(self, look: _Look) -> None:
        rolling = look.rolling
        if rolling is None:
            return
        numbers = look.numbers[int(rolling.get("partition") or 0) :]
        room = 1
        if rolling.get("maxUnavailable") is not None:
            room = max(resolve(rolling["maxUnavailable"], len(look.numbers), up=True), 1)
            room -= sum(
                1
                for index in look.numbers
                if (pod := look.pods.get(index)) is None or is_deleting(pod) or not look.is_available(pod)
            )
        for index in reversed(numbers):
            pod = look.pods.get(index)
            if pod is not None and not is_deleting(pod) and revision_of(pod) != look.update:
                if room <= 0 and look.is_available(pod):
                    return
                self._end(look.stateful_set, pod)
                room -= 1
            elif rolling.get("maxUnavailable") is None and (
                pod is None or is_deleting(pod) or not look.is_available(pod)
            ):
                return
            if room <= 0:
                return

    def _create(self, look: _Look, index: int) -> None:
        stateful_set, revision = look.stateful_set, look.revision_for(index)
        template = self._revisions.template(stateful_set, revision)
        pod = pod_for(stateful_set, index, template, revision)
        name, owner = pod["metadata"]["name"], stateful_set["metadata"]
        try:
            self._claims.ensure(stateful_set, index)
            made = self._kube.create(kinds.POD, pod, owner["namespace"])
        except KubeError as error:
            if error.already_exists:
                return  # one of that name is still going, or belongs to someone else
            text = f"create Pod {name} in StatefulSet {owner['name']} failed error: {error.message}"
            self._recorder.record(kinds.STATEFUL_SET, stateful_set, WARNING, "FailedCreate", text)
            raise
        look.pods[index] = made
        self._tell(stateful_set, "SuccessfulCreate", f"create Pod {name} in StatefulSet")

    def _end(self, stateful_set: RawObject, pod: RawObject) -> None:
        if delete_pod(self._kube, pod):
            self._tell(stateful_set, "SuccessfulDelete", f"delete Pod {pod['metadata']['name']} in StatefulSet")

    def _tell(self, stateful_set: RawObject, reason: str, message: str) -> None:
        text = f"{message} {stateful_set['metadata']['name']} successful"
        self._recorder.record(kinds.STATEFUL_SET, stateful_set, NORMAL, reason, text)

    def _write_status(self, look: _Look) -> None:
        stateful_set = look.stateful_set
        living = [pod for pod in look.pods.values() if not is_finished(pod)]
        staying = [pod for pod in living if not is_deleting(pod)]
        ready = sum(1 for pod in living if is_ready(pod))
        updated = sum(1 for pod in staying if revision_of(pod) == look.update)
        at_current = sum(1 for pod in staying if revision_of(pod) == look.current)
        complete = look.rolling is not None and updated == ready == len(living)
        status: dict[str, Any] = {
            "observedGeneration": stateful_set["metadata"].get("generation", 0),
            "replicas": len(living),
            "readyReplicas": ready,
            "availableReplicas": sum(1 for pod in living if look.is_available(pod)),
            "updatedReplicas": updated,
            "currentReplicas": updated if complete else at_current,
            "currentRevision": look.update if complete else look.current,
            "updateRevision": look.update,
            "collisionCount": 0,
        }
        write_status(self._kube, kinds.STATEFUL_SET, stateful_set, status, _OPTIONAL)
