"""How large the process is: with nothing to do, with a thousand nodes, and after a month.

``python memory.py idle`` (or ``crowded``, ``month``) prints as JSON what `measures` reports; each is a process of its own, so that
its memory is its own. API server, kubelets and cloud are in it too: what the controller alone takes is less.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import largeworld
from measure import Measure
from worlds import HOUR, deployment, pool, running

from karpy.objects.kinds import DEPLOYMENT
from karpy.operator import Operator
from karpy.report.exposition import Exposition
from karpy.scenarios.rehearsal import Silence, installed_models
from karpy.sim.weather import Hazard, Weather
from karpy.sim.world import World

NODES, PODS = 1_000, 30_000
DAYS, DAY = 30, 24 * HOUR
MONTH_PODS, MONTH_TURNS = 20, 8


def measures() -> Iterator[Measure]:
    yield Measure("operator with nothing to do, resident", _of("idle")["resident"], "MiB", 1, "lower")
    name = f"operator with {NODES:,} nodes and {PODS:,} pods"
    crowd = _of("crowded")
    yield Measure(f"{name}, resident", crowd["resident"], "MiB", 1, "lower")
    yield Measure(f"{name}, asked for its metrics", crowd["asked"], "ms", 1, "lower")
    name, month = f"operator, {DAYS} days of churn", _of("month")
    yield Measure(f"{name}, keeps more by", month["KiB"], "KiB/day", 1, "lower")
    yield Measure(f"{name}, resident at the end", month["resident"], "MiB", 1, "lower")


def _of(which: str) -> dict[str, float]:
    command = [sys.executable, Path(__file__), which]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def resident() -> float:
    """MiB that the process takes now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def started(weather: Weather | None = None) -> tuple[World, Operator, Exposition]:
    """A world with an operator that is measured."""
    world = World(0, installed_models(), weather=weather)
    shown = Exposition(world.clock)
    operator = Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence(), metrics=shown)
    shown.read_from(operator.readings)
    world.install(operator)
    return world, operator, shown


def idle() -> dict[str, float]:
    world, _operator, shown = started()
    world.run(HOUR)
    shown.text()
    return {"resident": resident()}


def crowded() -> dict[str, float]:
    largeworld.NODES, largeworld.ON_EACH = NODES, PODS // NODES
    world, _operator, shown = started()
    world.apply([largeworld.make_nodepool()])
    largeworld.fill(world)
    world.run(60)
    full = resident()
    return {"resident": full, "asked": largeworld.seconds(shown.text) * 1000}


def month() -> dict[str, float]:
    """Eight times a day the pods are rolled out, twice as many every other time; machines are interrupted, and expire.

    What the operator keeps is counted at the end of each day; by how much it grows is the slope of a line through that.
    """
    world, operator, shown = started(Weather(hazards=(Hazard("interruption", per_hour=0.01),)))
    world.apply([*pool(expire_after="72h"), deployment(MONTH_PODS)])
    assert world.run_until(lambda: running(world) == MONTH_PODS, HOUR)
    others = (world, world.api, world.cloud, world.clock, world.loop)
    sizes = []
    for _ in range(DAYS):
        for turn in range(MONTH_TURNS):
            template = {"metadata": {"annotations": {"rollout": str(world.clock.now())}}}
            patch = {"spec": {"replicas": MONTH_PODS * (1 + turn % 2), "template": template}}
            world.api.patch(DEPLOYMENT, "inflate", patch, "default")
            world.run(DAY / MONTH_TURNS)
        shown.text()
        sizes.append(kept_by((operator, shown), others) / 1024)
    assert running(world) == 2 * MONTH_PODS
    return {"KiB": statistics.linear_regression(range(DAYS), sizes).slope, "resident": resident(), "last": sizes[-1]}


def kept_by(holders: Iterable[object], others: Iterable[object]) -> int:
    """Bytes of everything that is reached from ``holders``, but not by way of ``others`` or of code."""
    seen = {id(each) for each in others}
    found, size = list(holders), 0
    while found:
        each = found.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType | CodeType):
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        found += gc.get_referents(each)
    return size


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"idle": idle, "crowded": crowded, "month": month}[sys.argv[1]]()))
