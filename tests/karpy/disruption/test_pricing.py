"""A replacement is cheaper however its launch turns out, and spot nodes are not replaced for ever."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.disruption.command import Command, Decision, Method
from karpy.disruption.multinode import multi_node
from karpy.disruption.scene import Scene
from karpy.disruption.singlenode import single_node
from karpy.disruption.verdicts import Chosen
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_instance_type, make_node, make_nodepool, make_pod
from tests.karpy.disruption.deciding import Json, machine, pod

FREE = {"budgets": [{"nodes": "100%"}]}
OLD = "old"
SPOT_TO_SPOT = {"spot_to_spot_consolidation": True}


def sold(name: str, *offerings: tuple[str, float], zone: str = "zone-a", **more: Any) -> InstanceType:
    return make_instance_type(
        name, cpu="4", memory="16Gi", offerings=[Offering(zone, kind, price) for kind, price in offerings], **more
    )


def many(count: int, kind: str = "spot", start: float = 0.1) -> list[InstanceType]:
    """Types of rising price; their names do not tell."""
    return [sold(f"t{(7 * number) % count:02}", (kind, round(start + number / 1000, 4))) for number in range(count)]


def outcome(
    types: Iterable[InstanceType],
    *,
    kind: str = "on-demand",
    requirements: Sequence[Json] = (),
    more: Sequence[Json] = (),
    **settings: Any,
) -> Command | str:
    """What becomes of a node of type ``old`` with one pod: a command, or the words of the verdict."""
    old = machine(OLD, OLD, 4, capacity_type=kind)
    objects = [make_nodepool(disruption=FREE, requirements=requirements), *old, pod("p", OLD), *more]
    snapshot = Snapshot.from_objects(objects)
    scene = Scene(snapshot, make_catalog(snapshot, types), now=START, settings=Settings(**settings))
    found = single_node(scene)
    return found[0] if found else str(scene.docket.of(OLD)[Method.SINGLE_NODE])


def names(found: Command | str) -> list[str]:
    assert isinstance(found, Command), found
    return [each.name for each in found.replacements[0].instance_types]


# What a launch may cost at the most


@pytest.mark.core("CORE-552", "CORE-564")
def test_the_dearest_offering_of_what_would_be_launched_must_be_cheaper() -> None:
    spread = make_instance_type(
        "spread",
        cpu="4",
        memory="16Gi",
        offerings=[Offering("zone-a", "on-demand", 0.2), Offering("zone-b", "on-demand", 0.6)],
    )
    assert outcome([sold(OLD, ("on-demand", 0.5)), spread]) == "Can't replace with a cheaper node"
    assert names(outcome([sold(OLD, ("on-demand", 0.7)), spread])) == ["spread"]


@pytest.mark.core("CORE-552")
def test_where_spot_is_to_be_had_its_price_counts_and_it_must_be_spot() -> None:
    found = outcome([sold(OLD, ("on-demand", 0.5)), sold("new", ("spot", 0.2), ("on-demand", 0.9))])
    assert isinstance(found, Command)
    assert found.savings == pytest.approx(0.3)
    assert found.replacements[0].capacity_types == ("spot",)


def test_where_no_spot_is_to_be_had_it_is_launched_on_demand() -> None:
    found = outcome([sold(OLD, ("on-demand", 0.5)), sold("new", ("on-demand", 0.4))])
    assert isinstance(found, Command)
    assert found.replacements[0].capacity_types == ("on-demand",)


@pytest.mark.core("CORE-552", "CORE-565")
def test_reserved_capacity_counts_before_all_other() -> None:
    reserved = Offering("zone-a", "reserved", 0.01, reservation_id="r-1", reservation_capacity=1)
    new = make_instance_type("new", cpu="4", memory="16Gi", offerings=[reserved, Offering("zone-a", "on-demand", 0.9)])
    found = outcome([sold(OLD, ("on-demand", 0.5)), new])
    assert isinstance(found, Command)
    assert found.savings == pytest.approx(0.49)
    dearer = Offering("zone-a", "reserved", 0.02, reservation_id="r-2", reservation_capacity=1)
    held = make_instance_type(OLD, cpu="4", memory="16Gi", offerings=[dearer])
    again = outcome([held, make_instance_type("new", cpu="4", memory="16Gi", offerings=[reserved])], kind="reserved")
    assert isinstance(again, Command)
    assert again.savings == pytest.approx(0.01)


@pytest.mark.core("CORE-563")
def test_a_dearer_spot_offer_is_none() -> None:
    assert outcome([sold(OLD, ("on-demand", 0.5)), sold("new", ("spot", 0.6))]) == "Can't replace with a cheaper node"


@pytest.mark.core("CORE-559", "CORE-596")
@pytest.mark.parametrize("strict", [True, False])
def test_there_must_still_be_as_many_to_choose_from_as_the_pool_asks(strict: bool) -> None:
    wanted = [{"key": labels.INSTANCE_TYPE, "operator": "Exists", "minValues": 3}]
    types = [sold(OLD, ("on-demand", 0.5)), sold("a", ("on-demand", 0.2)), sold("b", ("on-demand", 0.9))]
    told = outcome(types, requirements=wanted, strict_min_values=strict)
    assert str(told).startswith("Filtering by price: minValues")
    enough = [*types, sold("c", ("on-demand", 0.3)), sold("d", ("on-demand", 0.4))]
    assert names(outcome(enough, requirements=wanted, strict_min_values=strict)) == ["a", "c", "d"]


@pytest.mark.core("CORE-560", "CORE-568", "CORE-579")
def test_another_pool_that_can_buy_nothing_is_no_hindrance() -> None:
    other = make_nodepool(
        "other", requirements=[{"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["unknown"]}]
    )
    found = outcome([sold(OLD, ("on-demand", 0.5)), sold("new", ("on-demand", 0.4))], more=[other])
    assert isinstance(found, Command)


def test_a_pod_that_waits_for_more_choice_than_there_is_holds_up_nobody() -> None:
    picky = make_nodepool(
        "picky",
        requirements=[{"key": labels.INSTANCE_TYPE, "operator": "Exists", "minValues": 9}],
        spec={"weight": 1},
        template={"taints": [{"key": "only", "effect": "NoSchedule"}]},
    )
    there = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {labels.NODEPOOL: "picky"}}
    waits = make_pod("waits", requests={"cpu": "1"}, spec=there)
    roomy = make_node("roomy", room={"cpu": "64", "memory": "256Gi", "pods": "110"})
    found = outcome([sold(OLD, ("on-demand", 0.5))], more=[picky, waits, roomy])
    assert isinstance(found, Command)
    assert found.decision is Decision.DELETE


# Spot to spot


@pytest.mark.core("CORE-554")
def test_a_spot_node_is_not_replaced_by_spot_unless_people_want_that() -> None:
    types = [sold(OLD, ("spot", 0.9)), *many(20)]
    assert (
        outcome(types, kind="spot") == "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
    )


@pytest.mark.core("CORE-553", "CORE-555")
def test_and_only_if_there_is_enough_to_choose_from() -> None:
    types = [sold(OLD, ("spot", 0.9)), *many(14)]
    told = "SpotToSpotConsolidation requires 15 cheaper instance type options than the current candidate to consolidate, got 14"
    assert outcome(types, kind="spot", **SPOT_TO_SPOT) == told
    assert isinstance(outcome(types, kind="spot", spot_to_spot_flexibility=14, **SPOT_TO_SPOT), Command)


@pytest.mark.core("CORE-556", "CORE-557")
def test_the_cheapest_fifteen_are_sent_so_that_what_comes_is_one_of_them() -> None:
    found = names(outcome([sold(OLD, ("spot", 0.9)), *many(20)], kind="spot", **SPOT_TO_SPOT))
    assert found == [each.name for each in many(20)[:15]]


@pytest.mark.core("CORE-557")
@pytest.mark.parametrize(("least", "count"), [(10, 15), (18, 18)])
def test_or_as_many_as_the_pool_asks_to_choose_from(least: int, count: int) -> None:
    wanted = [{"key": labels.INSTANCE_TYPE, "operator": "Exists", "minValues": least}]
    found = outcome([sold(OLD, ("spot", 0.9)), *many(20)], kind="spot", requirements=wanted, **SPOT_TO_SPOT)
    assert len(names(found)) == count


def test_a_cheaper_spot_offer_that_is_not_cheaper_is_told_as_such() -> None:
    assert (
        outcome([sold(OLD, ("spot", 0.05)), *many(20)], kind="spot", **SPOT_TO_SPOT)
        == "Can't replace with a cheaper node"
    )


@pytest.mark.core("CORE-558")
def test_several_spot_nodes_need_no_choice_but_minvalues_still_hold() -> None:
    wanted = [{"key": labels.INSTANCE_TYPE, "operator": "Exists", "minValues": 2}]
    nodes = [
        *machine("a", OLD, 4, capacity_type="spot"),
        *machine("b", OLD, 4, capacity_type="spot"),
        pod("p", "a", cpu="2100m"),
        pod("q", "b", cpu="2100m"),
    ]
    large = make_instance_type("large", cpu="8", memory="32Gi", offerings=[Offering("zone-a", "spot", 0.3)])
    huge = make_instance_type("huge", cpu="16", memory="64Gi", offerings=[Offering("zone-a", "spot", 0.4)])
    for requirements, count in ((wanted, 1), ([], 1), ([{**wanted[0], "minValues": 3}], 0)):
        snapshot = Snapshot.from_objects([make_nodepool(disruption=FREE, requirements=requirements), *nodes])
        catalog = make_catalog(snapshot, [sold(OLD, ("spot", 0.5)), large, huge])
        scene = Scene(snapshot, catalog, now=START, settings=Settings(**SPOT_TO_SPOT))  # type: ignore[arg-type]
        found = multi_node(scene)
        assert len(found) == count
        for command in found:
            assert command.decision is Decision.REPLACE
            assert isinstance(scene.docket.last("a"), Chosen)
