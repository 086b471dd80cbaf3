from __future__ import annotations

from typing import Any

from karpy.scheduling.fullness import full_launches
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_buffer, make_catalog, make_instance_type, make_nodepool, make_pod, make_pod_template


def full(pods: list[dict[str, Any]], *sizes: str, others: tuple[Any, ...] = ()) -> list[bool]:
    """For each planned machine, the largest first, whether it is full, where machines of these sizes are sold."""
    snapshot = Snapshot.from_objects([make_nodepool(), *pods, *others])
    catalog = make_catalog(
        snapshot, [make_instance_type(f"c{size}", cpu=size, memory="64Gi", price=float(size)) for size in sizes]
    )
    plan = solve(snapshot, catalog)
    found = full_launches(plan.launches, catalog, snapshot.to_place)
    return [launch in found for launch in sorted(plan.launches, key=lambda launch: -launch.price)]


def pods(*cpus: str) -> list[dict[str, Any]]:
    return [make_pod(f"p{number}", requests={"cpu": cpu, "memory": "64Mi"}) for number, cpu in enumerate(cpus)]


def test_a_machine_is_full_when_not_even_the_smallest_pod_finds_room() -> None:
    assert full(pods("2", "1500m", "500m"), "4") == [True]
    assert full(pods("2", "1"), "4") == [False]


def test_a_gap_that_is_smaller_than_the_smallest_pod_is_none() -> None:
    assert full(pods("1500m", "1500m"), "4") == [True]
    assert full(pods("1500m", "1500m", "100m"), "4") == [False]


def test_a_gap_of_a_twentieth_is_none() -> None:
    assert full(pods("3800m", "100m"), "4") == [True]


def test_a_machine_that_may_still_become_a_larger_one_is_not_full() -> None:
    assert full(pods("2", "2"), "4", "8") == [False]


def test_of_several_machines_those_that_are_full() -> None:
    assert full(pods(*["1"] * 6), "4") == [True, False]


def test_a_machine_with_room_in_reserve_is_not_launched_early() -> None:
    template = make_pod_template("room", requests={"cpu": "1"})
    buffer = make_buffer("spare", template="room", replicas=2)
    assert full(pods("2"), "4", others=(template, buffer)) == [False]


def test_the_resource_that_is_used_up_first_decides() -> None:
    wanting = make_pod("p", requests={"cpu": "1", "memory": "63Gi"})
    assert full([wanting, *pods("100m")], "4") == [True]
