"""The state is told what a pass came to for each pod, so that it is known how long pods wait for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from karpy.controllers.shared import Shared
from karpy.lifecycle.health import REGISTRATION_HEALTHY
from karpy.metrics import PODS_SCHEDULING_DECISION_DURATION
from karpy.objects.meta import find_condition
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.scheduling.plan import Plan
from karpy.state.snapshot import Snapshot

__all__ = ["note_decisions"]


def note_decisions(shared: Shared, plan: Plan, snapshot: Snapshot, pods: Mapping[str, Pod]) -> None:
    """``pods``: those that the plan is about, by namespace and name."""
    now = shared.clock.now()
    refused = [pods[key] for part in plan.unschedulable for key in part.pods]
    placed = list(_placed(plan, snapshot, pods))
    for pod in (*(pod for pod, _is_healthy in placed), *refused):
        times = shared.state.pod_times(pod.metadata.uid)
        if times.acknowledged is not None and times.attempted is None:
            shared.metrics.observe(PODS_SCHEDULING_DECISION_DURATION, max(now - times.acknowledged, 0.0))
    shared.state.note_decided(placed, refused, now)


def _placed(plan: Plan, snapshot: Snapshot, pods: Mapping[str, Pod]) -> Iterator[tuple[Pod, bool]]:
    for launch in plan.launches:
        is_healthy = _is_healthy(launch.pool)
        yield from ((pods[key], is_healthy) for key in launch.pods)
    for nomination in plan.nominations:
        view = snapshot.node(nomination.node)
        is_healthy = view is not None and _is_healthy(snapshot.pool(view.pool))
        yield from ((pods[key], is_healthy) for key in nomination.pods)


def _is_healthy(pool: NodePool | None) -> bool:
    """Whether the last nodes of the pool joined. Of a pool that had none, or of a node of nobody, that is not known."""
    found = find_condition(pool.conditions, REGISTRATION_HEALTHY) if pool is not None else None
    return found is not None and found.is_true
