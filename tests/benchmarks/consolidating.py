"""What if this node were gone, and these hundred? Karpenter's own inputs where they are, and a larger cluster of ours.

``python consolidating.py sweep NAME`` judges every candidate of a cluster, and prints as JSON in how many seconds, and how much
memory was resident meanwhile; ``python consolidating.py all NAME`` looks for the most nodes that can go together, among all of
them. Each is a process of its own, so that its memory is its own. ``NAME`` is that of a recorded input, or ``ours``.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clusters import DAEMONS, Cluster
from measure import Measure, seconds
from wholepass import peak_mib

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.disruption.candidates import Candidate, by_savings
from karpy.disruption.command import Command, Method
from karpy.disruption.consolidation import consolidate
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import Verdict
from karpy.labels import CORE_LABELS
from karpy.objects.nodeclaim import CONSOLIDATABLE
from karpy.sim.generic import NODE_CLASS
from karpy.state.snapshot import Snapshot
from karpy.testing.builders import make_condition, make_daemon_set, make_machine, make_nodepool
from karpy.testing.clock import START
from karpy_aws.model import AWSModel

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.vectors import read, situation

SHARED = Path(__file__).parents[3] / "shared"
ONE = {"consolidation-200": 54, "consolidation-1000": 379, "consolidation-2000": 706}
"""Recorded inputs, with the milliseconds that Karpenter takes for one candidate."""
HUNDRED = {"consolidation-1000": 8.8, "consolidation-2000": 14.9}
"""And with the seconds that it takes to find out how many of the first hundred can go together."""
SAMPLE, AT_ONCE = 20, 100
OURS = Cluster(5_000, 150_000)
MODELS = ("m6i.2xlarge", "m6i.2xlarge", "m6i.2xlarge", "c6i.2xlarge", "c6i.2xlarge", "m6i.4xlarge")
"""The machines of ours, in turn."""


def measures() -> Iterator[Measure]:
    if SHARED.is_dir():
        for name, karpenter in ONE.items():
            yield Measure(
                f"what if: {name}, one node (Karpenter: {karpenter})", one_by_one(name), "ms", SAMPLE, "lower"
            )
        for name, karpenter_s in HUNDRED.items():
            value = at_once(scene_of(name))
            yield Measure(f"what if: {name}, the first {AT_ONCE} (Karpenter: {karpenter_s})", value, "s", 3, "lower")
        yield from apart("sweep", "consolidation-1000", "every node (Karpenter: 386, extrapolated)")
    else:
        print(
            f"what if: without {SHARED} there are no recorded inputs to measure; theirs are left out", file=sys.stderr
        )
    size = f"{OURS.nodes:,} nodes and {OURS.pods:,} pods"
    yield from apart("sweep", "ours", f"every node of {size}")
    yield from apart("all", "ours", f"as many as can go together of {size}")


def apart(what: str, name: str, told: str) -> Iterator[Measure]:
    """A run in a process of its own."""
    command = [sys.executable, __file__, what, name]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yield Measure(f"what if: {name}, {told}", found["seconds"], "s", 1, "lower")
    yield Measure(f"what if: {name}, {told}, resident", found["resident"], "MiB", 1, "lower")


def one_by_one(name: str) -> float:
    """Milliseconds for one candidate, the middle one of the first twenty, with what is worked out once left out."""
    scene = scene_of(name)
    chosen = wanted(scene)[:SAMPLE]
    judged(scene, chosen[:1])
    return statistics.median(seconds(lambda c=candidate: judged(scene, [c])) for candidate in chosen) * 1000


def at_once(scene: Scene) -> float:
    """Seconds of the search among the first hundred, the middle one of three."""
    return statistics.median(seconds(lambda: most_together(fresh(scene), AT_ONCE)) for _ in range(3))


def scene_of(name: str) -> Scene:
    if name == "ours":
        return large()
    found = situation(SHARED, next(read(SHARED, f"bench/{name}.jsonl.gz")))
    return Scene(found.snapshot, found.catalog, now=found.now, settings=found.settings)


def fresh(scene: Scene) -> Scene:
    """The same with nothing worked out."""
    return Scene(scene.snapshot, scene.catalog, now=scene.now, settings=scene.settings)


def wanted(scene: Scene) -> list[Candidate]:
    """The nodes that consolidation looks at, in its order."""
    found = scene.candidates(Method.SINGLE_NODE)
    return by_savings(candidate for candidate in found if candidate.may_be_consolidated)


def judged(scene: Scene, chosen: Sequence[Candidate]) -> list[Command | Verdict]:
    """What becomes of each by itself."""
    return [
        consolidate(scene, (candidate,), Method.SINGLE_NODE) for candidate in chosen if scene.screen.passes(candidate)
    ]


def most_together(scene: Scene, most: int) -> Command | None:
    """The longest of the first ``most`` candidates that can go together, by halving."""
    chosen = wanted(scene)[:most]
    low, high, best = 1, len(chosen), None
    while low <= high:
        middle = (low + high) // 2
        may_go = scene.screen.may_go_together(chosen[:middle])
        found = consolidate(scene, chosen[:middle], Method.MULTI_NODE) if may_go else None
        if isinstance(found, Command):
            best, low = found, middle + 1
        else:
            high = middle - 1
    return best


def large() -> Scene:
    """Machines of a pool, each with its share of pods, that are half full on average."""
    model = AWSModel()
    types = InstanceTypes(model.instance_types())
    nodes = {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
    pool = make_nodepool(labels={"team": "platform"}, disruption=nodes)
    objects = [pool, *(make_daemon_set(f"app-{app}", **OURS.daemon(app)) for app in range(DAEMONS))]
    for index in range(OURS.nodes):
        objects += machine(index, types)
    documents = (json.dumps(obj).encode() for obj in objects)
    pods = (OURS.pod(index) for index in range(OURS.pods))
    snapshot = Snapshot.from_json((document for part in (documents, pods) for document in part), (NODE_CLASS,))
    return Scene(snapshot, Catalog({"default": types}, CORE_LABELS | model.labels), now=START + 3600)


def machine(index: int, types: InstanceTypes) -> tuple[dict[str, Any], dict[str, Any]]:
    zone, found = f"us-west-2{'abc'[index % 3]}", types.by_name(MODELS[index % len(MODELS)])
    assert found is not None
    return make_machine(
        f"node-{index:05d}",
        instance_type=found.name,
        zone=zone,
        labels={labels.ARCH: "amd64", "team": "platform"},
        room=found.allocatable.to_dict(),
        conditions=[make_condition(CONSOLIDATABLE)],
    )


def main(what: str, name: str) -> dict[str, float | None]:
    scene = scene_of(name)
    if what == "sweep":
        spent = seconds(lambda: judged(scene, wanted(scene)))
    else:
        spent = seconds(lambda: most_together(scene, len(scene.snapshot.nodes)))
    return {"seconds": spent, "resident": peak_mib()}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
