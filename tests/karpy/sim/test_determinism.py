"""The same seed gives the same world, down to the last byte, whatever Python's hashes are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

STORY = """
import hashlib
import msgspec
from karpy.objects import kinds
from tests.karpy.sim.manifests import deployment, template, workload, world_with_nodes

world = world_with_nodes(5, seed={seed})
trace = hashlib.sha256()
encode = msgspec.json.Encoder().encode

def note(event):
    trace.update(encode([event.type.value, event.kind.plural, event.object]))

for kind in (kinds.POD, kinds.NODE, kinds.EVENT, kinds.LEASE, kinds.DEPLOYMENT, kinds.REPLICA_SET, kinds.DAEMON_SET):
    world.subscribe(kind, note)
daemon = workload(kinds.DAEMON_SET, "agent")
world.apply([deployment("web", 12), deployment("api", 9), daemon])
world.run(60)
world.api.patch(kinds.DEPLOYMENT, "web", {{"spec": {{"template": template("web", "200m")}}}}, "default")
world.run(30)
world.cloud.kill("sim:///sim-1a/i-00000001")
world.api.patch(kinds.DEPLOYMENT, "api", {{"spec": {{"replicas": 2}}}}, "default")
world.run(900)
{more}
print(trace.hexdigest(), world.loop.reconciles, world.api.store.revision)
"""

STORM = """
from karpy.sim.forecast import forecast

world = world_with_nodes(8, seed={seed}, weather=forecast({seed}, zones=("sim-1a",), instance_types=("c-*", "s-*")))
for kind in (kinds.POD, kinds.NODE, kinds.EVENT, kinds.LEASE):
    world.subscribe(kind, note)
world.apply([deployment("web", 30)])
world.run(900)
for notice in world.cloud.messages(most=999):
    trace.update(repr(notice).encode())
print(world.cloud.cost(), [machine.provider_id for machine in world.cloud.machines])
"""


def trace(seed: int, hash_seed: str, more: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", STORY.format(seed=seed, more=more.format(seed=seed))],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_runs_of_one_seed_are_the_same() -> None:
    first, second = trace(1, "1"), trace(1, "4242")
    assert first == second
    assert first != trace(2, "1")


def test_the_weather_of_one_seed_is_the_same() -> None:
    assert trace(3, "1", STORM) == trace(3, "4242", STORM)
