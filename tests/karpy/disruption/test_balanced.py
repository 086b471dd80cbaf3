"""The policy Balanced: is it worth the trouble?"""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceTypes, Offering
from karpy.disruption.balanced import hopeless, refusal, scores
from karpy.disruption.command import Command, Method
from karpy.disruption.scene import Scene
from karpy.disruption.score import Score, Totals, score
from karpy.disruption.singlenode import single_node
from karpy.disruption.verdicts import BudgetSpent, ScoreBelow
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_instance_type, make_nodepool, selector
from tests.karpy.disruption.deciding import Json, flat, machine, next_command, pod

EXAMPLE = Totals(cost=58.08, disruption=80.0)
"""Eight nodes at 4.84 and two at 9.68 with 80 pods, as in Karpenter's design."""


@pytest.mark.core("CORE-626", "CORE-628", "CORE-629")
@pytest.mark.parametrize(
    ("savings", "disruption", "value"),
    [
        (9.68 - 2.42, 3, (7.26 / 58.08) / (3 / 80)),  # a large one with little on it becomes a small one
        (4.84, 4, (4.84 / 58.08) / (4 / 80)),  # one goes whose pods have room elsewhere
        (4.84 - 2.42, 8, (2.42 / 58.08) / (8 / 80)),  # half a node for as many pods as nodes have
        (0.01, 40, (0.01 / 58.08) / (40 / 80)),
    ],
)
def test_the_score_is_the_part_saved_for_the_part_disturbed(savings: float, disruption: float, value: float) -> None:
    assert score(savings, disruption, EXAMPLE) == pytest.approx(value, abs=1e-9)


@pytest.mark.core("CORE-627", "CORE-631", "CORE-638")
@pytest.mark.parametrize(
    ("savings", "disruption", "totals", "value"),
    [
        (0.0, 3, EXAMPLE, 0.0),
        (-1.0, 3, EXAMPLE, 0.0),
        (1.0, 0, EXAMPLE, math.inf),
        (0.0, 0, EXAMPLE, 0.0),
        (1.0, 3, Totals(0.0, 80.0), 0.0),
        (1.0, 3, Totals(58.08, 0.0), 0.0),
        (1.0, 3, None, 0.0),
        (math.nan, 3, EXAMPLE, 0.0),
    ],
)
def test_what_cannot_be_weighed_is_not_approved_of(
    savings: float, disruption: float, totals: Totals | None, value: float
) -> None:
    assert score(savings, disruption, totals) == value


@pytest.mark.core("CORE-630", "CORE-633")
def test_it_does_not_matter_how_large_the_pool_is() -> None:
    found = {round(score(1.0, 5, Totals(2.0 * size, 10.0 * size)), 9) for size in (1, 10, 1000)}
    assert found == {1.0}


@pytest.mark.core("CORE-632")
@pytest.mark.parametrize(("k", "approves"), [(1, False), (2, False), (3, True)])
def test_k_says_how_much_is_enough(k: float, approves: bool) -> None:
    found = Score(pool="p", savings=2.42, disruption=8, totals=EXAMPLE, k=k)  # 0.4167
    assert found.is_enough == approves


def test_it_is_told_as_karpenter_tells_it() -> None:
    found = Score(pool="p", savings=7.26, disruption=3, totals=EXAMPLE, k=2)
    assert str(found) == "score 3.33 >= threshold 0.50 (k: 2, savings 12.5%, disruption 3.8%)"
    assert "score 0.42 < threshold 0.50" in str(attrs.evolve(found, savings=2.42, disruption=8))


# In a pool


def scene_of(
    *objects: list[Json] | Json, pools: dict[str, str] | None = None, catalog: Catalog | None = None, **settings: Any
) -> Scene:
    """``pools``: the policy of each."""
    only = [selector(labels.CAPACITY_TYPE, "In", "on-demand"), selector(labels.ARCH, "In", "amd64")]
    made = [
        make_nodepool(
            name, requirements=only, disruption={"consolidationPolicy": policy, "budgets": [{"nodes": "100%"}]}
        )
        for name, policy in (pools or {"default": "Balanced"}).items()
    ]
    snapshot = Snapshot.from_objects([*made, *flat(objects)])
    return Scene(snapshot, catalog or make_catalog(snapshot), now=START, settings=Settings(**settings))


def pods(node: str, count: int, cpu: str = "100m") -> list[Json]:
    return [pod(f"{node}-{number}", node, cpu=cpu) for number in range(count)]


def judged(scene: Scene, *names: str) -> list[Score]:
    gone = [each for each in scene.all_candidates if each.view.name in names]
    return list(scores(scene, gone, sum(each.price for each in gone)))


@pytest.mark.core("CORE-636")
def test_the_only_node_of_a_pool_is_worth_exactly_itself() -> None:
    (found,) = judged(scene_of(machine("a", "c4", 4), pods("a", 3)), "a")
    assert found.value == 1.0


@pytest.mark.core("CORE-626", "CORE-637")
def test_a_node_goes_if_it_costs_much_and_holds_little() -> None:
    light = (machine("dear", "c16", 16), pods("dear", 1))
    crowded = flat([[*machine(name, "c4", 4), *pods(name, 9)] for name in ("b", "c")])
    (command,) = single_node(scene_of(*light, crowded))
    assert command.nodes == ("dear",)
    assert [each.pool for each in command.scores] == ["default"]
    assert command.scores[0].is_enough


