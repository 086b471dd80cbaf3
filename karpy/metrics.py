"""Metrics: what is measured, by Karpenter's names (core specification 8.1), and the small protocol by which controllers say so.

A metric is declared once, as a value; a sink does with what it is told whatever it likes. Nothing here is global. What is not told,
but read off the cluster when somebody asks, is declared in `karpy.gauges`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Final, Protocol

import attrs

__all__ = ["DURATION_BUCKETS", "Metric", "MetricType", "Metrics", "Reading", "Unmeasured", "spelled"]


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


@attrs.frozen
class Reading:
    """What a gauge shows now. Labels that are not given are empty."""

    metric: Metric
    value: float
    labels: Mapping[str, str] = attrs.field(factory=dict)


class Metrics(Protocol):
    """Where measurements go. Every method may be called from several threads; none may fail or block."""

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None:
        """Count: for counters."""

    def set(self, metric: Metric, value: float, /, **labels: str) -> None:
        """How it is now: for gauges."""

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        """One more of many: for histograms and summaries."""

    def forget(self, metric: Metric, /, **labels: str) -> None:
        """Series that have all these labels are no more."""


class Unmeasured:
    """Nobody wants to know."""

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None: ...

    def set(self, metric: Metric, value: float, /, **labels: str) -> None: ...

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None: ...

    def forget(self, metric: Metric, /, **labels: str) -> None: ...


def spelled(name: str) -> str:
    """A name of the API, as metrics spell it among the values of their labels.

    >>> spelled("WhenEmptyOrUnderutilized")
    'when_empty_or_underutilized'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


DURATION_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0, 120.0, 150.0, 300.0, 450.0, 600.0),
)
"""Of what takes from milliseconds to minutes."""
DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Of what nobody chose others for: those of Prometheus' own clients."""
_HOUR, _DAY = 3600.0, 86400.0


def doubling(first: float, last: float) -> tuple[float, ...]:
    """Upper bounds from ``first`` to ``last``, each twice the one before.

    >>> doubling(1, 8)
    (1.0, 2.0, 4.0, 8.0)
    """
    bounds = [float(first)]
    while bounds[-1] * 2 <= last:
        bounds.append(bounds[-1] * 2)
    return tuple(bounds)


_DISRUPTED: Final = ("reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode")

