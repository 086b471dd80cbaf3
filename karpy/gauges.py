"""Metrics that nobody tells: they are read off the cluster when somebody asks (core specification 8.1).

Some have labels that depend on the clouds in use, or exist once for each kind of object: these are made by functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from karpy.labels import INITIALIZED, NODEPOOL, node_class_label
from karpy.metrics import DEFAULT_BUCKETS, Metric, MetricType, doubling

__all__ = ["ConditionMetrics", "NodeGauges", "condition_metrics", "label_name", "node_gauges"]


def _gauge(name: str, help_: str, *labels: str) -> Metric:
    return Metric(f"karpenter_{name}", MetricType.GAUGE, help_, labels)


BUILD_INFO: Final = _gauge(
    "build_info", "Always 1; the labels say what runs.", "version", "goversion", "goarch", "commit"
)

# The cluster

CLUSTER_STATE_NODE_COUNT: Final = _gauge(
    "cluster_state_node_count", "How many machines are known, with and without node."
)
CLUSTER_STATE_SYNCED: Final = _gauge("cluster_state_synced", "1 if all that the API server has is known, else 0.")
CLUSTER_STATE_UNSYNCED_TIME: Final = _gauge(
    "cluster_state_unsynced_time_seconds", "For how long not all has been known."
)
CLUSTER_UTILIZATION: Final = _gauge(
    "cluster_utilization_percent", "How much of what nodes have for pods is requested by pods.", "resource_type"
)

# Pools

NODEPOOLS_LIMIT: Final = _gauge("nodepools_limit", "The most that a pool may have.", "resource_type", "nodepool")
NODEPOOLS_USAGE: Final = _gauge("nodepools_usage", "What a pool has.", "resource_type", "nodepool")
NODEPOOLS_COST: Final = _gauge("nodepools_cost_total", "What the machines of a pool cost in an hour.", "nodepool")
NODEPOOLS_ALLOWED_DISRUPTIONS: Final = _gauge(
    "nodepools_allowed_disruptions", "How many more nodes of a pool may go now for this reason.", "nodepool", "reason"
)
NODEPOOLS_CONSUMING_BUDGETS: Final = _gauge(
    "nodepools_nodes_consuming_budgets", "How many nodes of a pool are going or not ready now.", "nodepool", "reason"
)
NODEPOOLS_DRIFTED: Final = Metric(
    "karpy_nodepools_drifted_nodes",
    MetricType.GAUGE,
    "How many nodes of a pool are no longer as it wants them; mode is what becomes of them.",
    ("nodepool", "mode"),
)

# Pods

PODS_STATE: Final = _gauge(
    "pods_state",
    "Always 1; the labels say how a pod is, and where.",
    *("name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch"),
    *("capacity_type", "instance_type", "phase", "ready", "managed"),
)
_POD: Final = ("name", "namespace")
PODS_UNSTARTED_TIME: Final = _gauge("pods_unstarted_time_seconds", "How old a pod is that does not run.", *_POD)
PODS_UNBOUND_TIME: Final = _gauge("pods_unbound_time_seconds", "How old a pod is that is bound to no node.", *_POD)
PODS_PROVISIONING_UNBOUND_TIME: Final = _gauge(
    "pods_provisioning_unbound_time_seconds",
    "How long ago the first plan was that had a place for a pod which is bound to no node.",
    *_POD,
)
PODS_PROVISIONING_UNSTARTED_TIME: Final = _gauge(
    "pods_provisioning_unstarted_time_seconds",
    "How long ago the first plan was that had a place for a pod which does not run.",
    *_POD,
)
PODS_SCHEDULING_UNDECIDED_TIME: Final = _gauge(
    "pods_provisioning_scheduling_undecided_time_seconds",
    "How long ago a pod was first seen to wait that was not planned for yet.",
    *_POD,
)

# Nodes


def label_name(key: str) -> str:
    """What a label key is called as a label of metrics: its part after the slash.

    >>> label_name("node.kubernetes.io/windows-build"), label_name("karpenter.sh/capacity-type")
    ('windows_build', 'capacity_type')
    """
    return _snake(key.rpartition("/")[2])


def _snake(text: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in text)


@attrs.frozen
class NodeGauges:
    """The gauges of single nodes. All have the labels of ``keys``: label key to its name among the metric's labels."""

    keys: tuple[tuple[str, str], ...]
    allocatable: Metric
    total_pod_requests: Metric
    total_pod_limits: Metric
    total_daemon_requests: Metric
    total_daemon_limits: Metric
    system_overhead: Metric
    current_lifetime: Metric


