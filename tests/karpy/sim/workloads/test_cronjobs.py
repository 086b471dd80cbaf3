from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.kubelets.podlife import EXIT_CODE, RUN_SECONDS
from karpy.sim.workloads.cronjobs import CRON_JOB
from karpy.sim.world import World
from tests.karpy.sim.manifests import event_reasons, status, template, world_with_nodes


def cron_job(run_s: str = "10", code: str = "0", **spec: Any) -> dict[str, Any]:
    made = template("tick", restartPolicy="Never")
    made["metadata"]["annotations"] = {RUN_SECONDS: run_s, EXIT_CODE: code}
    job = {"metadata": {"labels": {"of": "tick"}}, "spec": {"template": made, "backoffLimit": 0}}
    api = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}}
    return {**api, "spec": {"schedule": "*/5 * * * *", "jobTemplate": job, **spec}}


def jobs(world: World) -> list[str]:
    return sorted(job["metadata"]["name"] for job in world.api.list(kinds.JOB).items)


def started(cron: dict[str, Any], seconds: float = 602) -> World:
    world = world_with_nodes(1)
    world.run(300 - world.clock.now() % 300 - 1)  # a second before it is due
    world.apply([cron])
    world.run(seconds)
    return world


def test_a_job_is_made_whenever_one_is_due() -> None:
    world = started(cron_job())
    due = int(world.clock.now()) // 300 * 5
    assert jobs(world) == [f"tick-{due - 10}", f"tick-{due - 5}", f"tick-{due}"]
    job = world.api.get(kinds.JOB, f"tick-{due}", "default")
    assert job["metadata"]["labels"]["of"] == "tick"
    assert "batch.kubernetes.io/cronjob-scheduled-timestamp" in job["metadata"]["annotations"]
    found = status(world, CRON_JOB, "tick")
    assert [each["name"] for each in found["active"]] == [f"tick-{due}"]
    assert found["lastScheduleTime"] > found["lastSuccessfulTime"]
    assert {"SuccessfulCreate", "SawCompletedJob"} <= set(event_reasons(world, "tick"))


def test_history_is_kept_within_its_limits() -> None:
    assert len(jobs(started(cron_job(successfulJobsHistoryLimit=2), 3000))) == 2
    assert len(jobs(started(cron_job(code="1"), 3000))) == 1


def test_a_suspended_one_starts_nothing_until_it_is_resumed() -> None:
    world = started(cron_job(suspend=True))
    assert jobs(world) == []
    world.api.patch(CRON_JOB, "tick", {"spec": {"suspend": False}}, "default")
    world.run(1)
    assert len(jobs(world)) == 1  # the last one missed is made up for


def test_concurrent_jobs_are_allowed_forbidden_or_replaced() -> None:
    def active(policy: str) -> int:
        world = started(cron_job("2000", concurrencyPolicy=policy), 900)
        return len(status(world, CRON_JOB, "tick")["active"])

    assert [active(policy) for policy in ("Allow", "Forbid", "Replace")] == [3, 1, 1]
    world = started(cron_job("2000", concurrencyPolicy="Forbid"), 900)
    assert "JobAlreadyActive" in event_reasons(world, "tick")
    assert len(jobs(world)) == 1
    first = jobs(started(cron_job("2000", concurrencyPolicy="Replace"), 100))
    assert jobs(started(cron_job("2000", concurrencyPolicy="Replace"), 900)) > first


def test_what_is_too_late_is_not_started_any_more() -> None:
    world = started(cron_job(suspend=True, startingDeadlineSeconds=60), 100)
    world.api.patch(CRON_JOB, "tick", {"spec": {"suspend": False}}, "default")
    world.run(1)
    assert jobs(world) == []
    world.run(300)
    assert len(jobs(world)) == 1


def test_the_schedule_is_read_in_its_time_zone() -> None:
    world = world_with_nodes(1)
    world.run(86_400 - world.clock.now() % 86_400 + 60)  # a minute past midnight, UTC
    world.apply([cron_job(schedule="30 9 * * *", timeZone="Asia/Tokyo")])
    world.run(3600)
    assert len(jobs(world)) == 1
    collection = world.api.store.collection(world.api.registry.of(CRON_JOB)[0])
    record = collection.get("default", "tick")
    assert record is not None
    lost = {**record.object, "spec": {**record.object["spec"], "timeZone": "Nowhere/Land"}}
    world.api.store.put(collection, {**lost, "metadata": dict(lost["metadata"])}, record)  # the API would refuse it
    world.run(10)
    assert "UnknownTimeZone" in event_reasons(world, "tick")


def test_after_a_long_pause_only_the_latest_is_made_up_for() -> None:
    world = started(cron_job(suspend=True, schedule="* * * * *"), 86_400)
    due = int(world.clock.now()) // 60
    world.api.patch(CRON_JOB, "tick", {"spec": {"suspend": False}}, "default")
    world.run(0.5)
    assert jobs(world) == [f"tick-{due}"]
    assert "TooManyMissedTimes" in event_reasons(world, "tick")


def test_jobs_that_went_missing_are_named_in_the_order_in_which_they_ran() -> None:
    world = started(cron_job(suspend=True), 1)
    names = [f"tick-{number}" for number in range(8)]
    lost = [{"kind": "Job", "name": name, "uid": f"{name}-uid"} for name in names]
    world.api.patch(CRON_JOB, "tick", {"status": {"active": lost}}, "default", subresource="status")
    world.run(1)
    found = sorted(world.api.list(kinds.EVENT).items, key=lambda event: int(event["metadata"]["resourceVersion"]))
    missing = [event["message"] for event in found if event["reason"] == "MissingJob"]
    assert missing == [f"Active job went missing: {name}" for name in names]
