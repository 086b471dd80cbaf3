"""What the scheduler writes: bindings, why a pod waits, whom it drives out, and which volumes claims are to get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import Clock, format_time
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, PatchType, RawObject
from karpy.objects import kinds
from karpy.sim.cache import Key
from karpy.sim.podfacts import condition_of
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.scheduler.nodes import PlacedPod
from karpy.sim.scheduler.reasons import shortened
from karpy.sim.scheduler.storage import SELECTED_NODE
from karpy.sim.scheduler.volumes import ClaimPlan

__all__ = ["BY_SCHEDULER", "DEFAULT_NAME", "Writes"]

DEFAULT_NAME = "default-scheduler"
BY_SCHEDULER = "PreemptionByScheduler"
UNSCHEDULABLE = "Unschedulable"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


class Writes:
    """Through the API alone."""

    def __init__(self, kube: KubeClient, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._recorder = Recorder(kube, clock, DEFAULT_NAME)

    def bind(self, pod: RawObject, node: str) -> None:
        """Raises:
        KubeError: the pod is gone, bound already, or the API fails.
        """
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self._kube.bind(name, namespace, node)
        message = f"Successfully assigned {namespace}/{name} to {node}"
        self._recorder.record(kinds.POD, pod, NORMAL, "Scheduled", message)

    def refuse(self, pod: RawObject, message: str, nominated: str, reason: str = UNSCHEDULABLE) -> None:
        """Say in the pod's condition and in an event why it waits, and on which node room is being made for it."""
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        known = condition_of(pod, "PodScheduled") or {}
        status: dict[str, Any] = {}
        if any(known.get(field) != value for field, value in condition.items()):
            moved = known.get("status") != "False"
            since = format_time(self._clock.now()) if moved else known.get("lastTransitionTime")
            status["conditions"] = [{**condition, "lastProbeTime": None, "lastTransitionTime": since}]
        if (pod.get("status") or {}).get("nominatedNodeName", "") != nominated:
            status["nominatedNodeName"] = nominated or None
        if status:
            self._patch_status(pod["metadata"]["namespace"], pod["metadata"]["name"], status)
        self._recorder.record(kinds.POD, pod, WARNING, "FailedScheduling", shortened(message))

    def withdraw_nomination(self, key: Key) -> None:
        """A pod does not wait for its node any more: a more important one took the room."""
        self._patch_status(*key, {"nominatedNodeName": None})

    def drive_out(self, victim: PlacedPod, raw: RawObject, node: str, pod: RawObject) -> None:
        """End a pod gracefully to make room for another."""
        if not victim.makes_room:
            self._disrupt(victim.key, pod)
        namespace, name = victim.key
        try:
            self._kube.delete(kinds.POD, name, namespace, uid=raw["metadata"]["uid"])
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise
            return
        message = f"Preempted by pod {pod['metadata']['uid']} on node {node}"
        self._recorder.record(kinds.POD, raw, NORMAL, "Preempted", message)

    def _disrupt(self, victim: Key, pod: RawObject) -> None:
        scheduler = pod["spec"].get("schedulerName", DEFAULT_NAME)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": BY_SCHEDULER,
            "message": f"{scheduler}: preempting to accommodate a higher priority pod",
            "lastProbeTime": None,
            "lastTransitionTime": format_time(self._clock.now()),
        }
        self._patch_status(*victim, {"conditions": [condition]})

    def prepare_volumes(self, plans: Sequence[ClaimPlan], uids: Mapping[Key, str], node: str) -> None:
        """Promise each claim its volume, or ask for one that can be reached from the node."""
        for plan in plans:
            namespace, name = plan.claim
            if not plan.volume:
                patch = {"metadata": {"annotations": {SELECTED_NODE: node}}}
                self._kube.patch(kinds.PERSISTENT_VOLUME_CLAIM, name, patch, namespace)
                continue
            reference = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": namespace,
                "name": name,
                "uid": uids[plan.claim],
            }
            promise = {
                "metadata": {"annotations": {_BOUND_BY_CONTROLLER: "yes"}},
                "spec": {"claimRef": reference},
            }
            self._kube.patch(kinds.PERSISTENT_VOLUME, plan.volume, promise)

    def _patch_status(self, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        try:
            self._kube.patch(
                kinds.POD,
                name,
                {"status": status},
                namespace,
                patch_type=PatchType.STRATEGIC,
                subresource="status",
            )
        except KubeError as error:
            if not error.not_found:
                raise
