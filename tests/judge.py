"""An independent judge of plans: does what a plan promises really hold? Slow and plain, so that it can be believed.

It works pod by pod and type by type on the rules of Kubernetes, and shares nothing with the solver but the value types. `plan_of`
is what tests ask for a plan: none that the judge finds fault with comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from karpy.cloud.instancetype import Catalog, InstanceType
from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.pod import Pod
from karpy.resources import Resources, total
from karpy.scheduling.plan import Nomination, Plan
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_catalog
from tests.judge_around import spread, world_after
from tests.judge_launch import launch_violations, over_limits, over_reserved
from tests.judge_pods import may_run, tolerates
from tests.judge_storage import disks, ports
from tests.judge_together import apart, together


def violations(plan: Plan, snapshot: Snapshot, catalog: Catalog, pods: Iterable[Pod]) -> list[str]:
    """Every broken promise of ``plan``, in words."""
    by_key = {pod.key: pod for pod in pods}
    found = list(_places(plan, by_key))
    for nomination in plan.nominations:
        found.extend(_nomination(nomination, snapshot, by_key))
    for launch in plan.launches:
        found.extend(launch_violations(launch, snapshot, catalog, by_key))
    found.extend(over_limits(plan, snapshot, catalog))
    found.extend(over_reserved(plan, catalog))
    world = world_after(plan, snapshot, catalog, by_key)
    for rule in (spread, together, apart, ports, disks):
        found.extend(rule(world))
    return found


def _places(plan: Plan, pods: Mapping[str, Pod]) -> Iterator[str]:
    parts = (*plan.launches, *plan.nominations, *plan.unschedulable)
    placed = [key for part in parts for key in part.pods]
    if sorted(placed) != sorted(pods):
        yield f"not every pod is accounted for once: {sorted(placed)} of {sorted(pods)}"
    nodes = [nomination.node for nomination in plan.nominations]
    if len(set(nodes)) < len(nodes):
        yield f"a node is nominated twice: {nodes}"


def _nomination(nomination: Nomination, snapshot: Snapshot, pods: Mapping[str, Pod]) -> Iterator[str]:
    view = snapshot.node(nomination.node)
    if view is None or view.is_leaving:
        yield f"{nomination.node} is no node that pods can go to"
        return
    newcomers = [pods[key] for key in nomination.pods if key in pods]
    if nomination.pod_uids != tuple(pod.metadata.uid for pod in newcomers):
        yield f"{nomination.pod_uids} are not the uids of {nomination.pods}"
    needed = total(pod.requests for pod in (*newcomers, *view.pods)) + _expected(view, snapshot)
    if not needed.fits_in(view.allocatable):
        yield f"{nomination.node}: {needed} do not fit {view.allocatable}"
    for pod in newcomers:
        if not tolerates(pod, view.taints):
            yield f"{pod.key} does not tolerate the taints of {nomination.node}"
        if not may_run(pod, view.requirements):
            yield f"{pod.key} may not run on {nomination.node}"


def _expected(view: NodeView, snapshot: Snapshot) -> Resources:
    """What daemons that are still to come will take. Those that run already may be any: what they take is taken off all of it."""
    coming = Resources()
    for daemon_set in snapshot.daemon_sets:
        pod = daemon_set.to_pod()
        if pod.spec.resource_claims:
            continue  # left out by rule: where its devices are is not known
        try:
            if tolerates(pod, view.taints) and may_run(pod, view.requirements):
                coming = coming + pod.requests
        except InvalidObject:
            continue  # its controller cannot place it either
    return (coming - total(pod.requests for pod in view.pods if pod.is_owned_by_daemon_set)).at_least_zero()


def plan_of(
    *objects: Mapping[str, Any],
    types: Iterable[InstanceType] | None = None,
    spec: LabelSpec | None = None,
    **policy: Any,
) -> Plan:
    """The plan for a cluster of these API objects, found to be sound."""
    from karpy.scheduling.scheduler import solve  # here: no rule of the judge may come to lean on it

    snapshot = Snapshot.from_objects(objects)
    catalog = make_catalog(snapshot, types, spec)
    plan = solve(snapshot, catalog, **policy)
    assert violations(plan, snapshot, catalog, snapshot.to_place) == []
    return plan
