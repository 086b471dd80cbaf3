"""`karpy.solve`: pods of 50 shapes on 400 instance types."""

from __future__ import annotations

import random
from collections.abc import Iterator

from measure import Measure, rate

import karpy
from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.sim.generic import NODE_CLASS
from karpy.testing.builders import make_nodepool, make_pod
from karpy_aws.model import AWSModel

SHAPES = 50
TYPES = 400


def measures() -> Iterator[Measure]:
    for count in (1_000, 10_000):
        snapshot, catalog = problem(count)
        plan = karpy.solve(snapshot, catalog)  # makes the tables that are kept for the catalog's life
        assert plan.placed == count, plan.unschedulable
        name = f"solve: {count:,} pods of {SHAPES} shapes, {TYPES} instance types"
        yield rate(name, "pods/s", count, lambda s=snapshot, c=catalog: karpy.solve(s, c))


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
