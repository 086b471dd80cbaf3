"""Pods that were refused are tried again once others have their places, where that can have changed anything."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.testing import make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of


def reserved_type(name: str, cpu: str, price: float) -> InstanceType:
    """A machine model of which one is paid for already, and no other can be had."""
    offering = Offering("zone-a", labels.RESERVED, price, reservation_id=f"cr-{name}", reservation_capacity=1)
    return make_instance_type(name, cpu=cpu, offerings=[offering])


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    return make_pod(name, requests={"cpu": cpu}, spec=spec)


@pytest.mark.parametrize("packing", ["thrifty", "karpenter"])
def test_a_reservation_that_a_machine_outgrows_is_there_for_who_was_refused(packing: str) -> None:
    types = [reserved_type("small", "4", 0.01), reserved_type("large", "8", 0.02)]
    pool = make_nodepool(requirements=[selector(labels.CAPACITY_TYPE, "In", labels.RESERVED)])
    only_small = pod("only-small", "2", nodeSelector={labels.INSTANCE_TYPE: "small"})
    early, late = pod("early", "3"), pod("late", "1500m")
    assert plan_of(pool, early, only_small, types=types, packing=packing).placed == 1
    plan = plan_of(pool, early, only_small, late, types=types, packing=packing)
    assert {launch.pods: launch.instance_types[0].name for launch in plan.launches} == {
        ("default/early", "default/late"): "large",
        ("default/only-small",): "small",
    }


@pytest.mark.parametrize("packing", ["thrifty", "karpenter"])
def test_pods_that_follow_others_find_them_in_a_later_round(packing: str) -> None:
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "leader"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    leader = make_pod("leader", labels={"app": "leader"}, requests={"cpu": "1"})
    plan = plan_of(make_nodepool(), pod("follower", "2", affinity=near), leader, packing=packing)
    assert [set(launch.pods) for launch in plan.launches] == [{"default/follower", "default/leader"}]