def node_gauges(well_known: Iterable[str]) -> NodeGauges:
    """The gauges of nodes whose ``well_known`` labels these are."""
    named = {label_name(key): key for key in sorted(well_known)}
    own = ("node_name", "phase", "managed")
    keys = tuple((key, name) for name, key in sorted(named.items()) if name not in (*own, "resource_type"))
    labels = (*own, *(name for _key, name in keys))

    def amounts(name: str, help_: str) -> Metric:
        return _gauge(f"nodes_{name}", help_, "resource_type", *labels)

    return NodeGauges(
        keys=keys,
        allocatable=amounts("allocatable", "What a node has for pods."),
        total_pod_requests=amounts(
            "total_pod_requests", "What the pods on a node request, those of DaemonSets among them."
        ),
        total_pod_limits=amounts(
            "total_pod_limits", "What the pods on a node may use at the most, those of DaemonSets among them."
        ),
        total_daemon_requests=amounts("total_daemon_requests", "What the pods of DaemonSets on a node request."),
        total_daemon_limits=amounts(
            "total_daemon_limits", "What the pods of DaemonSets on a node may use at the most."
        ),
        system_overhead=amounts("system_overhead", "What a node has and keeps for itself."),
        current_lifetime=_gauge("nodes_current_lifetime_seconds", "How old a node is.", *labels),
    )


# Conditions, once for each kind of object, and once for all kinds together


@attrs.frozen
class ConditionMetrics:
    """What is measured of the conditions of objects and of their ends. The first two and the last but one are gauges."""

    count: Metric
    current: Metric
    transitions: Metric
    transition_seconds: Metric
    ending: Metric
    ended: Metric


def condition_metrics(kind: str = "", extra: tuple[str, ...] = ()) -> ConditionMetrics:
    """Those of objects of a kind, which are told apart by the labels ``extra`` too; without a kind, those of all kinds."""
    prefix = f"operator_{kind.lower()}_" if kind else "operator_"
    told = extra if kind else ("group", "kind")
    buckets = doubling(0.5, 8192) if kind else DEFAULT_BUCKETS
    condition, which = ("type", "status"), ("namespace", "name")

    def metric(name: str, type_: MetricType, help_: str, *labels: str) -> Metric:
        bounds = buckets if type_ is MetricType.HISTOGRAM else ()
        return Metric(prefix + name, type_, help_, (*labels, *told), bounds)

    gauge, counter, histogram = MetricType.GAUGE, MetricType.COUNTER, MetricType.HISTOGRAM
    return ConditionMetrics(
        count=metric(
            "status_condition_count",
            gauge,
            "Always 1; the labels say how a condition stands.",
            *which,
            *condition,
            "reason",
        ),
        current=metric(
            "status_condition_current_status_seconds",
            gauge,
            "For how long a condition has stood as it does.",
            *which,
            *condition,
            "reason",
        ),
        transitions=metric(
            "status_condition_transitions_total",
            counter,
            "Number of conditions that came to stand so.",
            *condition,
            "reason",
        ),
        transition_seconds=metric(
            "status_condition_transition_seconds",
            histogram,
            "For how long conditions had stood so when they changed.",
            *condition,
        ),
        ending=metric(
            "termination_current_time_seconds", gauge, "For how long an object has been about to go.", *which
        ),
        ended=metric("termination_duration_seconds", histogram, "How long it took until an object was gone."),
    )


def labels_of_nodes(node_class_kinds: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The labels of nodes, and their names, that tell conditions of nodes apart; kinds are groups and names."""
    return (*labels_of_claims(node_class_kinds), (INITIALIZED, _snake(INITIALIZED)))


def labels_of_claims(node_class_kinds: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The labels of claims, and their names, that tell conditions of claims apart."""
    keys = (NODEPOOL, *(node_class_label(group, kind) for group, kind in node_class_kinds))
    return tuple((key, _snake(key)) for key in keys)
