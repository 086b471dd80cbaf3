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
INTERRUPTION_RECEIVED_MESSAGES: Final = Metric(
    "karpenter_interruption_received_messages_total",
    MetricType.COUNTER,
    "Number of notices of clouds that were read, by kind.",
    ("message_type",),
)
INTERRUPTION_DELETED_MESSAGES: Final = Metric(
    "karpenter_interruption_deleted_messages_total",
    MetricType.COUNTER,
    "Number of notices of clouds that were dealt with.",
)
INTERRUPTION_QUEUE_DURATION: Final = Metric(
    "karpenter_interruption_message_queue_duration_seconds",
    MetricType.HISTOGRAM,
    "How long notices of clouds waited before they were dealt with.",
    buckets=(0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0),
)
