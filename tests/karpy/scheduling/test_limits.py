from __future__ import annotations

from typing import Any

import pytest

from karpy.labels import CORE_LABELS
from karpy.lifecycle.launch import new_claim
from karpy.objects.kinds import NODE_CLAIM, POD
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.resources import NODES, Resources
from karpy.scheduling.limits import remaining_limits, usage
from karpy.scheduling.plan import RefusalKind
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    make_catalog,
    make_claim,
    make_instance_type,
    make_machine,
    make_nodepool,
    make_pod,
    selector,
)
from tests.judge import plan_of, violations

FOUR_CPUS = {"cpu": "4", "memory": "16Gi", "pods": "110"}


@pytest.mark.core("CORE-331")
def test_a_limit_may_be_met_exactly() -> None:
    pool = make_nodepool(limits={"cpu": "4"}, requirements=[selector("node.kubernetes.io/instance-type", "In", "c4")])
    assert plan_of(pool, make_pod()).placed == 1


@pytest.mark.core("CORE-330", "CORE-333")
def test_a_machine_that_would_exceed_it_is_not_launched() -> None:
    pool = make_nodepool(limits={"cpu": "3"}, requirements=[selector("node.kubernetes.io/instance-type", "In", "c4")])
    (refused,) = plan_of(pool, make_pod()).unschedulable
    assert refused.refusals[0].main.kind is RefusalKind.LIMIT
    assert "limit of cpu (3 left)" in refused.reason


def test_types_that_are_too_large_for_what_is_left_are_dropped() -> None:
    (launch,) = plan_of(make_nodepool(limits={"cpu": "4"}), make_pod()).launches
    assert {t.name for t in launch.instance_types} == {"a1", "a2", "a4", "c1", "c2", "c4"}


@pytest.mark.core("CORE-332")
def test_what_still_fits_is_launched() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "3"}) for n in range(5)]
    plan = plan_of(make_nodepool(limits={"cpu": "16"}), *pods)
    assert plan.placed == 5  # one machine of 16


@pytest.mark.core("CORE-334")
@pytest.mark.parametrize(("limit", "placed"), [("4", 2), ("3", 1), ("0", 0)])
def test_devices_can_be_limited(limit: str, placed: int) -> None:
    gpu = make_instance_type("gpu", resources={"acme.com/gpu": "2"})
    pods = [make_pod(f"p{n}", requests={"acme.com/gpu": "2"}) for n in range(3)]
    assert plan_of(make_nodepool(limits={"acme.com/gpu": limit}), *pods, types=[gpu]).placed == placed


@pytest.mark.core("CORE-336")
@pytest.mark.parametrize("nodes", [0, 1, 2])
def test_nodes_can_be_limited_within_one_pass_too(nodes: int) -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "16"}) for n in range(3)]
    plan = plan_of(make_nodepool(limits={"nodes": nodes}), *pods)
    assert (len(plan.launches), plan.placed) == (nodes, nodes)


def test_a_lighter_pool_takes_what_a_heavier_one_may_not() -> None:
    full, other = make_nodepool("full", weight=9, limits={"nodes": 0}), make_nodepool("other")
    assert [launch.pool.name for launch in plan_of(full, other, make_pod()).launches] == ["other"]


def test_without_limits_everything_is_launched() -> None:
    assert remaining_limits(Snapshot.from_objects([make_nodepool()]), make_catalog(Snapshot())) == {"default": None}


# What counts as used


def used_by(*objects: dict[str, Any]) -> Resources:
    snapshot = Snapshot.from_objects([make_nodepool(), *objects])
    return usage(snapshot, ["default"], make_catalog(snapshot))["default"]


def test_machines_count_with_their_capacity_and_as_a_node() -> None:
    assert used_by(*make_machine("m", room=FOUR_CPUS)) == Resources.parse(FOUR_CPUS) + {NODES: 1}


def test_machines_of_other_pools_do_not_count() -> None:
    assert used_by(*make_machine("m", room=FOUR_CPUS, pool="other")) == Resources()


def test_machines_that_are_leaving_do_not_count() -> None:
    claim, node = make_machine("m", metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"})
    assert used_by(claim, node) == Resources()


def test_a_claim_that_was_not_launched_counts_as_the_largest_machine_it_may_become() -> None:
    types = [selector("node.kubernetes.io/instance-type", "In", "c2", "c8")]
    claim = make_claim("young", reached=(), spec={"requirements": types})
    assert used_by(claim) == Resources.parse({"cpu": "8", "memory": "32Gi", "pods": "110"}) + {NODES: 1}


# Passes in quick succession


@pytest.mark.core("CORE-335")
@pytest.mark.parametrize(
    "limits", [{"cpu": "20"}, {"cpu": "33", "memory": "70Gi"}, {"nodes": "3"}, {"memory": "10Gi"}, {"cpu": "1"}]
)
def test_passes_in_quick_succession_never_overshoot_together(limits: dict[str, str]) -> None:
    """Each pass plans for new pods while the machines of the passes before are still unlaunched claims."""
    state = ClusterState.of([make_nodepool(limits=limits)])
    for step in range(6):
        fresh = [make_pod(f"p{step}-{n}", requests={"cpu": str(1 + (step + n) % 5)}) for n in range(3)]
        for pod in fresh:
            state.apply(WatchEvent(EventType.ADDED, POD, pod))
        snapshot = state.snapshot()
        catalog = make_catalog(snapshot)
        plan = solve(snapshot, catalog)
        for number, launch in enumerate(plan.launches):
            raw = new_claim(launch, CORE_LABELS)
            raw["metadata"] |= {"name": f"c{step}-{number}", "uid": f"c{step}-{number}"}
            state.apply(WatchEvent(EventType.ADDED, NODE_CLAIM, raw))
            state.nominate(f"c{step}-{number}", launch.pod_uids, until=0.0)
        pool = state.snapshot().pools[0]
        assert pool.limits is not None
        assert usage(state.snapshot(), ["default"], catalog)["default"].exceeds(pool.limits) == ()
        assert violations(plan, snapshot, catalog, snapshot.to_place) == []
