"""PodDisruptionBudgets: how many of the chosen pods are healthy, how many must be, and so how many may be evicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.api.selectors import selector_text
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.podfacts import is_active, is_ready
from karpy.sim.portions import resolve
from karpy.sim.recorder import WARNING, Recorder
from karpy.sim.workloads.covered import Covered, Flock, Owner, owners_of
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
        self._covered: dict[str, Covered] = {}
        """By namespace; those without budgets are not in it."""
        self._scales: dict[tuple[str, str, str], tuple[str, int]] = {}
        """What was last heard of who scales pods (kind, namespace, name): uid and replicas."""
        self._written: dict[Request, str] = {}
        """The version that was written last of each budget. It follows from what was known, so to hear of it is no news."""

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.POD_DISRUPTION_BUDGET, self._of_budget),
            Source(kinds.POD, self._of_pod),
            *(Source(kind, self._of_owner) for kind in _SCALED.values()),
        )

    def _of_budget(self, event: WatchEvent) -> Sequence[Request]:
        budget, is_gone = event.object, event.type is EventType.DELETED
        metadata = budget["metadata"]
        self._covered_in(metadata["namespace"]).take_budget(budget, is_gone=is_gone)
        request = Request(metadata["name"], metadata["namespace"])
        if is_gone:
            self._written.pop(request, None)
            return (request,)
        return () if self._written.get(request) == metadata["resourceVersion"] else (request,)

    def _of_pod(self, event: WatchEvent) -> Sequence[Request]:
        namespace = event.object["metadata"]["namespace"]
        covered = self._covered.get(namespace)
        if covered is None:
            return ()
        names = covered.take_pod(event.object, is_gone=event.type is EventType.DELETED)
        return tuple(Request(name, namespace) for name in names)

    def _of_owner(self, event: WatchEvent) -> Sequence[Request]:
        """Whoever says how many pods there should be, and says something else than before."""
        metadata = event.object["metadata"]
        covered = self._covered.get(metadata["namespace"])
        if covered is None:
            return ()
        key = (event.kind.kind, metadata["namespace"], metadata["name"])
        scale = None if event.type is EventType.DELETED else (metadata["uid"], event.object["spec"].get("replicas", 1))
        if self._scales.get(key) == scale:
            return ()
        if scale is None:
            del self._scales[key]
        else:
            self._scales[key] = scale
        return tuple(Request(name, metadata["namespace"]) for name in covered.budgets)

    def _covered_in(self, namespace: str) -> Covered:
        """The pods of a namespace are counted from its first budget on."""
        found = self._covered.get(namespace)
        if found is None:
            found = self._covered[namespace] = Covered()
            for pod in self._cache.pods_in(namespace):
                found.take_pod(pod, is_gone=False)
        return found

    def reconcile(self, request: Request) -> Result:
        budget = self._cache.get(kinds.POD_DISRUPTION_BUDGET, request.name, request.namespace)
        if budget is None:
            return DONE
        covered = self._covered_in(request.namespace)
        flocks = covered.flocks(request.name)
        try:
            expected, desired = self._goal(budget, flocks)
        except _Unscaled as error:
            self._fail_safe(budget, str(error))
            return DONE
        disrupted = self._disrupted(budget, covered)
        # Those whose eviction was granted, and that have not been marked yet, are as good as gone.
        healthy = sum(flock.ready for flock in flocks) - sum(is_ready(pod) for pod, _ in disrupted.values())
        allowed = max(healthy - desired, 0) if expected else 0
        now = self._clock.now()
        status: dict[str, Any] = {
            "observedGeneration": budget["metadata"].get("generation", 0),
            "expectedPods": expected,
            "desiredHealthy": desired,
            "currentHealthy": healthy,
            "disruptionsAllowed": allowed,
            "disruptedPods": {name: at for name, (_, at) in disrupted.items()} or None,
            "conditions": _conditions(budget, allowed, now),
        }
        self._write(budget, status)
        waiting = [parse_time(at) + _EVICTION_COUNTS_S - now for _, at in disrupted.values()]
        return Result(max(min(waiting), 0.001)) if waiting else DONE

    def _fail_safe(self, budget: RawObject, message: str) -> None:
        """Nothing may go while nobody knows how many there should be."""
        text = f"Failed to calculate the number of expected pods: {message}"
        self._recorder.record(kinds.POD_DISRUPTION_BUDGET, budget, WARNING, "CalculateExpectedPodCountFailed", text)
        now = self._clock.now()
        conditions = _with(budget, "False", "SyncFailed", message, now)
        self._write(budget, {"disruptionsAllowed": 0, "conditions": conditions})

    def _write(self, budget: RawObject, status: Mapping[str, Any]) -> None:
        """Unless the budget changed since: an eviction that was granted meanwhile must not be forgotten, and is heard of."""
        try:
            written = write_status(self._kube, kinds.POD_DISRUPTION_BUDGET, budget, status, is_tied=True)
        except KubeError as error:
            if not error.conflict:
                raise
            return
        if written is not None:
            metadata = written["metadata"]
            self._written[Request(metadata["name"], metadata["namespace"])] = metadata["resourceVersion"]

    def _goal(self, budget: RawObject, flocks: Sequence[Flock]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must be healthy."""
        spec = budget["spec"]
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if most is not None:
            expected = self._expected(budget, flocks)
            return expected, max(expected - resolve(most, expected, up=True), 0)
        if isinstance(least, str):
            expected = self._expected(budget, flocks)
            return expected, resolve(least, expected, up=True)
        return sum(len(flock.members) for flock in flocks), int(least or 0)

    def _expected(self, budget: RawObject, flocks: Sequence[Flock]) -> int:
        """What the pods' owners are scaled to. Pods without an owner do not count, which is said.

        Raises:
            _Unscaled: an owner has no scale.
        """
        total, seen, unmanaged = 0, set(), False
        namespace = budget["metadata"]["namespace"]
        for owner in owners_of(flocks):
            if owner is None:
                unmanaged = True
                continue
            scaled = self._scaled(owner, namespace)
            if scaled is not None and scaled["metadata"]["uid"] not in seen:
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

    def _scaled(self, owner: Owner, namespace: str) -> RawObject | None:
        """What scales the pods of ``owner``: itself, or the Deployment behind a ReplicaSet; None when it is gone."""
        _, own_kind, name, uid = owner
        kind = _SCALED.get(own_kind)
        if kind is None:
            raise _Unscaled(f"{_plural(owner)} does not implement the scale subresource")
        found = self._cache.get(kind, name, namespace)
        if found is None or found["metadata"]["uid"] != uid:
            return None
        above = controller_of(found)
        if own_kind == "ReplicaSet" and above is not None and above["kind"] == "Deployment":
            return self._cache.get(kinds.DEPLOYMENT, above["name"], namespace)
        return found

    def _disrupted(self, budget: RawObject, covered: Covered) -> dict[str, tuple[RawObject, str]]:
        """Evictions granted, and when, for pods that have not been marked as going yet."""
        metadata, now = budget["metadata"], self._clock.now()
        granted = (budget.get("status") or {}).get("disruptedPods") or {}
        found = {}
        for name, at in granted.items():
            pod = covered.pod(metadata["name"], (metadata["namespace"], name))
            if pod is not None and is_active(pod) and parse_time(at) + _EVICTION_COUNTS_S > now:
                found[name] = (pod, at)
        return found


def _plural(owner: Owner) -> str:
    group, kind = owner[0].rpartition("/")[0], owner[1].lower()
    return f"{kind}s.{group}" if group else f"{kind}s"


def _conditions(budget: RawObject, allowed: int, now: float) -> list[Any]:
    status, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    return _with(budget, status, reason, "", now)


def _with(budget: RawObject, status: str, reason: str, message: str, now: float) -> list[Any]:
    present = (budget.get("status") or {}).get("conditions") or ()
    generation = budget["metadata"].get("generation", 0)
    return with_condition(present, "DisruptionAllowed", status, reason, message, now, observedGeneration=generation)
