"""PodDisruptionBudgets: how many of the chosen pods are healthy, how many must be, and so how many may be evicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.sim.api.selectors import matches_label_selector, selector_text
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.podfacts import is_active, is_ready
from karpy.sim.portions import resolve
from karpy.sim.recorder import WARNING, Recorder
from karpy.sim.workloads.objects import with_condition, write_status

__all__ = ["Budgets"]

_EVICTION_COUNTS_S = 120.0
"""How long an eviction that was granted counts against the budget while its pod is still there."""

_SCALED = {
    "Deployment": kinds.DEPLOYMENT,
    "ReplicaSet": kinds.REPLICA_SET,
    "StatefulSet": kinds.STATEFUL_SET,
    "ReplicationController": kinds.REPLICATION_CONTROLLER,
}


class _Unscaled(Exception):
    """A pod's owner does not say how many pods there should be."""


class Budgets:
    """The disruption controller."""

    name = "disruption-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, "controllermanager")

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.POD_DISRUPTION_BUDGET, by_name),
            Source(kinds.POD, self._of_pod),
            *(Source(kind, self._in_namespace) for kind in _SCALED.values()),
        )

    def _of_pod(self, event: WatchEvent) -> Sequence[Request]:
        metadata = event.object["metadata"]
        labels = metadata.get("labels") or {}
        return tuple(
            Request(budget["metadata"]["name"], metadata["namespace"])
            for budget in self._in(metadata["namespace"])
            if matches_label_selector(budget["spec"].get("selector"), labels)
        )

    def _in_namespace(self, event: WatchEvent) -> Sequence[Request]:
        namespace = event.object["metadata"]["namespace"]
        return tuple(Request(budget["metadata"]["name"], namespace) for budget in self._in(namespace))

    def _in(self, namespace: str) -> Sequence[RawObject]:
        budgets = self._cache.all(kinds.POD_DISRUPTION_BUDGET)
        return [budget for budget in budgets if budget["metadata"]["namespace"] == namespace]

    def reconcile(self, request: Request) -> Result:
        budget = self._cache.get(kinds.POD_DISRUPTION_BUDGET, request.name, request.namespace)
        if budget is None:
            return DONE
        selector = budget["spec"].get("selector")
        pods = [
            pod
            for pod in self._cache.pods_in(request.namespace)
            if matches_label_selector(selector, pod["metadata"].get("labels") or {})
        ]
        try:
            expected, desired = self._goal(budget, pods)
        except _Unscaled as error:
            self._fail_safe(budget, str(error))
            return DONE
        disrupted = self._disrupted(budget, pods)
        healthy = sum(
            1 for pod in pods if is_ready(pod) and is_active(pod) and pod["metadata"]["name"] not in disrupted
        )
        allowed = max(healthy - desired, 0) if expected else 0
        now = self._clock.now()
        status: dict[str, Any] = {
            "observedGeneration": budget["metadata"].get("generation", 0),
            "expectedPods": expected,
            "desiredHealthy": desired,
            "currentHealthy": healthy,
            "disruptionsAllowed": allowed,
            "disruptedPods": disrupted or None,
            "conditions": _conditions(budget, allowed, now),
        }
        write_status(self._kube, kinds.POD_DISRUPTION_BUDGET, budget, status)
        waiting = [parse_time(at) + _EVICTION_COUNTS_S - now for at in disrupted.values()]
        return Result(max(min(waiting), 0.001)) if waiting else DONE

    def _fail_safe(self, budget: RawObject, message: str) -> None:
        """Nothing may go while nobody knows how many there should be."""
        text = f"Failed to calculate the number of expected pods: {message}"
        self._recorder.record(kinds.POD_DISRUPTION_BUDGET, budget, WARNING, "CalculateExpectedPodCountFailed", text)
        now = self._clock.now()
        conditions = _with(budget, "False", "SyncFailed", message, now)
        write_status(
            self._kube, kinds.POD_DISRUPTION_BUDGET, budget, {"disruptionsAllowed": 0, "conditions": conditions}
        )

    def _goal(self, budget: RawObject, pods: Sequence[RawObject]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must be healthy."""
        spec = budget["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if most is not None:
            expected = self._expected(budget, pods)
            return expected, max(expected - resolve(most, expected, up=True), 0)
        if isinstance(least, str):
            expected = self._expected(budget, pods)
            return expected, resolve(least, expected, up=True)
        return len(pods), int(least or 0)

    def _expected(self, budget: RawObject, pods: Sequence[RawObject]) -> int:
        """What the pods' owners are scaled to. Pods without an owner do not count, which is said.

        Raises:
            _Unscaled: an owner has no scale.
        """
        total, seen, unmanaged = 0, set(), False
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                unmanaged = True
            elif owner["uid"] not in seen:
                seen.add(owner["uid"])
                scaled = self._scaled(owner, pod["metadata"]["namespace"])
                if scaled is not None and (
                    scaled["metadata"]["uid"] == owner["uid"] or scaled["metadata"]["uid"] not in seen
                ):
                    seen.add(scaled["metadata"]["uid"])
                    total += int(scaled["spec"].get("replicas", 1))
        if unmanaged:
            text = (
                f"Pods selected by this PodDisruptionBudget (selector: {selector_text(budget['spec'].get('selector'))}) were found "
                "to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined "
                'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
            )
            self._recorder.record(kinds.POD_DISRUPTION_BUDGET, budget, WARNING, "UnmanagedPods", text)
        return total

    def _scaled(self, owner: RawObject, namespace: str) -> RawObject | None:
        """What scales the pods of ``owner``: itself, or the Deployment behind a ReplicaSet; None when it is gone."""
        kind = _SCALED.get(owner["kind"])
        if kind is None:
            raise _Unscaled(f"{_plural(owner)} does not implement the scale subresource")
        found = self._cache.get(kind, owner["name"], namespace)
        if found is None or found["metadata"]["uid"] != owner["uid"]:
            return None
        above = controller_of(found)
        if owner["kind"] == "ReplicaSet" and above is not None and above["kind"] == "Deployment":
            return self._cache.get(kinds.DEPLOYMENT, above["name"], namespace)
        return found

    def _disrupted(self, budget: RawObject, pods: Sequence[RawObject]) -> dict[str, str]:
        """Evictions granted for pods that have not been marked as going yet."""
        waiting = {pod["metadata"]["name"] for pod in pods if is_active(pod)}
        now = self._clock.now()
        granted = (budget.get("status") or {}).get("disruptedPods") or {}
        return {
            name: at for name, at in granted.items() if name in waiting and parse_time(at) + _EVICTION_COUNTS_S > now
        }


def _plural(owner: RawObject) -> str:
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}s.{group}" if group else f"{owner['kind'].lower()}s"


def _conditions(budget: RawObject, allowed: int, now: float) -> list[Any]:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    return _with(budget, status, reason, "", now)


def _with(budget: RawObject, status: str, reason: str, message: str, now: float) -> list[Any]:
    present = (budget.get("status") or {}).get("conditions") or ()
    generation = budget["metadata"].get("generation", 0)
    return with_condition(present, "DisruptionAllowed", status, reason, message, now, observedGeneration=generation)
