from __future__ import annotations

import itertools
from typing import Any

import pytest

from karpy.errors import KubeError
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.kubelets.podlife import EXIT_CODE, RUN_SECONDS
from karpy.sim.world import World
from tests.karpy.sim.manifests import phases, pods, status, template, world_with_nodes


def job(annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    made = template("work", restartPolicy="Never")
    made["metadata"]["annotations"] = {RUN_SECONDS: "20", **(annotations or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": made, **spec}}


def conditions(world: World) -> dict[str, str]:
    """Those that hold, without the ones that only announce the end."""
    return {
        each["type"]: each["reason"]
        for each in status(world, kinds.JOB, "work").get("conditions", ())
        if each["status"] == "True" and each["type"] not in ("SuccessCriteriaMet", "FailureTarget")
    }


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


def test_the_end_is_announced_before_the_last_pod_is_gone() -> None:
    world = world_with_nodes(1)
    world.apply([job({RUN_SECONDS: "1000"}, activeDeadlineSeconds=30)])
    world.run(30.1)
    found = status(world, kinds.JOB, "work")
    assert [each["type"] for each in found["conditions"]] == ["FailureTarget"]
    assert found["terminating"] == 1
    world.run(10)
    assert conditions(world) == {"Failed": "DeadlineExceeded"}
    assert pods(world) == []


def test_between_failures_the_pause_doubles() -> None:
    world = world_with_nodes(1)
    made: list[float] = []
    world.subscribe(kinds.POD, lambda event: made.append(world.clock.now()) if event.type.name == "ADDED" else None)
    world.apply([job({EXIT_CODE: "1", RUN_SECONDS: "0"}, backoffLimit=3)])
    world.run(200)
    pauses = [round(later - earlier) // 5 * 5 for earlier, later in itertools.pairwise(made)]
    assert pauses == [10, 20, 40]


def test_every_index_is_done_once_and_its_pod_knows_it() -> None:
    world = world_with_nodes(2)
    world.apply([job(completions=5, parallelism=2, completionMode="Indexed")])
    world.run(5)
    first = pods(world)[0]
    assert first["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] == "0"
    assert first["spec"]["hostname"] == "work-0"
    assert [each["name"] for each in first["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]
    world.run(200)
    found = status(world, kinds.JOB, "work")
    assert (found["completedIndexes"], found["succeeded"]) == ("0-4", 5)
    assert conditions(world) == {"Complete": "CompletionsReached"}


def test_an_eviction_is_not_held_against_a_job_that_ignores_disruptions() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
    world = world_with_nodes(1)
    world.apply([job({RUN_SECONDS: "60"}, backoffLimit=0, podFailurePolicy=policy)])
    world.run(10)
    disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "Test", "message": ""}
    (victim,) = pods(world)
    name = victim["metadata"]["name"]
    kept = [*victim["status"]["conditions"], disrupted]
    world.api.patch(kinds.POD, name, {"status": {"conditions": kept}}, "default", subresource="status")
    world.api.delete(kinds.POD, name, "default")
    world.run(100)
    assert conditions(world) == {"Complete": "CompletionsReached"}
    assert "failed" not in status(world, kinds.JOB, "work")


def test_a_code_that_no_retry_can_mend_ends_the_job() -> None:
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
    world = world_with_nodes(1)
    world.apply([job({EXIT_CODE: "42"}, podFailurePolicy=policy)])
    world.run(100)
    (name,) = (pod["metadata"]["name"] for pod in pods(world))
    failed = next(each for each in status(world, kinds.JOB, "work")["conditions"] if each["type"] == "Failed")
    assert failed["reason"] == "PodFailurePolicy"
    assert failed["message"] == (
        f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    )


def test_suspension_ends_the_pods_and_resumption_starts_the_clock_anew() -> None:
    world = world_with_nodes(1)
    world.apply([job({RUN_SECONDS: "1000"})])
    world.run(10)
    world.api.patch(kinds.JOB, "work", {"spec": {"suspend": True}}, "default")
    world.run(10)
    assert pods(world) == []
    assert conditions(world) == {"Suspended": "JobSuspended"}
    assert "startTime" not in status(world, kinds.JOB, "work")
    world.api.patch(kinds.JOB, "work", {"spec": {"suspend": False}}, "default")
    world.run(10)
    assert phases(world) == {"Running": 1}
    assert conditions(world) == {}


def test_a_pod_whose_node_vanished_is_counted_before_it_goes() -> None:
    world = world_with_nodes(1)
    world.apply([job({RUN_SECONDS: "1000"}, backoffLimit=0)])
    world.run(10)
    world.cloud.vanish("sim:///sim-1a/i-00000001")
    world.run(400)
    assert conditions(world) == {"Failed": "BackoffLimitExceeded"}
    assert pods(world) == []


def test_pods_of_a_deleted_job_go_with_it() -> None:
    world = world_with_nodes(1)
    world.apply([job()])
    world.run(10)
    world.api.delete(kinds.JOB, "work", "default")
    world.run(20)
    assert pods(world) == []


def indexed(**spec: Any) -> dict[str, Any]:
    return job(completions=4, parallelism=4, completionMode="Indexed", **spec)


def make_fail(world: World, *indexes: int) -> None:
    """From now on every pod of these indexes fails when its containers have run."""
    mark = "batch.kubernetes.io/job-completion-index"

    def spoil(event: WatchEvent) -> None:
        notes = event.object["metadata"]["annotations"]
        if event.type is not EventType.DELETED and int(notes[mark]) in indexes and EXIT_CODE not in notes:
            patch = {"metadata": {"annotations": {EXIT_CODE: "1"}}}
            world.api.patch(kinds.POD, event.object["metadata"]["name"], patch, "default")

    world.subscribe(kinds.POD, spoil)


def test_each_index_may_fail_by_itself_and_the_others_go_on() -> None:
    world = world_with_nodes(2)
    make_fail(world, 1)
    world.apply([indexed(backoffLimitPerIndex=1)])
    world.run(200)
    found = status(world, kinds.JOB, "work")
    assert (found["completedIndexes"], found["failedIndexes"]) == ("0,2,3", "1")
    assert (found["succeeded"], found["failed"]) == (3, 2)
    assert conditions(world) == {"Failed": "FailedIndexes"}


def test_too_many_failed_indexes_end_the_job() -> None:
    world = world_with_nodes(2)
    make_fail(world, 0, 1)
    world.apply([indexed(backoffLimitPerIndex=0, maxFailedIndexes=1)])
    world.run(200)
    assert conditions(world) == {"Failed": "MaxFailedIndexesExceeded"}


def test_a_code_may_be_final_for_its_index_alone() -> None:
    world = world_with_nodes(2)
    make_fail(world, 2)
    codes = {"operator": "In", "values": [1]}
    policy = {"rules": [{"action": "FailIndex", "onExitCodes": codes}]}
    world.apply([indexed(backoffLimitPerIndex=5, podFailurePolicy=policy)])
    world.run(200)
    found = status(world, kinds.JOB, "work")
    assert (found["failedIndexes"], found["failed"]) == ("2", 1)


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        ({"succeededIndexes": "0"}, True),
        ({"succeededCount": 3}, True),
        ({"succeededIndexes": "2-3", "succeededCount": 1}, True),
        ({"succeededIndexes": "1"}, False),
    ],
)
def test_some_indexes_may_be_enough(rule: dict[str, Any], ends: bool) -> None:
    world = world_with_nodes(2)
    make_fail(world, 1)
    world.apply([indexed(backoffLimitPerIndex=100, successPolicy={"rules": [rule]})])
    world.run(100)
    assert conditions(world) == ({"Complete": "SuccessPolicy"} if ends else {})
