"""`karpy.solve`: pods of 50 shapes on 400 instance types."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from measure import Measure, rate

import karpy
from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.sim.generic import NODE_CLASS
from karpy.testing.builders import make_nodepool, make_pod
from karpy_aws.model import AWSModel

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.vectors import read, scenario

SHAPES = 50
TYPES = 400
SHARED = Path(__file__).parents[3] / "shared"
REFERENCE = ("diverse-1000", "diverse-10000", "diverse-20000", "diverse-1000-cloud-800", "diverse-10000-cloud-800")


def measures() -> Iterator[Measure]:
    for count in (1_000, 10_000):
        snapshot, catalog = problem(count)
        plan = karpy.solve(snapshot, catalog)  # makes the tables that are kept for the catalog's life
        assert plan.placed == count, plan.unschedulable
        name = f"solve: {count:,} pods of {SHAPES} shapes, {TYPES} instance types"
        yield rate(name, "pods/s", count, lambda s=snapshot, c=catalog: karpy.solve(s, c))

    if SHARED.is_dir():
        yield from reference_workloads()


def reference_workloads() -> Iterator[Measure]:
    """Karpenter's own benchmark mix: a fifth each of plain pods, zone spread, host spread, zone affinity, host anti-affinity."""
    known = json.loads((SHARED / "data" / "vectors" / "bench" / "karpenter.json").read_text())["diverse"]
    for name in REFERENCE:
        snapshot, catalog = scenario(SHARED, next(read(SHARED, f"bench/{name}.jsonl.gz")))
        plan = karpy.solve(snapshot, catalog)
        count = len(snapshot.pending)
        assert plan.placed == count, plan.unschedulable
        yield rate(f"solve: {name}", "pods/s", count, lambda s=snapshot, c=catalog: karpy.solve(s, c), runs=3)
        yield Measure(
            f"solve: {name}, price of the plan",
            plan.price / known[name]["totalPrice"] * 100,
            "% of Karpenter's",
            1,
            "lower",
        )


def problem(count: int) -> tuple[karpy.Snapshot, Catalog]:
    """An empty cluster with ``count`` waiting pods."""
    dice = random.Random(0)
    shapes = [
        {
            "cpu": f"{dice.choice((100, 250, 500, 750, 1000, 2000, 4000))}m",
            "memory": f"{dice.randrange(128, 8192, 64)}Mi",
        }
        for _ in range(SHAPES)
    ]
    pods = [make_pod(f"pod-{index:05d}", requests=shapes[index % SHAPES]) for index in range(count)]
    snapshot = karpy.Snapshot.from_objects([make_nodepool("default"), *pods], (NODE_CLASS,))
    model = AWSModel()
    types = InstanceTypes(tuple(model.instance_types())[:TYPES])
    return snapshot, Catalog({"default": types}, karpy.LabelSpec(model.labels.well_known))
