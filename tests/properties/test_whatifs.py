"""What is worked out from a compiled picture, again and again, is what a fresh solve says each time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import Catalog
from karpy.scheduling.classes import Shut
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.scheduling.whatif import Outcome, WhatIfs
from karpy.settings import Settings
from karpy.state.snapshot import NodeView, Snapshot
from tests.clusters import any_cluster

CLUSTERS, PARTS = 2_000, 8


def stops_rightly(cut: Outcome, whole: Outcome, plan: Plan) -> None:
    """What is not found out to the end is no good: somebody is homeless, or there is more than one new machine."""
    if not cut.is_cut:
        assert told(cut.to_plan()) == told(plan)
    else:
        assert whole.homeless or whole.machines > 1
        assert {pod.key for pod in cut.homeless} <= {pod.key for pod in whole.homeless}
        assert cut.homeless or cut.machines > 1


POLICIES: Sequence[dict[str, bool]] = (
    {},
    {},
    {"respect_preferences": False},
    {"strict_min_values": False},
    {"reserved_capacity": False},
)


def afresh(
    snapshot: Snapshot, catalog: Catalog, views: Sequence[NodeView], shut: frozenset[str], policy: dict[str, bool]
) -> Plan:
    """The same from the beginning: a cluster without these nodes, in which their pods wait."""
    moving = [pod for view in views for pod in view.reschedulable_pods]
    rest = snapshot.without(view.name for view in views)
    doors = Shut(shut, frozenset(pod.metadata.uid for pod in moving)) if shut else Shut()
    pods = (*rest.to_place, *moving)
    return solve(rest, catalog, pods, packing=Packing.THRIFTY, shut=doors, **policy)


def told(plan: Plan) -> list[Any]:
    """All that a plan says."""
    launches = [{**attrs.asdict(each, recurse=False), "pool": each.pool.name} for each in plan.launches]
    nominations = [attrs.astuple(each) for each in plan.nominations]
    waiting = [(part.pods, part.kind, part.reason) for part in plan.unschedulable]
    buffers = [attrs.astuple(each) for each in plan.buffers]
    return [plan.version, launches, nominations, waiting, buffers, plan.price, plan.bound]


def agrees(outcome: Outcome, plan: Plan, shut: frozenset[str]) -> None:
    """What is said without a plan is what the plan says, and nobody moves to where it is shut."""
    moving = {pod.key for pod in outcome.moving}
    assert not any(part.node in shut and moving & set(part.pods) for part in plan.nominations)
    assert {pod.key for pod in outcome.homeless} == {k for part in plan.unschedulable for k in part.pods} & moving
    assert [key for part in outcome.why_homeless for key in part.pods] == [
        key for part in plan.unschedulable for key in part.pods if key in moving
    ]
    if not outcome.homeless:
        assert outcome.machines == len(outcome.replacements)


@pytest.mark.parametrize("part", range(PARTS))
def test_what_if_says_what_a_solve_from_the_beginning_says(part: int) -> None:
    launched = homeless = moved = 0
    for seed in range(part, CLUSTERS, PARTS):
        dice = random.Random(seed)
        snapshot, catalog = any_cluster(dice.choice)
        policy = dice.choice(POLICIES)
        shut = frozenset(view.name for view in snapshot.nodes if dice.random() < 0.3 and seed % 2)
        whatifs = WhatIfs(snapshot, catalog, Settings(**policy), shut=shut)  # type: ignore[arg-type]
        questions = [tuple(dice.sample(snapshot.nodes, dice.choice((1, 1, 1, 2)))) for _ in range(3)]
        questions += questions[:1]
        outcomes = [whatifs.without(views) for views in questions]
        answers = {views: afresh(snapshot, catalog, views, shut, policy) for views in dict.fromkeys(questions)}
        for views, outcome in dice.sample(list(zip(questions, outcomes, strict=True)), len(questions)):
            plan = answers[views]
            assert told(outcome.to_plan()) == told(plan), f"seed {seed} without {[view.name for view in views]}"
            agrees(outcome, plan, shut)
            stops_rightly(whatifs.without(views, machines=1), outcome, plan)
            launched += outcome.machines
            homeless += len(outcome.homeless)
            moved += len(outcome.moving)
    assert moved / 5 < homeless < moved * 3 / 5  # clusters of the kind that says something
    assert launched > moved / 5
