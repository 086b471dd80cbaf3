from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.disruption.command import Command, Decision, Method, Move, Reason
from karpy.resources import Resources
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    START,
    make_catalog,
    make_condition,
    make_instance_type,
    make_node,
    make_nodepool,
    make_pod,
    selector,
)
from tests.karpy.disruption.deciding import commands_by, flat, machine, next_command, pod
from tests.karpy.scheduling.test_volumes import claim, using, volume

READY = [make_condition("Consolidatable")]
ON_DEMAND_ONLY = [selector(labels.CAPACITY_TYPE, "In", "on-demand")]
FREE = {"budgets": [{"nodes": "100%"}]}


def decide(
    *objects: Sequence[dict[str, Any]] | dict[str, Any],
    types: Sequence[InstanceType] | None = None,
    disruption: dict[str, Any] | None = None,
    requirements: Sequence[dict[str, Any]] = (),
    settings: Settings | None = None,
) -> Command | None:
    pool = make_nodepool(disruption=disruption or FREE, requirements=requirements)
    snapshot = Snapshot.from_objects([pool, *flat(objects)])
    return next_command(snapshot, make_catalog(snapshot, types), now=START, settings=settings)


def alone(*objects: Sequence[dict[str, Any]] | dict[str, Any]) -> Command:
    """What is found if nodes are looked at one by one."""
    snapshot = Snapshot.from_objects([make_nodepool(disruption=FREE), *flat(objects)])
    (found,) = commands_by(Method.SINGLE_NODE, snapshot, make_catalog(snapshot), now=START)
    return found


# Deletion


@pytest.mark.core("CORE-566")
def test_a_node_whose_pods_fit_on_others_goes() -> None:
    found = decide(machine("a", "c4", 4), machine("b", "c4", 4, conditions=()), pod("p", "a"), pod("q", "b"))
    assert found is not None
    assert (found.decision, found.reason, found.nodes) == (Decision.DELETE, Reason.UNDERUTILIZED, ("a",))
    assert found.savings == pytest.approx(0.2)
    assert found.explain() == "the pods of a fit on the other nodes; that saves $0.2000/h"


def test_pods_that_are_spread_by_default_are_not_moved_together() -> None:
    apart = f"{{maxSkew: 1, topologyKey: {labels.HOSTNAME}, whenUnsatisfiable: DoNotSchedule}}"
    settings = Settings(scheduler_config=f"podTopologySpread: {{defaultConstraints: [{apart}]}}")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"}}
    pods = [pod(name, on, labels={"app": "web"}) for name, on in (("p", "a"), ("q", "b"))]
    cluster = [machine("a", "a1", 1, capacity_type="spot"), machine("b", "a4", 4, conditions=()), *pods]
    cluster.append({**service, "spec": {"selector": {"app": "web"}}})
    assert decide(*cluster) is not None
    assert decide(*cluster, settings=settings) is None


@pytest.mark.core("CORE-569")
def test_nodes_of_others_may_take_them() -> None:
    found = decide(machine("a", "c1", 1), make_node("theirs"), pod("p", "a"))
    assert found is not None
    assert found.decision is Decision.DELETE


@pytest.mark.core("CORE-505", "CORE-574")
def test_a_node_that_may_yet_fail_to_come_up_is_no_place_to_move_to() -> None:
    young = machine("young", "c4", 4, reached=("Launched", "Registered"))
    assert decide(machine("a", "a1", 1, capacity_type="spot"), young, pod("p", "a")) is None


@pytest.mark.core("CORE-576")
def test_of_two_nodes_with_room_pods_go_to_the_one_that_is_up() -> None:
    young = machine("b", "c4", 4, reached=("Launched", "Registered"))
    up = machine("c", "c4", 4, conditions=())
    found = decide(machine("a", "a1", 1, capacity_type="spot"), young, up, pod("p", "a"), pod("q", "c"))
    assert found is not None
    assert found.moves == (Move("default/p", "c"),)


@pytest.mark.core("CORE-573")
def test_pods_that_nobody_will_bring_back_are_moved_like_others() -> None:
    orphan = make_pod("p", node="a", requests={"cpu": "1"}, owner="")
    found = decide(machine("a", "c4", 4), machine("b", "c4", 4, conditions=()), orphan, pod("q", "b"))
    assert found is not None
    assert (found.decision, found.nodes) == (Decision.DELETE, ("a",))


