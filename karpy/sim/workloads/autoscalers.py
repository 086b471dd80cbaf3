"""HorizontalPodAutoscalers: as many replicas as their targets' load asks for.

Source: the HorizontalPodAutoscaler controller of Kubernetes 1.31. It looks every fifteen seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import Clock, format_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.api.selectors import matches_label_selector
from karpy.sim.cache import ClusterCache, Key
from karpy.sim.loads import Loads
from karpy.sim.podfacts import is_deleting
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads.objects import with_condition, write_status
from karpy.sim.workloads.podmetrics import Proposal, Situation, Unmeasured, propose
from karpy.sim.workloads.scaling import Advice, Change, limited, stabilized

__all__ = ["AUTOSCALER", "Autoscalers"]

AUTOSCALER = Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
PERIOD_S = 15.0
_REMEMBERED_S = 3600.0
"""The longest window that a policy or a stabilization may have."""
_TARGETS: Mapping[str, Kind] = {
    "Deployment": kinds.DEPLOYMENT,
    "ReplicaSet": kinds.REPLICA_SET,
    "StatefulSet": kinds.STATEFUL_SET,
}
_USUAL: Sequence[Mapping[str, Any]] = (
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
)


@attrs.define(eq=False)
class _Memory:
    """What one autoscaler has seen and done."""

    next_at: float = 0.0
    advice: list[Advice] = attrs.field(factory=list)
    changes: list[Change] = attrs.field(factory=list)

    def forget(self, now: float) -> None:
        self.advice = [each for each in self.advice if each.at > now - _REMEMBERED_S]
        self.changes = [each for each in self.changes if each.at > now - _REMEMBERED_S]


@attrs.define(eq=False)
class _Look:
    """One look at one autoscaler, and what is to be written about it."""

    autoscaler: RawObject
    current: int
    now: float
    conditions: list[Mapping[str, Any]]
    proposals: list[Proposal] = attrs.field(factory=list)
    unmeasured: list[Unmeasured] = attrs.field(factory=list)
    desired: int = 0

    def say(self, type_: str, status: bool, reason: str, message: str) -> None:
        self.conditions = with_condition(self.conditions, type_, str(status), reason, message, self.now)


class Autoscalers:
    """The HorizontalPodAutoscaler controller."""

    name = "horizontal-pod-autoscaler"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache, loads: Loads) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._loads = loads
        self._recorder = Recorder(kube, clock, self.name)
        self._memories: dict[Key, _Memory] = {}

    @property
    def sources(self) -> Sequence[Source]:
        looked_up = tuple(Source(kind, lambda _: ()) for kind in _TARGETS.values())
        return (Source(AUTOSCALER, by_name), *looked_up)

    def reconcile(self, request: Request) -> Result:
        key = (request.namespace, request.name)
        autoscaler = self._cache.get(AUTOSCALER, request.name, request.namespace)
        if autoscaler is None or is_deleting(autoscaler):
            self._memories.pop(key, None)
            return DONE
        now = self._clock.now()
        memory = self._memories.setdefault(key, _Memory())
        if now >= memory.next_at:
            memory.next_at = now + PERIOD_S
            memory.forget(now)
            self._look(autoscaler, memory, now)
        return Result(memory.next_at - now)

    def _look(self, autoscaler: RawObject, memory: _Memory, now: float) -> None:
        spec, namespace = autoscaler["spec"], autoscaler["metadata"]["namespace"]
        conditions = list((autoscaler.get("status") or {}).get("conditions") or ())
        reference = spec["scaleTargetRef"]
        kind = _TARGETS.get(reference["kind"])
        target = self._cache.get(kind, reference["name"], namespace) if kind is not None else None
        if kind is None or target is None:
            look = _Look(autoscaler, 0, now, conditions)
            what = (
                f'{kind.plural}.apps "{reference["name"]}" not found'
                if kind
                else f"no matches for kind {reference['kind']}"
            )
            text = f"the HPA controller was unable to get the target's current scale: {what}"
            look.say("AbleToScale", False, "FailedGetScale", text)
            self._recorder.record(AUTOSCALER, autoscaler, WARNING, "FailedGetScale", what)
            self._write(look, None)
            return
        look = _Look(autoscaler, int(target["spec"].get("replicas", 1)), now, conditions)
        text = "the HPA controller was able to get the target's current scale"
        look.say("AbleToScale", True, "SucceededGetScale", text)
        if not memory.advice:
            memory.advice.append(Advice(now, look.current))
        why = self._decide(look, memory, target)
        scaled = None
        if why and look.desired != look.current:
            scaled = self._scale(look, memory, kind, target, why)
        self._write(look, scaled)

    def _decide(self, look: _Look, memory: _Memory, target: RawObject) -> str:
        """Set what is desired; answers why it differs from what is, empty when nothing is to be done."""
        spec = look.autoscaler["spec"]
        least, most = int(spec.get("minReplicas") or 1), int(spec["maxReplicas"])
        look.desired = look.current
        if look.current == 0:
            text = "scaling is disabled since the replica count of the target is zero"
            look.say("ScalingActive", False, "ScalingDisabled", text)
            return ""
        if look.current > most:
            look.desired = most
            return "Current number of replicas above Spec.MaxReplicas"
        if look.current < least:
            look.desired = least
            return "Current number of replicas below Spec.MinReplicas"
        try:
            self._measure(look, target)
        except Unmeasured as error:
            text = f"the HPA was unable to compute the replica count: {error}"
            look.say("ScalingActive", False, error.reason, text)
            self._recorder.record(AUTOSCALER, look.autoscaler, WARNING, error.reason, str(error))
            asked = len(spec.get("metrics") or _USUAL)
            text = f"invalid metrics ({len(look.unmeasured)} invalid out of {asked}), first error is: {error}"
            self._recorder.record(AUTOSCALER, look.autoscaler, WARNING, "FailedComputeMetricsReplicas", text)
            return ""
        highest = max(look.proposals, key=lambda each: each.replicas)
        text = f"the HPA was able to successfully calculate a replica count from {highest.metric}"
        look.say("ScalingActive", True, "ValidMetricFound", text)
        self._temper(look, memory, highest.replicas, least, most)
        return f"{highest.metric} above target" if look.desired > look.current else "All metrics below target"

    def _measure(self, look: _Look, target: RawObject) -> None:
        """Ask every metric. One that cannot be read is no reason to shrink."""
        namespace, name = target["metadata"]["namespace"], target["metadata"]["name"]
        reference = look.autoscaler["spec"]["scaleTargetRef"]
        selector = target["spec"].get("selector")
        pods = [
            pod
            for pod in self._cache.pods_in(namespace)
            if matches_label_selector(selector, pod["metadata"].get("labels") or {})
        ]
        situation = Situation(
            target=(reference["kind"], namespace, name),
            pods=pods,
            current=look.current,
            loads=self._loads,
            now=look.now,
        )
        for metric in look.autoscaler["spec"].get("metrics") or _USUAL:
            try:
                look.proposals.append(propose(metric, situation))
            except Unmeasured as error:
                look.unmeasured.append(error)
        if look.unmeasured and max((each.replicas for each in look.proposals), default=-1) < look.current:
            raise look.unmeasured[0]

    @staticmethod
    def _temper(look: _Look, memory: _Memory, desired: int, least: int, most: int) -> None:
        """Hold the recommendation against earlier ones, the bounds and the rates."""
        behavior = look.autoscaler["spec"].get("behavior")
        steady = stabilized(desired, look.current, memory.advice, behavior, look.now)
        memory.advice.append(Advice(look.now, desired))
        look.say("AbleToScale", True, steady.reason, steady.message)
        bounded = limited(steady.replicas, look.current, least, most, behavior, memory.changes, look.now)
        look.say("ScalingLimited", bounded.is_limited, bounded.reason, bounded.message)
        look.desired = bounded.replicas

    def _scale(self, look: _Look, memory: _Memory, kind: Kind, target: RawObject, why: str) -> float | None:
        """Set the size; answers when, or None when the target could not be scaled."""
        metadata = target["metadata"]
        patch = {"spec": {"replicas": look.desired}}
        try:
            self._kube.patch(kind, metadata["name"], patch, metadata["namespace"], subresource="scale")
        except KubeError as error:
            text = f"the HPA controller was unable to update the target scale: {error.message}"
            look.say("AbleToScale", False, "FailedUpdateScale", text)
            text = f"New size: {look.desired}; reason: {why}; error: {error.message}"
            self._recorder.record(AUTOSCALER, look.autoscaler, WARNING, "FailedRescale", text)
            look.desired = look.current
            return None
        text = f"the HPA controller was able to update the target scale to {look.desired}"
        look.say("AbleToScale", True, "SucceededRescale", text)
        text = f"New size: {look.desired}; reason: {why}"
        self._recorder.record(AUTOSCALER, look.autoscaler, NORMAL, "SuccessfulRescale", text)
        memory.changes.append(Change(look.now, look.desired - look.current))
        return look.now

    def _write(self, look: _Look, scaled: float | None) -> None:
        status: dict[str, Any] = {
            "observedGeneration": look.autoscaler["metadata"].get("generation", 1),
            "currentReplicas": look.current,
            "desiredReplicas": look.desired,
            "currentMetrics": [each.status for each in look.proposals] or None,
            "conditions": look.conditions,
        }
        if scaled is not None:
            status["lastScaleTime"] = format_time(scaled)
        write_status(self._kube, AUTOSCALER, look.autoscaler, status)