# NodeClaims

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
    _DISRUPTED,
)
NODECLAIMS_UNHEALTHY_DISRUPTED: Final = Metric(
    "karpenter_nodeclaims_unhealthy_disrupted_total",
    MetricType.COUNTER,
    "Number of nodeclaims that were deleted because their node was unhealthy, by the node's condition that said so.",
    ("condition", "nodepool", "capacity_type", "image_id"),
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
NODECLAIMS_TERMINATION_DURATION: Final = Metric(
    "karpenter_nodeclaims_termination_duration_seconds",
    MetricType.HISTOGRAM,
    "From the request to delete a nodeclaim until it is gone.",
    ("nodepool",),
    doubling(1, 2048),
)
NODECLAIMS_INSTANCE_TERMINATION_DURATION: Final = Metric(
    "karpenter_nodeclaims_instance_termination_duration_seconds",
    MetricType.HISTOGRAM,
    "From the request to end a machine until its cloud says that it is gone.",
    ("nodepool",),
    doubling(1, 1024),
)

# Nodes

NODES_CREATED: Final = Metric(
    "karpenter_nodes_created_total",
    MetricType.COUNTER,
    "Number of nodes that joined for a nodeclaim.",
    ("nodepool", "zone"),
)
NODES_TERMINATED: Final = Metric(
    "karpenter_nodes_terminated_total",
    MetricType.COUNTER,
    "Number of nodes that were let go.",
    ("nodepool", "zone"),
)
NODES_DRAINED: Final = Metric(
    "karpenter_nodes_drained_total",
    MetricType.COUNTER,
    "Number of nodes that were emptied of their pods.",
    ("nodepool",),
)
NODES_TERMINATION_DURATION: Final = Metric(
    "karpenter_nodes_termination_duration_seconds",
    MetricType.SUMMARY,
    "From the request to delete a node until it is let go.",
    ("nodepool",),
)
NODES_LIFETIME_DURATION: Final = Metric(
    "karpenter_nodes_lifetime_duration_seconds",
    MetricType.HISTOGRAM,
    "How old nodes became.",
    ("nodepool",),
    (
        *(900.0, 1800.0, 2700.0, _HOUR, 2 * _HOUR, 4 * _HOUR, 6 * _HOUR, 8 * _HOUR, 10 * _HOUR, 12 * _HOUR, 16 * _HOUR),
        *(20 * _HOUR, _DAY, 2 * _DAY, 3 * _DAY, 5 * _DAY, 10 * _DAY, 15 * _DAY, 20 * _DAY, 25 * _DAY, 30 * _DAY),
    ),
)

# Pods

PODS_STARTUP_DURATION: Final = Metric(
    "karpenter_pods_startup_duration_seconds",
    MetricType.SUMMARY,
    "From the creation of a pod until it runs.",
)
PODS_BOUND_DURATION: Final = Metric(
    "karpenter_pods_bound_duration_seconds",
    MetricType.HISTOGRAM,
    "From the creation of a pod until it is bound to a node.",
    buckets=DURATION_BUCKETS,
)
PODS_PROVISIONING_BOUND_DURATION: Final = Metric(
    "karpenter_pods_provisioning_bound_duration_seconds",
    MetricType.HISTOGRAM,
    "From the first plan that had a place for a pod until it is bound to a node. Pools whose nodes do not register do not count.",
    buckets=DURATION_BUCKETS,
)
PODS_PROVISIONING_STARTUP_DURATION: Final = Metric(
    "karpenter_pods_provisioning_startup_duration_seconds",
    MetricType.HISTOGRAM,
    "From the first plan that had a place for a pod until it runs. Pools whose nodes do not register do not count.",
    buckets=DURATION_BUCKETS,
)
PODS_SCHEDULING_DECISION_DURATION: Final = Metric(
    "karpenter_pods_scheduling_decision_duration_seconds",
    MetricType.HISTOGRAM,
    "From when a pod was first seen to wait until it was first planned for.",
    buckets=DURATION_BUCKETS,
)
PODS_EVICTION_REQUESTS: Final = Metric(
    "karpenter_pods_eviction_requests_total",
    MetricType.COUNTER,
    "Number of requests to evict a pod, by the code of the answer.",
    ("code",),
)
PODS_DRAINED: Final = Metric(
    "karpenter_pods_drained_total",
    MetricType.COUNTER,
    "Number of pods that were driven off nodes that end, by why their node does.",
    ("reason",),
)
PODS_DISRUPTION_INITIATED: Final = Metric(
    "karpenter_pods_disruption_initiated_total",
    MetricType.COUNTER,
    "Number of pods that have to move because their node was taken away on karpy's own initiative, by reason.",
    _DISRUPTED,
)

# The scheduler

SCHEDULER_SCHEDULING_DURATION: Final = Metric(
    "karpenter_scheduler_scheduling_duration_seconds",
    MetricType.HISTOGRAM,
    "How long it took to find places for pods, be it to act on it or to see what would be.",
    ("controller",),
    DURATION_BUCKETS,
)
SCHEDULER_QUEUE_DEPTH: Final = Metric(
    "karpenter_scheduler_queue_depth",
    MetricType.GAUGE,
    "How many pods wait for a place in the pass that is under way.",
    ("controller", "scheduling_id"),
)
SCHEDULER_UNFINISHED_WORK: Final = Metric(
    "karpenter_scheduler_unfinished_work_seconds",
    MetricType.GAUGE,
    "For how long the pass that is under way has been looking for places.",
    ("controller", "scheduling_id"),
)
SCHEDULER_IGNORED_PODS: Final = Metric(
    "karpenter_scheduler_ignored_pods_count",
    MetricType.GAUGE,
    "How many waiting pods are not looked at because they ask for what karpy cannot give.",
)
SCHEDULER_UNSCHEDULABLE_PODS: Final = Metric(
    "karpenter_scheduler_unschedulable_pods_count",
    MetricType.GAUGE,
    "How many pods the last pass found no place for.",
    ("controller",),
)
SCHEDULER_PENDING_PODS_BY_ZONE: Final = Metric(
    "karpenter_scheduler_pending_pods_by_effective_zone_count",
    MetricType.GAUGE,
    "How many pods wait for a place in this zone alone, in any of several (flexible), or in zones that exclude each other (none).",
    ("controller", "zone"),
)

# Disruption

DISRUPTION_EVALUATION_DURATION: Final = Metric(
    "karpenter_voluntary_disruption_decision_evaluation_duration_seconds",
    MetricType.HISTOGRAM,
    "How long it took to see whether nodes should go.",
    ("reason", "consolidation_type"),
    DURATION_BUCKETS,
)
DISRUPTION_DECISIONS: Final = Metric(
    "karpenter_voluntary_disruption_decisions_total",
    MetricType.COUNTER,
    "Number of decisions to take nodes away that were carried out.",
    ("decision", "reason", "consolidation_type"),
)
DISRUPTION_DECISIONS_BY_NODEPOOL: Final = Metric(
    "karpenter_voluntary_disruption_decisions_by_nodepool_total",
    MetricType.COUNTER,
    "Number of decisions to take nodes away that were carried out, once for each pool that lost nodes.",
    ("nodepool", "decision", "reason", "consolidation_type"),
)
DISRUPTION_ELIGIBLE_NODES: Final = Metric(
    "karpenter_voluntary_disruption_eligible_nodes",
    MetricType.GAUGE,
    "How many nodes might be taken away for this reason, as of the last look.",
    ("reason",),
)
DISRUPTION_CONSOLIDATION_TIMEOUTS: Final = Metric(
    "karpenter_voluntary_disruption_consolidation_timeouts_total",
    MetricType.COUNTER,
    "Number of searches for nodes to consolidate that ended because they took too long.",
    ("consolidation_type",),
)
DISRUPTION_FAILED_VALIDATIONS: Final = Metric(
    "karpenter_voluntary_disruption_failed_validations_total",
    MetricType.COUNTER,
    "Number of decisions to take nodes away that were no longer right a while later.",
    ("consolidation_type",),
)
DISRUPTION_QUEUE_FAILURES: Final = Metric(
    "karpenter_voluntary_disruption_queue_failures_total",
    MetricType.COUNTER,
    "Number of decisions to take nodes away that were undone because the replacements did not come up.",
    ("decision", "reason", "consolidation_type"),
)
DISRUPTION_VERDICTS: Final = Metric(
    "karpy_disruption_verdicts",
    MetricType.GAUGE,
    "How many nodes the last look at the cluster came to this verdict about.",
    ("nodepool", "verdict"),
)
DISRUPTION_PASSES_SINCE_JUDGED: Final = Metric(
    "karpy_disruption_passes_since_judged",
    MetricType.GAUGE,
    "For how many looks at the cluster a node has been waiting to be judged, at the most.",
)
CONSOLIDATION_SCORE: Final = Metric(
    "karpenter_consolidation_score",
    MetricType.HISTOGRAM,
    "What a consolidation saves for what it disrupts, each as a share of its pool's, under the balanced policy.",
    ("decision", "nodepool", "policy"),
    (0.1, 0.25, 0.33, 0.5, 1.0, 2.0, 5.0, 10.0),
)
CONSOLIDATION_MOVES: Final = Metric(
    "karpenter_consolidation_moves_total",
    MetricType.COUNTER,
    "Number of consolidations, by whether they were carried out or weighed too light under the balanced policy.",
    ("decision", "nodepool", "policy"),
)

# Pools and clouds

NODEPOOLS_COST_TRACKER_ERRORS: Final = Metric(
    "karpenter_nodepools_cost_tracker_errors_total",
    MetricType.COUNTER,
    "Number of machines that count for nothing in a pool's cost because their price is not known.",
    ("nodepool",),
)
CLOUDPROVIDER_DURATION: Final = Metric(
    "karpenter_cloudprovider_duration_seconds",
    MetricType.HISTOGRAM,
    "How long calls of the cloud took.",
    ("controller", "method", "provider"),
    DEFAULT_BUCKETS,
)
CLOUDPROVIDER_ERRORS: Final = Metric(
    "karpenter_cloudprovider_errors_total",
    MetricType.COUNTER,
    "Number of calls of the cloud that failed, by the error.",
    ("controller", "method", "provider", "error"),
)

# What is known

CLUSTER_STATE_REPAIRS: Final = Metric(
    "karpy_cluster_state_repairs_total",
    MetricType.COUNTER,
    "Number of nodes and nodeclaims that cluster state knew otherwise than the API server, and that were read anew.",
    ("kind",),
)

AWAITED: Final = (DISRUPTION_CONSOLIDATION_TIMEOUTS, NODEPOOLS_COST_TRACKER_ERRORS)
"""Karpenter has these, and nobody tells them: karpy's searches have no time limit, and what has no known price is not counted. They
are declared so that names, types and labels can be compared."""
