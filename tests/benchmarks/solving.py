"""`karpy.solve`: Karpenter's own workloads where their recorded inputs are, and workloads of ours beside them."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from measure import Measure, duration, rate, seconds
from workloads import deployments, doubling, of_shapes, with_preferences

import karpy
from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.labels import CORE_LABELS
from karpy.sim.generic import NODE_CLASS
from karpy.testing.builders import make_nodepool
from karpy_aws.model import AWSModel

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.vectors import read, scenario

SHARED = Path(__file__).parents[3] / "shared"
SIZES = {"": (500, 1_000, 5_000, 10_000, 20_000), "-cloud-800": (500, 1_000, 5_000, 10_000)}
"""Of the recorded inputs, by the end of their names: on 400 and on 926 instance types."""
WHOLE = ("diverse-1000-cloud-800", "diverse-5000-cloud-800")


def measures() -> Iterator[Measure]:
    yield from our_workloads()
    yield from growth()
    if SHARED.is_dir():
        known = json.loads((SHARED / "data" / "vectors" / "bench" / "karpenter.json").read_text())["diverse"]
        for catalog, sizes in SIZES.items():
            yield from reference_workloads([f"diverse-{size}{catalog}" for size in sizes], sizes, known)
        for name in WHOLE:
            yield from whole_pass(name)


def our_workloads() -> Iterator[Measure]:
    yield solving("10,000 pods of 50 shapes", of_shapes(10_000))
    spread = problem(deployments(50_000), pools=5)
    name = "solve: 50,000 pods of 100 Deployments spread over zones and hosts, 5 pools"
    yield duration(name, lambda: seconds(lambda: solved(*spread)), runs=3)
    picky = with_preferences(4_000, "us-west-2a")
    for respected in (True, False):
        word = "respected" if respected else "ignored"
        yield solving(f"4,000 like pods, preferences {word}", picky, respect_preferences=respected)


def growth() -> Iterator[Measure]:
    """How time grows with size, and the exponent of the power law that fits best; 1 is linear."""
    for what, made in (("pods of 50 shapes", of_shapes), ("pods of 100 Deployments, spread", deployments)):
        points = []
        for count in doubling(32_000):
            given = problem(made(count))
            points.append((count, min(seconds(lambda g=given: solved(*g)) for _ in range(3))))
            yield Measure(f"solve: {count:,} {what}", points[-1][1] * 1000, "ms", 3, "lower")
        yield Measure(f"solve: {what}, 1,000 to 32,000", exponent(points), "exponent", len(points), "lower")


def reference_workloads(
    names: Sequence[str], sizes: Sequence[int], known: Mapping[str, Mapping[str, float]]
) -> Iterator[Measure]:
    """Karpenter's own benchmark mix: a fifth each of plain pods, zone spread, host spread, zone affinity, host anti-affinity."""
    points = []
    for name, count in zip(names, sizes, strict=True):
        snapshot, catalog = scenario(SHARED, next(read(SHARED, f"bench/{name}.jsonl.gz")))
        plan = solved(snapshot, catalog)
        found = rate(f"solve: {name}", "pods/s", count, lambda s=snapshot, c=catalog: solved(s, c), runs=3)
        yield found
        points.append((count, count / found.value))
        price = plan.price / known[name]["totalPrice"] * 100
        yield Measure(f"solve: {name}, price of the plan", price, "% of Karpenter's", 1, "lower")
        yield Measure(f"solve: {name}, price of the plan", plan.price / plan.bound * 100, "% of the bound", 1, "lower")
    yield Measure(f"solve: {names[0]} to -{sizes[-1]}", exponent(points), "exponent", len(points), "lower")


def whole_pass(name: str) -> Iterator[Measure]:
    """From decoded objects to the plan, each run in a process of its own."""
    runs = [json.loads(_output(name)) for _ in range(5)]
    speeds = [run["pods"] / run["seconds"] for run in runs]
    yield Measure(f"whole pass: {name}", statistics.median(speeds), "pods/s", len(runs), "higher")
    if runs[0]["resident"] is not None:
        memory = statistics.median(run["resident"] for run in runs)
        yield Measure(f"whole pass: {name}, resident", memory, "MiB", len(runs), "lower")


def solving(what: str, pods: Sequence[Mapping[str, object]], **policy: bool) -> Measure:
    given = problem(pods)
    solved(*given, **policy)  # makes the tables that are kept for the catalog's life
    return rate(f"solve: {what}", "pods/s", len(pods), lambda: solved(*given, **policy))


def problem(pods: Sequence[Mapping[str, object]], pools: int = 1) -> tuple[karpy.Snapshot, Catalog]:
    """An empty cluster with pods that wait, and 800 of EC2's instance types."""
    model = AWSModel()
    types = InstanceTypes(tuple(model.instance_types())[:800])
    names = [f"pool-{index}" for index in range(pools)]
    snapshot = karpy.Snapshot.from_objects([*map(make_nodepool, names), *pods], (NODE_CLASS,))
    return snapshot, Catalog(dict.fromkeys(names, types), CORE_LABELS | model.labels)


def solved(snapshot: karpy.Snapshot, catalog: Catalog, **policy: bool) -> karpy.Plan:
    plan = karpy.solve(snapshot, catalog, **policy)
    assert plan.placed == len(snapshot.pending), plan.unschedulable
    return plan


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """That of ``seconds = factor * count ** exponent``, by least squares over the logarithms."""
    return statistics.linear_regression(*zip(*((math.log(n), math.log(s)) for n, s in points), strict=True)).slope


def _output(name: str) -> str:
    script = Path(__file__).with_name("wholepass.py")
    return subprocess.run([sys.executable, script, name], check=True, capture_output=True, text=True).stdout
