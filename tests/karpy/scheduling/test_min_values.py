from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.labels import CORE_LABELS
from karpy.lifecycle.launch import new_claim
from karpy.scheduling.plan import Plan
from karpy.testing import make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of

FAMILY = "cloud.test/family"
SIZE = "cloud.test/size"
TYPES = [
    make_instance_type(f"{family}{size}", cpu=str(size), price=size * factor, labels={FAMILY: family, SIZE: str(size)})
    for family, factor in (("x", 1.0), ("y", 1.1), ("z", 9.0))
    for size in (1, 2, 4)
]


def plan(least: int, key: str = labels.INSTANCE_TYPE, operator: str = "Exists", *values: str, **more: Any) -> Plan:
    requests = more.pop("requests", {"cpu": "100m"})
    pods = [make_pod(f"p{n}", requests=requests) for n in range(more.pop("pods", 1))]
    pool = make_nodepool(requirements=[selector(key, operator, *values, min_values=least)])
    return plan_of(pool, *pods, types=TYPES, **more)


@pytest.mark.core("CORE-282", "CORE-289")
@pytest.mark.parametrize(("least", "placed"), [(1, True), (9, True), (10, False)])
def test_a_launch_keeps_at_least_so_many_types(least: int, placed: bool) -> None:
    assert bool(plan(least).launches) == placed


@pytest.mark.core("CORE-283", "CORE-284", "CORE-285", "CORE-286")
@pytest.mark.parametrize(
    ("least", "operator", "value", "placed"),
    [(2, "Gt", "1", True), (3, "Gt", "1", False), (2, "Lt", "3", True), (3, "Lt", "3", False)],
)
def test_only_values_within_the_bounds_count(least: int, operator: str, value: str, placed: bool) -> None:
    assert bool(plan(least, SIZE, operator, value).launches) == placed


@pytest.mark.core("CORE-291", "CORE-292")
def test_of_several_entries_each_must_hold() -> None:
    def launches(families: int, sizes: int) -> int:
        wanted = [
            selector(FAMILY, "Exists", min_values=1),
            selector(FAMILY, "NotIn", "z", min_values=families),
            selector(SIZE, "Exists", min_values=sizes),
        ]
        return len(plan_of(make_nodepool(requirements=wanted), make_pod(), types=TYPES).launches)

    assert (launches(2, 3), launches(3, 3), launches(2, 4)) == (1, 0, 0)


@pytest.mark.core("CORE-287", "CORE-288", "CORE-291")
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("key", "entries", "most"),
    [
        (labels.INSTANCE_TYPE, (("In", "x1", "x2", "y1", "y2"), ("NotIn", "y2")), 3),
        (FAMILY, (("In", "x", "y", "z"), ("NotIn", "z")), 2),
        (SIZE, (("Gt", "1"), ("Lt", "8")), 2),
    ],
)
def test_of_entries_for_one_key_the_largest_number_counts(
    key: str, entries: tuple[tuple[str, ...], ...], most: int, swapped: bool
) -> None:
    def launches(*numbers: int) -> int:
        given = zip(entries, reversed(numbers) if swapped else numbers, strict=True)
        wanted = [selector(key, operator, *values, min_values=least) for (operator, *values), least in given]
        return len(plan_of(make_nodepool(requirements=wanted), make_pod(), types=TYPES).launches)

    assert (launches(1, most), launches(1, most + 1)) == (1, 0)


@pytest.mark.core("CORE-401")
@pytest.mark.parametrize(("key", "most"), [(labels.INSTANCE_TYPE, 9), (labels.ZONE, 3)])
def test_strictly_it_blocks(key: str, most: int) -> None:
    assert plan(most, key).placed == 1
    (refused,) = plan(most + 1, key).unschedulable
    assert refused.pods == ("default/p0",)


@pytest.mark.core("CORE-402")
@pytest.mark.parametrize(
    "wanted",
    [{labels.INSTANCE_TYPE: 10}, {labels.ZONE: 4}, {labels.INSTANCE_TYPE: 10, labels.ZONE: 4}],
)
def test_as_best_effort_it_does_not_block_and_the_claim_says_so(wanted: dict[str, int]) -> None:
    pool = make_nodepool(requirements=[selector(key, "Exists", min_values=least) for key, least in wanted.items()])
    (launch,) = plan_of(pool, make_pod(), types=TYPES, strict_min_values=False).launches
    made = new_claim(launch, CORE_LABELS)
    assert made["metadata"]["annotations"]["karpenter.sh/nodeclaim-min-values-relaxed"] == "true"
    held = {entry["key"]: entry.get("minValues") for entry in made["spec"]["requirements"]}
    assert held == {
        labels.NODEPOOL: None,
        "test.karpy.dev/testnodeclass": None,
        labels.INSTANCE_TYPE: None,
        labels.CAPACITY_TYPE: None,
        **{key: least - 1 for key, least in wanted.items()},
    }


@pytest.mark.core("CORE-402")
@pytest.mark.parametrize("strictly", [True, False])
def test_a_claim_of_which_nothing_was_lowered_says_that(strictly: bool) -> None:
    (launch,) = plan(9, strict_min_values=strictly).launches
    made = new_claim(launch, CORE_LABELS)
    assert made["metadata"]["annotations"]["karpenter.sh/nodeclaim-min-values-relaxed"] == "false"


@pytest.mark.core("CORE-403", "CORE-404")
@pytest.mark.parametrize("lighter", [1, 9, 10])
def test_as_best_effort_the_heavier_pool_gives_way_before_a_lighter_one_is_asked(lighter: int) -> None:
    pools = [
        make_nodepool("heavy", weight=9, requirements=[selector(labels.INSTANCE_TYPE, "Exists", min_values=10)]),
        make_nodepool("light", weight=1, requirements=[selector(labels.INSTANCE_TYPE, "Exists", min_values=lighter)]),
    ]
    (launch,) = plan_of(*pools, make_pod(), types=TYPES, strict_min_values=False).launches
    assert (launch.pool.name, launch.min_values_relaxed) == ("heavy", True)
    strictly = plan_of(*pools, make_pod(), types=TYPES).launches
    assert [launch.pool.name for launch in strictly] == (["light"] if lighter < 10 else [])


def test_a_machine_is_not_filled_so_far_that_too_few_types_are_left() -> None:
    packed = plan(2, SIZE, requests={"cpu": "900m"}, pods=4)
    assert [len(launch.pods) for launch in packed.launches] == [2, 2]
    assert [len(launch.pods) for launch in plan(1, SIZE, requests={"cpu": "900m"}, pods=4).launches] == [4]


@pytest.mark.core("CORE-290")
def test_types_that_are_cut_off_do_not_count() -> None:
    refused = plan(3, FAMILY, max_instance_types=4)
    assert refused.launches == ()
    assert "minValues" in refused.unschedulable[0].reason
    assert plan(2, FAMILY, max_instance_types=4).launches


def test_as_best_effort_it_is_lowered_to_what_there_is() -> None:
    (launch,) = plan(5, FAMILY, strict_min_values=False).launches
    assert launch.min_values_relaxed
    assert launch.requirements[FAMILY].min_values == 3
    (met,) = plan(3, FAMILY, strict_min_values=False).launches
    assert not met.min_values_relaxed


def test_best_effort_gives_way_for_the_first_pod_of_a_machine_only() -> None:
    packed = plan(5, SIZE, requests={"cpu": "900m"}, pods=4, strict_min_values=False)
    assert [launch.requirements[SIZE].min_values for launch in packed.launches] == [3] * 4
