"""One whole pass in a process of its own: from decoded objects to the plan, with nothing prepared, not even the catalog's tables.

``python wholepass.py NAME`` prints as JSON how many pods, in how many seconds, and the most memory that was resident meanwhile, the
interpreter and the decoded objects included (null where the system does not tell).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from karpy.cloud.instancetype import Catalog
from karpy.objects.kinds import NODE_POOL, POD
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.vectors import read, scenario

SHARED = Path(__file__).parents[3] / "shared"


def main(name: str) -> dict[str, float | None]:
    line = next(read(SHARED, f"bench/{name}.jsonl.gz"))
    pools = [obj for obj in line["objects"] if obj["kind"] == "NodePool"]
    pods = [Pod.from_dict(obj) for obj in line["objects"] if obj["kind"] == "Pod"]
    _, catalog = scenario(SHARED, {**line, "objects": pools})
    forget_peak()
    start = time.perf_counter()
    plan = planned(pools, pods, catalog)
    spent = time.perf_counter() - start
    assert plan.placed == len(pods), plan.unschedulable
    return {"pods": len(pods), "seconds": spent, "resident": peak_mib()}


def planned(pools: Sequence[object], pods: Sequence[Pod], catalog: Catalog) -> Plan:
    state = ClusterState()
    for kind, objects in ((NODE_POOL, pools), (POD, pods)):
        for obj in objects:
            state.apply(WatchEvent(EventType.ADDED, kind, obj))
    return solve(state.snapshot(), catalog)


def forget_peak() -> None:
    """Let what was needed to read the files count for nothing (Linux)."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")


def peak_mib() -> float | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
