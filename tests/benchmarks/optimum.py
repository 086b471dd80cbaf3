"""How far plans for small inputs are from the cheapest that can be, which `tests.oracle` finds by trying everything."""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from measure import Measure

import karpy
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.oracle import best
from tests.problems import any_problem, objects_of, types_of

INPUTS = 2_000


def measures() -> Iterator[Measure]:
    ratios = list(_ratios())
    count = len(ratios)
    yield Measure(
        "solve: small inputs, price to the least possible, mean", 100 * statistics.mean(ratios), "%", count, "lower"
    )
    yield Measure("solve: small inputs, price to the least possible, worst", 100 * max(ratios), "%", count, "lower")
    cheapest = 100 * sum(ratio < 1 + 1e-9 for ratio in ratios) / count
    yield Measure("solve: small inputs, plans that none is cheaper than", cheapest, "%", count, "higher")


def _ratios() -> Iterator[float]:
    """Those inputs for which anything has to be bought."""
    for seed in range(INPUTS):
        problem = any_problem(random.Random(seed).choice)
        snapshot = Snapshot.from_objects(objects_of(problem))
        plan, optimum = karpy.solve(snapshot, make_catalog(snapshot, types_of(problem))), best(problem)
        assert len(problem.pods) - plan.placed == optimum.waiting
        if optimum.price:
            yield plan.price / optimum.price
