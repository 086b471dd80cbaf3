from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.sim.podlife import EXIT_CODE, RUN_SECONDS
from karpy.sim.world import World
from tests.karpy.sim.manifests import phases, pods, status, template, world_with_nodes


def job(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    made = template("work", restartPolicy="Never")
    made["metadata"]["annotations"] = {RUN_SECONDS: "20", **(annotations or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": made, **spec}}


def conditions(world: World) -> dict[str, str]:
    return {each["type"]: each["reason"] for each in status(world, kinds.JOB, "work").get("conditions", ())}


def test_it_runs_its_pod_to_the_end() -> None:
    world = world_with_nodes(1)
    world.apply([job()])
    world.run(10)
    assert phases(world) == {"Running": 1}
    assert status(world, kinds.JOB, "work")["active"] == 1
    world.run(30)
    assert phases(world) == {"Succeeded": 1}
    found = status(world, kinds.JOB, "work")
    assert (found["succeeded"], "active" in found) == (1, False)
    assert conditions(world) == {"Complete": "CompletionsReached"}


def test_so_many_completions_so_many_at_a_time() -> None:
    world = world_with_nodes(2)
    world.apply([job(completions=5, parallelism=2)])
    most = []
    world.subscribe(kinds.POD, lambda _: most.append(phases(world).get("Running", 0)))
    world.run(120)
    assert phases(world) == {"Succeeded": 5}
    assert max(most) == 2


def test_it_gives_up_after_too_many_failures() -> None:
    world = world_with_nodes(1)
    world.apply([job({EXIT_CODE: "1"}, backoffLimit=2)])
    world.run(200)
    assert phases(world) == {"Failed": 3}
    assert conditions(world) == {"Failed": "BackoffLimitExceeded"}


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    world = world_with_nodes(1)
    world.apply([job(suspend=True)])
    world.run(10)
    assert pods(world) == []
    world.api.patch(kinds.JOB, "work", {"spec": {"suspend": False}}, "default")
    world.run(10)
    assert phases(world) == {"Running": 1}


def test_a_finished_job_goes_after_its_time_to_live() -> None:
    world = world_with_nodes(1)
    world.apply([job(ttlSecondsAfterFinished=100)])
    world.run(60)
    assert conditions(world) == {"Complete": "CompletionsReached"}
    world.run(100)
    with pytest.raises(KubeError):
        world.api.get(kinds.JOB, "work", "default")
    assert pods(world) == []


def test_a_lost_pod_is_replaced() -> None:
    world = world_with_nodes(1)
    world.apply([job()])
    world.run(10)
    world.api.delete(kinds.POD, pods(world)[0]["metadata"]["name"], "default")
    world.run(40)
    assert conditions(world) == {"Complete": "CompletionsReached"}
