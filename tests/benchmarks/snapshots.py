"""Large clusters: a picture of one from the API server's JSON, the next picture after an event, and a solve on one."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from clusters import DAEMONS, Cluster
from measure import Measure, duration, seconds

from karpy.cloud.instancetype import Catalog
from karpy.labels import CORE_LABELS
from karpy.objects.kinds import DAEMON_SET, NODE_POOL, POD, Kind
from karpy.objects.lists import read_objects
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState
from karpy.testing.builders import make_daemon_set, make_nodepool
from karpy_aws.model import AWSModel

LARGE = Cluster(5_000, 150_000)
FULL = Cluster(2_000, 40_000, cpus=4)
WAITING = 5_000
EVENTS = 200
RUNS = 3
MIB = 1 << 20


def measures() -> Iterator[Measure]:
    """Each run is a process of its own, so that its memory is its own."""
    runs = [json.loads(_output("--large")) for _ in range(RUNS)]
    name = f"snapshot: {LARGE.nodes:,} nodes and {LARGE.pods:,} pods"
    for what, unit in (("from JSON", "s"), ("resident", "MiB"), ("the next after one event", "ms")):
        yield Measure(f"{name}, {what}", statistics.median(run[what] for run in runs), unit, RUNS, "lower")

    objects, catalog = crowd()
    name = f"solve: {WAITING:,} pods onto {FULL.nodes:,} nodes with {FULL.pods:,} pods, with the snapshot"
    yield duration(name, lambda: seconds(lambda: placed(objects, catalog)), runs=RUNS)


def crowd() -> tuple[list[tuple[Kind, object]], Catalog]:
    """A cluster's objects, decoded, with pods that wait; and what could be launched."""
    pool, model = make_nodepool("default", labels={"team": "platform"}), AWSModel()
    daemon_sets = [(DAEMON_SET, make_daemon_set(f"app-{app}", **FULL.daemon(app))) for app in range(DAEMONS)]
    catalog = Catalog({"default": model.instance_types()}, CORE_LABELS | model.labels)
    decoded = [(kind, found.object) for kind, page in FULL.pages() for found in read_objects(page)]
    waiting = [(POD, found.object) for index in range(WAITING) for found in read_objects(FULL.waiting(index))]
    return [(NODE_POOL, pool), *daemon_sets, *decoded, *waiting], catalog


def placed(objects: list[tuple[Kind, object]], catalog: Catalog) -> Plan:
    state = ClusterState()
    for kind, obj in objects:
        state.apply(WatchEvent(EventType.ADDED, kind, obj))
    plan = solve(state.snapshot(), catalog)
    assert plan.placed == WAITING, plan.unschedulable
    return plan


def large() -> dict[str, float]:
    """One run, without the time that making the JSON takes."""
    state, spent = ClusterState(), 0.0
    for kind, page in LARGE.pages():
        start = time.perf_counter()
        for found in read_objects(page):
            state.apply(WatchEvent(EventType.ADDED, kind, found.object))
        spent += time.perf_counter() - start
    start = time.perf_counter()
    snapshot = state.snapshot()
    spent += time.perf_counter() - start
    assert sum(len(view.pods) for view in snapshot.nodes) == LARGE.pods
    return {
        "from JSON": spent,
        "the next after one event": statistics.median(after_an_event(state, index) for index in range(EVENTS)) * 1000,
        "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MIB,
    }


def after_an_event(state: ClusterState, index: int) -> float:
    """Seconds from an event to what a decider first asks of the picture after it."""
    (found,) = read_objects(LARGE.pod(index * 701))
    event = WatchEvent(EventType.DELETED if index % 2 else EventType.MODIFIED, POD, found.object)
    start = time.perf_counter()
    state.apply(event)
    assert state.snapshot().to_place == ()
    return time.perf_counter() - start


def _output(argument: str) -> str:
    return subprocess.run([sys.executable, Path(__file__), argument], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    print(json.dumps(large()))