@pytest.mark.core("CORE-627")
def test_a_node_stays_if_it_costs_little_and_holds_much() -> None:
    crowded = (machine("crowded", "c2", 2), pods("crowded", 18))
    scene = scene_of(*crowded, machine("roomy", "c16", 16), pods("roomy", 1))
    commands = single_node(scene)
    verdict = scene.docket.of("crowded")[Method.SINGLE_NODE]
    assert "crowded" not in [node for command in commands for node in command.nodes]
    assert isinstance(verdict, ScoreBelow) or not isinstance(verdict, Command)


@pytest.mark.core("CORE-636", "CORE-638")
def test_it_is_not_worked_out_what_could_not_be_worth_it() -> None:
    scene = scene_of(machine("crowded", "c1", 1), pods("crowded", 9), machine("dear", "c16", 16), pods("dear", 1))
    crowded, dear = sorted(scene.all_candidates, key=lambda each: each.view.name)
    found = hopeless(scene, crowded)
    assert found is not None
    assert str(found).startswith("score ")
    assert hopeless(scene, dear) is None
    assert scene.work == 0


@pytest.mark.core("CORE-634", "CORE-638", "CORE-642")
def test_other_policies_are_not_weighed() -> None:
    scene = scene_of(machine("crowded", "c1", 1), pods("crowded", 9), pools={"default": "WhenEmptyOrUnderutilized"})
    assert judged(scene, "crowded") == []
    assert refusal([]) is None


@pytest.mark.core("CORE-639", "CORE-636")
def test_each_pool_has_its_share_of_the_savings_and_all_must_approve() -> None:
    pools = {"one": "Balanced", "two": "Balanced", "three": "WhenEmptyOrUnderutilized"}
    nodes = [
        machine("a", "c16", 16, pool="one"),
        machine("b", "c4", 4, pool="two"),
        machine("c", "c4", 4, pool="three"),
    ]
    more = [machine("b2", "c16", 16, pool="two"), pods("b2", 1)]
    scene = scene_of(*nodes, pods("a", 1), pods("b", 9), pods("c", 1), *more, pools=pools)
    one, two = judged(scene, "a", "b", "c")
    assert (one.pool, two.pool) == ("one", "two")
    assert one.savings == pytest.approx(0.8)
    assert two.savings == pytest.approx(0.2)
    assert (one.is_enough, two.is_enough) == (True, False)
    verdict = refusal([one, two])
    assert isinstance(verdict, ScoreBelow)
    assert verdict.score == two.value


@pytest.mark.core("CORE-635", "CORE-637")
def test_a_node_whose_price_is_not_known_costs_nothing_but_counts_for_its_pods() -> None:
    priced = make_instance_type(
        "c4", cpu="4", memory="16Gi", offerings=[Offering("zone-a", "on-demand", 0.2, available=False)]
    )
    unpriced = make_instance_type("odd", cpu="4", memory="16Gi", offerings=[Offering("zone-a", "on-demand", math.nan)])
    objects = (
        machine("a", "c4", 4),
        pods("a", 1),
        machine("b", "odd", 4),
        pods("b", 3),
        machine("c", "gone", 4),
        pods("c", 2),
    )
    scene = scene_of(*objects, catalog=Catalog({"default": InstanceTypes((priced, unpriced))}))
    assert scene.totals("default") == Totals(cost=0.2, disruption=pytest.approx(9.0))  # type: ignore[arg-type]


@pytest.mark.core("CORE-640")
def test_savings_are_reckoned_from_what_the_pool_may_buy() -> None:
    cheap_as_spot = make_instance_type(
        "c2", cpu="2", memory="8Gi", offerings=[Offering("zone-a", "spot", 0.01), Offering("zone-a", "on-demand", 0.1)]
    )
    large = make_instance_type("c16", cpu="16", memory="64Gi", offerings=[Offering("zone-a", "on-demand", 0.8)])
    types = Catalog({"default": InstanceTypes((cheap_as_spot, large))})
    (command,) = single_node(scene_of(machine("a", "c16", 16), pods("a", 1), catalog=types))
    assert command.savings == pytest.approx(0.7)


@pytest.mark.core("CORE-642")
def test_empty_nodes_go_first_and_closed_budgets_hold() -> None:
    scene = scene_of(machine("empty", "c4", 4), machine("light", "c16", 16), pods("light", 1))
    command = next_command(scene.snapshot, scene.catalog, now=START)
    assert command is not None
    assert command.nodes == ("empty",)
    closed = make_nodepool(disruption={"consolidationPolicy": "Balanced", "budgets": [{"nodes": "0%"}]})
    snapshot = Snapshot.from_objects([closed, *machine("light", "c16", 16), *pods("light", 1)])
    shut = Scene(snapshot, make_catalog(snapshot), now=START)
    assert single_node(shut) == ()
    assert isinstance(shut.docket.last("light"), BudgetSpent)


@pytest.mark.core("CORE-641")
def test_what_is_approved_is_told_for_each_pool_that_was_asked() -> None:
    pools = {"one": "Balanced", "two": "Balanced", "other": "WhenEmptyOrUnderutilized"}
    found = judged(
        scene_of(
            *itertools.chain.from_iterable(
                (machine(name, "c16", 16, pool=pool), pods(name, 1)) for name, pool in zip("abc", pools, strict=True)
            ),
            pools=pools,
        ),
        *"abc",
    )
    assert {each.pool: each.is_enough for each in found} == {"one": True, "two": True}
    assert all(str(each).startswith("score 1.00 >= threshold 0.50 (k: 2") for each in found)