@pytest.mark.core("CORE-595")
@pytest.mark.parametrize(("respected", "gone"), [(True, ()), (False, ("a",))])
def test_preferences_hold_a_node_only_if_they_count(respected: bool, gone: tuple[str, ...]) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": labels.HOSTNAME}
    apart = {
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    }
    web = {"labels": {"app": "web"}, "spec": {"affinity": apart}}
    nodes = [machine("a", "a1", 1, capacity_type="spot"), machine("b", "c4", 4, conditions=())]
    found = decide(*nodes, pod("p", "a", **web), pod("q", "b", **web), settings=Settings(respect_preferences=respected))
    assert (() if found is None else found.nodes) == gone


@pytest.mark.core("CORE-577", "CORE-578")
def test_pods_that_wait_anyway_do_not_hold_a_node() -> None:
    stuck = make_pod("stuck", requests={"cpu": "500"})
    rest = machine("b", "c4", 4, conditions=())
    found = decide(machine("a", "c4", 4), rest, pod("p", "a"), stuck)
    assert found is not None
    assert found.nodes == ("a",)


@pytest.mark.core("CORE-590", "CORE-599")
def test_the_node_that_saves_the_most_for_the_least_trouble_goes_first() -> None:
    roomy = make_node("roomy", room={"cpu": "64", "memory": "256Gi", "pods": "110"})
    dear, cheap = machine("dear", "c8", 8), machine("cheap", "c4", 4)
    assert alone(roomy, cheap, dear, pod("p", "dear"), pod("q", "cheap")).nodes == ("dear",)
    crowded = [pod(f"c{number}", "dear", cpu="100m") for number in range(9)]
    assert alone(roomy, cheap, dear, *crowded, pod("q", "cheap")).nodes == ("cheap",)


# Replacement


@pytest.mark.core("CORE-552")
def test_a_node_whose_pods_fit_a_cheaper_one_is_replaced() -> None:
    found = decide(machine("a", "c16", 16), pod("p", "a"), requirements=ON_DEMAND_ONLY)
    assert found is not None
    (launch,) = found.replacements
    assert (found.decision, launch.instance_types[0].name) == (Decision.REPLACE, "a1")
    assert all(priced.price < 0.8 for priced in launch.instance_types)
    assert found.savings == pytest.approx(0.8 - 0.04)
    assert str(found) == "replace: [a] -> [1 replacement] (savings: $0.76)"
    assert found.explain() == "the pods of a fit on one a1 at $0.0400/h; that saves $0.7600/h"


@pytest.mark.core("CORE-507")
@pytest.mark.parametrize("source", [{"local": {"path": "/x"}}, {"hostPath": {"path": "/x"}}])
def test_a_disk_of_the_node_itself_is_no_reason_to_keep_the_node(source: dict[str, Any]) -> None:
    """Whoever chose such a disk knows that it goes with the node. One that can be reached from a single node holds it."""
    only_here = [selector(labels.HOSTNAME, "In", "a")]
    user = using("data", name="p", node="a", requests={"cpu": "1"})
    cluster = [machine("a", "c16", 16), user, claim(of=None, volume="disk")]
    found = decide(*cluster, volume("disk", only_here, **source), requirements=ON_DEMAND_ONLY)
    assert found is not None
    assert (found.decision, found.moves) == (Decision.REPLACE, (Move("default/p", 0),))
    assert decide(*cluster, volume("disk", only_here), requirements=ON_DEMAND_ONLY) is None


@pytest.mark.core("CORE-564", "CORE-586")
def test_a_node_is_not_replaced_by_one_that_is_no_cheaper() -> None:
    assert decide(machine("a", "a1", 1), pod("p", "a"), requirements=ON_DEMAND_ONLY) is None


@pytest.mark.core("CORE-563")
def test_types_that_may_turn_out_dearer_are_no_replacement() -> None:
    """The cloud picks the zone: the dearest allowed offering must still be cheaper."""
    now = make_instance_type("now", cpu="8", offerings=[Offering("zone-a", "on-demand", 1.0)])
    risky = [Offering("zone-a", "on-demand", 0.1), Offering("zone-b", "on-demand", 2.0)]
    gamble = make_instance_type("gamble", cpu="4", offerings=risky)
    assert decide(machine("a", "now", 8), pod("p", "a"), types=[now, gamble]) is None
    safe = make_instance_type("safe", cpu="4", offerings=[*risky[:1], Offering("zone-b", "on-demand", 0.9)])
    found = decide(machine("a", "now", 8), pod("p", "a"), types=[now, gamble, safe])
    assert found is not None
    assert [priced.name for priced in found.replacements[0].instance_types] == ["safe"]


