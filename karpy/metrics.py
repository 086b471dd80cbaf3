"""Metrics: what is measured, by Karpenter's names (core specification 8.1), and the small protocol by which controllers say so.

A metric is declared once, as a value; a sink does with what it is told whatever it likes. Nothing here is global.
"""

from __future__ import annotations

import enum
from typing import Final, Protocol

import attrs

__all__ = ["Metric", "MetricType", "Metrics", "Unmeasured"]


class MetricType(enum.Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


@attrs.frozen
class Metric:
    """One metric: its whole name, what it counts, and its labels. ``buckets`` are upper bounds, of histograms only."""

    name: str
    type: MetricType
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class Metrics(Protocol):
    """Where measurements go. Every method may be called from several threads; none may fail or block."""

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None:
        """Count: for counters."""

    def set(self, metric: Metric, value: float, /, **labels: str) -> None:
        """How it is now: for gauges."""

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        """One more of many: for histograms and summaries."""

    def forget(self, metric: Metric, /, **labels: str) -> None:
        """Series of a gauge that have all these labels are no more."""


class Unmeasured:
    """Nobody wants to know."""

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None: ...

    def set(self, metric: Metric, value: float, /, **labels: str) -> None: ...

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None: ...

    def forget(self, metric: Metric, /, **labels: str) -> None: ...


NODECLAIMS_CREATED: Final = Metric(
    "karpenter_nodeclaims_created_total",
    MetricType.COUNTER,
    "Number of nodeclaims created, by the reason and the pool that they were created for.",
    ("reason", "nodepool", "min_values_relaxed"),
)
NODECLAIMS_DISRUPTED: Final = Metric(
    "karpenter_nodeclaims_disrupted_total",
    MetricType.COUNTER,
    "Number of nodeclaims that were deleted on karpy's own initiative, by reason.",
    ("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"),
)
NODECLAIMS_TERMINATED: Final = Metric(
    "karpenter_nodeclaims_terminated_total",
    MetricType.COUNTER,
    "Number of nodeclaims that are gone.",
    ("nodepool", "capacity_type", "zone"),
)

NODES_DRAINED: Final = Metric(
    "karpenter_nodes_drained_total", MetricType.COUNTER, "Number of nodes that were emptied.", ("nodepool",)
)
NODES_TERMINATED: Final = Metric(
    "karpenter_nodes_terminated_total", MetricType.COUNTER, "Number of nodes that are gone.", ("nodepool", "zone")
)
NODES_TERMINATION_DURATION: Final = Metric(
    "karpenter_nodes_termination_duration_seconds",
    MetricType.SUMMARY,
    "Seconds from the request to delete a node until its finalizer was removed.",
    ("nodepool",),
)
NODES_LIFETIME_DURATION: Final = Metric(
    "karpenter_nodes_lifetime_duration_seconds",
    MetricType.HISTOGRAM,
    "Seconds from the creation of a node until its finalizer was removed.",
    ("nodepool",),
    tuple(
        60.0 * minutes
        for minutes in (
            *(15, 30, 45, 60, 120, 240, 360, 480, 600, 720, 960, 1200),
            *(24 * 60 * days for days in (1, 2, 3, 5, 10, 15, 20, 25, 30)),
        )
    ),
)
PODS_DRAINED: Final = Metric(
    "karpenter_pods_drained_total",
    MetricType.COUNTER,
    "Number of pods that were told to leave a node that goes, by reason.",
    ("reason",),
)
PODS_EVICTION_REQUESTS: Final = Metric(
    "karpenter_pods_eviction_requests_total",
    MetricType.COUNTER,
    "Number of requests to evict a pod, by the code of the answer.",
    ("code",),
)
