"""The load on the programs of a simulated cluster, as a script: what HorizontalPodAutoscalers see.

A load is a number or a function of the seconds since the world began:

    world.loads.demand("web", lambda t: 4.0 + 3.0 * math.sin(t / 3600))   # cores, shared by all ready pods
    world.loads.utilization("api", 0.8)                                   # each pod uses 80 % of its request
    world.loads.metric("queue-length", lambda t: 100 if t < 600 else 0)   # a number from elsewhere
"""

from __future__ import annotations

from collections.abc import Callable

from karpy.clock import Clock

__all__ = ["Amount", "Loads"]

Amount = float | Callable[[float], float]
"""A number, or one for every moment, in seconds since the world began."""

Key = tuple[str, str, str, str]


class Loads:
    """Scripted loads, by target and metric. What nobody scripted is not measured at all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._origin = clock.now()
        self._demands: dict[Key, Amount] = {}
        self._shares: dict[Key, Amount] = {}
        self._metrics: dict[tuple[str, str], Amount] = {}

    def demand(
        self, name: str, amount: Amount, *, metric: str = "cpu", namespace: str = "default", kind: str = "Deployment"
    ) -> None:
        """All ready pods of a workload together use ``amount``: cores, bytes, or what a metric of the pods counts."""
        self._shares.pop((kind, namespace, name, metric), None)
        self._demands[kind, namespace, name, metric] = amount

    def utilization(
        self, name: str, share: Amount, *, metric: str = "cpu", namespace: str = "default", kind: str = "Deployment"
    ) -> None:
        """Each ready pod of a workload uses this share of its request, however many pods there are."""
        self._demands.pop((kind, namespace, name, metric), None)
        self._shares[kind, namespace, name, metric] = share

    def metric(self, name: str, amount: Amount, *, namespace: str = "default") -> None:
        """A number that belongs to no pod, such as the length of a queue."""
        self._metrics[namespace, name] = amount

    def per_pod(self, target: tuple[str, str, str], metric: str, ready: int, request: float) -> float | None:
        """What each ready pod of a target (kind, namespace, name) uses now; None when that is not scripted."""
        key = (*target, metric)
        if key in self._demands:
            return self._now(self._demands[key]) / max(ready, 1)
        if key in self._shares:
            return self._now(self._shares[key]) * request
        return None

    def value(self, namespace: str, name: str) -> float | None:
        """A number from elsewhere; None when that is not scripted."""
        amount = self._metrics.get((namespace, name))
        return None if amount is None else self._now(amount)

    def _now(self, amount: Amount) -> float:
        found = amount(self._clock.now() - self._origin) if callable(amount) else amount
        return max(float(found), 0.0)