def test_an_on_demand_node_is_replaced_by_spot_only_where_both_are_allowed() -> None:
    """Were the spot launch to fail, on-demand might cost more than the node does now."""
    found = decide(machine("a", "c16", 16), pod("p", "a"))
    assert found is not None
    (launch,) = found.replacements
    assert launch.requirements.labels()[labels.CAPACITY_TYPE] == "spot"


@pytest.mark.core("CORE-554")
def test_a_spot_node_is_not_replaced_by_spot() -> None:
    assert decide(machine("a", "c16", 16, capacity_type="spot"), pod("p", "a")) is None


def test_a_spot_node_may_be_replaced_by_cheaper_on_demand() -> None:
    spot = machine("a", "c16", 16, capacity_type="spot")
    found = decide(spot, pod("p", "a"), requirements=ON_DEMAND_ONLY)
    assert found is not None
    assert found.decision is Decision.REPLACE


@pytest.mark.core("CORE-618")
def test_a_node_is_not_replaced_by_several() -> None:
    split = [
        pod("p", "a", spec={"nodeSelector": {labels.ARCH: "amd64"}}),
        pod("q", "a", spec={"nodeSelector": {labels.ARCH: "arm64"}}),
    ]
    assert decide(machine("a", "c16", 16), *split, requirements=ON_DEMAND_ONLY) is None


def test_a_machine_for_a_pod_that_waits_counts_as_it_might_have_had_room_on_the_node() -> None:
    waits = make_pod("waits", requests={"cpu": "16"})
    assert decide(machine("a", "c16", 16), pod("p", "a"), waits, requirements=ON_DEMAND_ONLY) is None
    found = decide(machine("a", "c16", 16), pod("p", "a"), requirements=ON_DEMAND_ONLY)
    assert found is not None


@pytest.mark.core("CORE-577")
def test_a_pod_that_waits_for_ever_holds_up_nobody() -> None:
    waits = make_pod("waits", requests={"cpu": "1600"})
    found = decide(machine("a", "c16", 16), pod("p", "a"), waits, requirements=ON_DEMAND_ONLY)
    assert found is not None
    assert found.replacements[0].pods == ("default/p",)


# What stays


@pytest.mark.core("CORE-543")
def test_nodes_of_a_pool_that_only_gives_up_empty_ones_stay() -> None:
    only_empty = {**FREE, "consolidationPolicy": "WhenEmpty"}
    assert decide(machine("a", "c16", 16), pod("p", "a"), disruption=only_empty) is None


@pytest.mark.core("CORE-549", "CORE-642")
def test_without_a_budget_nothing_moves() -> None:
    closed = {"budgets": [{"nodes": "0", "reasons": ["Underutilized"]}]}
    assert decide(machine("a", "c16", 16), pod("p", "a"), disruption=closed) is None
    found = decide(machine("a", "c16", 16), machine("b", "c4", 4), pod("p", "a"), disruption=closed)
    assert found is not None
    assert (found.reason, found.nodes) == (Reason.EMPTY, ("b",))


@pytest.mark.core("CORE-562", "CORE-570")
def test_a_pod_that_must_not_be_disturbed_holds_its_node() -> None:
    held = pod("p", "a", annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert decide(machine("a", "c16", 16), held) is None


@pytest.mark.core("CORE-567")
def test_a_node_that_was_not_left_alone_for_long_enough_stays() -> None:
    assert decide(machine("a", "c16", 16, conditions=()), pod("p", "a")) is None


def test_a_node_of_unknown_price_is_not_replaced() -> None:
    assert decide(machine("a", "unknown", 16), pod("p", "a")) is None


def test_a_replacement_costs_what_the_offerings_cost_that_hold_the_pods() -> None:
    old = make_instance_type("old", cpu="4", offerings=[Offering("zone-a", "on-demand", 1.0)])
    tiny = Offering("zone-b", "on-demand", 0.1, capacity_override=Resources({"cpu": 500}))
    mixed = make_instance_type("mixed", cpu="2", offerings=[tiny, Offering("zone-a", "on-demand", 0.6)])
    found = decide(machine("a", "old", 4), pod("p", "a"), types=[old, mixed])
    assert found is not None
    assert (found.decision, found.savings) == (Decision.REPLACE, pytest.approx(0.4))
