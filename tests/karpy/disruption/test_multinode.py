"""Several nodes at once."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.disruption.command import Command, Decision, Method
from karpy.disruption.multinode import multi_node
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import BudgetSpent
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_nodepool, selector
from tests.karpy.disruption.checker import faults
from tests.karpy.disruption.deciding import Json, flat, machine, next_command, pod

FREE = {"budgets": [{"nodes": "100%"}]}


def scene_of(
    *objects: list[Json] | Json, settings: Settings | None = None, disruption: Json | None = None, arch: str = "amd64"
) -> Scene:
    """Nodes of a pool that wants to save money; those of the pool ``rest`` stay."""
    wanted = [selector(labels.CAPACITY_TYPE, "In", "on-demand"), selector(labels.ARCH, "In", arch)]
    pools = [
        make_nodepool(requirements=wanted, disruption=disruption or FREE),
        make_nodepool("rest", requirements=wanted, disruption={"consolidateAfter": "Never"}),
    ]
    snapshot = Snapshot.from_objects([*pools, *flat(objects)])
    return Scene(snapshot, make_catalog(snapshot), now=START, settings=settings)


def roomy(free: int) -> list[Json]:
    """A node that stays, with so much room."""
    return [*machine("roomy", "c16", 16, pool="rest"), pod("stays", "roomy", cpu=str(16 - free))]


def found(scene: Scene) -> Command | None:
    """The command, found to be safe."""
    command = next(iter(multi_node(scene)), None)
    if command is not None:
        assert faults(command, scene.snapshot, scene.catalog, scene.now) == []
    return command


def light(count: int, cpu: str = "1", **arguments: Any) -> list[Json]:
    """Nodes with a little on each."""
    names = [f"n{number}" for number in range(count)]
    return flat([[*machine(name, "c4", 4, **arguments), pod(f"p-{name}", name, cpu=cpu)] for name in names])


@pytest.mark.core("CORE-584")
def test_three_nodes_become_one() -> None:
    command = found(
        scene_of(light(4, cpu="2100m"))
    )  # the pods of four would need a machine that costs as much as they do
    assert command is not None
    assert (command.decision, len(command.nodes), len(command.replacements)) == (Decision.REPLACE, 3, 1)
    assert command.replacements[0].instance_types[0].name == "c8"


@pytest.mark.core("CORE-585")
def test_spot_and_on_demand_may_go_together() -> None:
    spot = [*machine("spot", "c16", 16, capacity_type="spot"), pod("q", "spot", cpu="2100m")]
    command = found(scene_of(spot, light(3, cpu="2100m")))
    assert command is not None
    assert {"spot", "n0"} < set(command.nodes)
    assert command.decision is Decision.REPLACE


@pytest.mark.core("CORE-586")
def test_a_node_that_goes_is_not_made_again() -> None:
    """Both would fit on a machine like each of them; but then one of them had better stay."""
    objects = (machine("a", "c4", 4), machine("b", "c4", 4), pod("p", "a", cpu="2"), pod("q", "b", cpu="1500m"))
    assert found(scene_of(*objects)) is None
    cheaper = found(scene_of(*objects, arch="arm64"))
    assert cheaper is not None
    assert cheaper.replacements[0].instance_types[0].name == "a4"


@pytest.mark.core("CORE-549")
def test_no_more_go_than_the_budgets_allow() -> None:
    scene = scene_of(light(5), roomy(8), disruption={"budgets": [{"nodes": "3"}]})
    command = found(scene)
    assert command is not None
    assert len(command.nodes) == 3
    left = [f"n{number}" for number in range(5) if f"n{number}" not in command.nodes]
    assert all(isinstance(scene.docket.last(name), BudgetSpent) for name in left)


@pytest.mark.core("CORE-550")
@pytest.mark.parametrize(("nodes", "count"), [("2", 4), ("100%", 6), ("0", 0)])
def test_each_pool_has_its_own_budgets(nodes: str, count: int) -> None:
    budgets = {"budgets": [{"nodes": nodes}]}
    snapshot = Snapshot.from_objects(
        [
            make_nodepool("one", disruption=budgets),
            make_nodepool("two", disruption=budgets),
            make_nodepool("rest", disruption={"consolidateAfter": "Never"}),
            *machine("roomy", "c16", 16, pool="rest"),
            *(
                part
                for pool in ("one", "two")
                for number in range(3)
                for part in (
                    *machine(f"{pool}{number}", "c4", 4, pool=pool),
                    pod(f"p-{pool}{number}", f"{pool}{number}"),
                )
            ),
        ]
    )
    command = found(Scene(snapshot, make_catalog(snapshot), now=START))
    assert (0 if command is None else len(command.nodes)) == count


def test_one_node_alone_is_the_business_of_another_method() -> None:
    assert found(scene_of(light(1))) is None


def test_a_set_that_is_no_beginning_is_found_too() -> None:
    """The two that save the most for their trouble cannot go together with anything; two others of one zone can."""
    stuck = {"nodeSelector": {labels.HOSTNAME: "away"}}
    dear = flat([[*machine(name, "c16", 16, zone="zone-b"), pod(f"s-{name}", name, spec=stuck)] for name in ("x", "y")])
    command = found(scene_of(dear, light(2, zone="zone-a"), roomy(3)))
    assert command is not None
    assert sorted(command.nodes) == ["n0", "n1"]


@pytest.mark.parametrize(("cap", "count"), [(1, 2), (3, 4), (100, 6), (0, 6)])
def test_so_many_are_looked_at_together_as_the_settings_say(cap: int, count: int) -> None:
    command = found(scene_of(light(6), roomy(8), settings=Settings(multi_node_candidates=cap)))
    assert command is not None
    assert len(command.nodes) == count  # one more than the setting says, as in Karpenter; 0: all


@pytest.mark.core("CORE-532")
def test_the_search_ends_when_its_share_of_the_work_is_done_with_the_best_so_far() -> None:
    whole, cut = scene_of(light(6), roomy(8)), scene_of(light(6), roomy(8), settings=Settings(disruption_work=4))
    every, some = found(whole), found(cut)
    assert every is not None
    assert some is not None
    assert cut.work < whole.work
    assert len(some.nodes) < len(every.nodes) == 6


@pytest.mark.core("CORE-589")
def test_when_no_set_can_go_each_is_looked_at_by_itself() -> None:
    large = [*machine("large", "c16", 16), pod("p", "large")]
    away = pod("away", "stuck", spec={"nodeSelector": {labels.HOSTNAME: "away"}})
    scene = scene_of(large, machine("stuck", "c16", 16), away)
    assert found(scene) is None
    command = next_command(scene.snapshot, scene.catalog, now=START)
    assert command is not None
    assert (command.method, command.nodes) == (Method.SINGLE_NODE, ("large",))
