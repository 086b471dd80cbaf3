"""StatefulSets: numbered pods, made in order and ended in reverse, each under its own name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.recorder import NORMAL, Recorder
from karpy.sim.workloads.objects import (
    claim,
    delete_pod,
    is_deleting,
    is_finished,
    is_ready,
    owners,
    pod_from,
    template_hash,
    write_status,
)

__all__ = ["StatefulSets"]

REVISION_LABEL = "controller-revision-hash"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"

_OPTIONAL = ("readyReplicas", "currentReplicas", "updatedReplicas")


class StatefulSets:
    """The StatefulSet controller, without volume claims."""

    name = "statefulset-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.STATEFUL_SET, by_name), Source(kinds.POD, self._of_pod))

    @staticmethod
    def _of_pod(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "StatefulSet")

    def reconcile(self, request: Request) -> Result:
        stateful_set = self._cache.get(kinds.STATEFUL_SET, request.name, request.namespace)
        if stateful_set is None:
            return DONE
        pods = claim(self._kube, self._cache, kinds.POD, kinds.STATEFUL_SET, stateful_set)
        by_index = {index: pod for pod in pods if (index := _index(stateful_set, pod)) is not None}
        revision = f"{request.name}-{template_hash(stateful_set['spec']['template'])}"
        if not is_deleting(stateful_set):
            self._act(stateful_set, by_index, revision)
        self._write_status(stateful_set, by_index, revision)
        return DONE

    def _act(self, stateful_set: RawObject, pods: Mapping[int, RawObject], revision: str) -> None:
        """Create what is missing, else end what is surplus, else replace what is outdated; in order one at a time."""
        spec = stateful_set["spec"]
        wanted = int(spec.get("replicas", 1))
        in_order = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        for index in range(wanted):
            pod = pods.get(index)
            if pod is None:
                self._create(stateful_set, index, revision)
            elif is_finished(pod) and not is_deleting(pod):
                self._end(stateful_set, pod)
            if in_order and (pod is None or is_deleting(pod) or not is_ready(pod)):
                return
        for index in sorted((index for index in pods if index >= wanted), reverse=True):
            if not is_deleting(pods[index]):
                self._end(stateful_set, pods[index])
            if in_order:
                return
        self._update(stateful_set, pods, revision, wanted)

    def _update(self, stateful_set: RawObject, pods: Mapping[int, RawObject], revision: str, wanted: int) -> None:
        strategy = stateful_set["spec"].get("updateStrategy") or {}
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return
        partition = int((strategy.get("rollingUpdate") or {}).get("partition", 0))
        for index in range(wanted - 1, partition - 1, -1):
            pod = pods.get(index)
            if pod is None or is_deleting(pod):
                return
            if _revision(pod) != revision:
                self._end(stateful_set, pod)
                return
            if not is_ready(pod):
                return

    def _create(self, stateful_set: RawObject, index: int, revision: str) -> None:
        name = f"{stateful_set['metadata']['name']}-{index}"
        labels = {REVISION_LABEL: revision, NAME_LABEL: name, INDEX_LABEL: str(index)}
        template = stateful_set["spec"]["template"]
        pod = pod_from(template, kinds.STATEFUL_SET, stateful_set, name=name, labels=labels)
        pod["spec"] = {
            **pod["spec"],
            "hostname": name,
            **({"subdomain": service} if (service := stateful_set["spec"].get("serviceName")) else {}),
        }
        self._kube.create(kinds.POD, pod, stateful_set["metadata"]["namespace"])
        self._tell(stateful_set, "SuccessfulCreate", f"create Pod {name} in StatefulSet")

    def _end(self, stateful_set: RawObject, pod: RawObject) -> None:
        if delete_pod(self._kube, pod):
            self._tell(stateful_set, "SuccessfulDelete", f"delete Pod {pod['metadata']['name']} in StatefulSet")

    def _tell(self, stateful_set: RawObject, reason: str, message: str) -> None:
        text = f"{message} {stateful_set['metadata']['name']} successful"
        self._recorder.record(kinds.STATEFUL_SET, stateful_set, NORMAL, reason, text)

    def _write_status(self, stateful_set: RawObject, pods: Mapping[int, RawObject], revision: str) -> None:
        present = stateful_set.get("status") or {}
        living = [pod for pod in pods.values() if not is_finished(pod)]
        ready = sum(1 for pod in living if is_ready(pod))
        updated = sum(1 for pod in living if _revision(pod) == revision and not is_deleting(pod))
        complete = updated == ready == len(living) == int(stateful_set["spec"].get("replicas", 1))
        current = revision if complete else present.get("currentRevision") or revision
        status: dict[str, Any] = {
            "observedGeneration": stateful_set["metadata"].get("generation", 0),
            "replicas": len(living),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "updatedReplicas": updated,
            "currentReplicas": sum(1 for pod in living if _revision(pod) == current and not is_deleting(pod)),
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        write_status(self._kube, kinds.STATEFUL_SET, stateful_set, status, _OPTIONAL)


def _revision(pod: RawObject) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def _index(stateful_set: RawObject, pod: RawObject) -> int | None:
    head, _, tail = pod["metadata"]["name"].rpartition("-")
    return int(tail) if head == stateful_set["metadata"]["name"] and tail.isdigit() else None
