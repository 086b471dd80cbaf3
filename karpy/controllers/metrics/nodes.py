"""What single nodes have, hold and are, and how full the cluster is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from karpy.gauges import CLUSTER_UTILIZATION, NodeGauges
from karpy.metrics import Metric, Reading
from karpy.resources import CPU, total
from karpy.state.snapshot import NodeView

__all__ = ["amount_readings", "node_labels", "read_nodes", "read_utilization"]


def amount_readings(metric: Metric, amounts: Mapping[str, int], labels: Mapping[str, str]) -> Iterator[Reading]:
    """One reading for each resource: cores, bytes, or pieces."""
    for name, amount in sorted(amounts.items()):
        told = name.lower().replace("-", "_")
        yield Reading(metric, amount / 1000 if name == CPU else float(amount), {**labels, "resource_type": told})


def node_labels(view: NodeView, gauges: NodeGauges) -> dict[str, str]:
    """What tells this node's series from those of others."""
    node = view.node
    assert node is not None, "only nodes are told apart"
    own = node.labels
    return {
        "node_name": node.name,
        "phase": node.status.phase,
        "managed": _truth(view.is_managed),
        **{name: own.get(key, "") for key, name in gauges.keys},
    }


def read_nodes(views: Iterable[NodeView], gauges: NodeGauges, now: float) -> Iterator[Reading]:
    """The gauges of every node there is; machines that have not joined have none."""
    for view in views:
        if view.node is None:
            continue
        labels = node_labels(view, gauges)
        allocatable, capacity = view.allocatable, view.capacity
        overhead = {name: max(capacity[name] - amount, 0) for name, amount in allocatable.items() if name in capacity}
        daemons = [pod for pod in view.pods if pod.is_owned_by_daemon_set]
        held = (
            (gauges.allocatable, allocatable),
            (gauges.system_overhead, overhead),
            (gauges.total_pod_requests, view.used),
            (gauges.total_pod_limits, total(pod.limits for pod in view.pods)),
            (gauges.total_daemon_requests, view.daemon_used),
            (gauges.total_daemon_limits, total(pod.limits for pod in daemons)),
        )
        for metric, amounts in held:
            yield from amount_readings(metric, amounts, labels)
        yield Reading(gauges.current_lifetime, max(now - node_created(view), 0.0), labels)


def node_created(view: NodeView) -> float:
    return view.node.metadata.created if view.node is not None else 0.0


def read_utilization(views: Sequence[NodeView]) -> Iterator[Reading]:
    """The share of all that nodes have for pods that pods reserve."""
    joined = [view for view in views if view.node is not None]
    there, used = total(view.allocatable for view in joined), total(view.used for view in joined)
    for name, amount in sorted(there.items()):
        share = 100 * used.get(name, 0) / amount if amount else 0.0
        yield Reading(CLUSTER_UTILIZATION, share, {"resource_type": name.lower().replace("-", "_")})


def _truth(value: bool) -> str:
    return "true" if value else "false"
