"""CronJobs: a Job whenever the schedule says so.

Source: the CronJob controller of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from karpy.clock import Clock, format_time, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import InvalidObject, KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.schedule import Schedule
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.podfacts import condition_of, is_deleting
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads.objects import owner_reference, owners, write_status

__all__ = ["CRON_JOB", "CronJobs"]

CRON_JOB = Kind("batch", "v1", "CronJob", "cronjobs")
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MANY_MISSED = 100
_AFTER_S = 0.1
"""The real controller wakes so much after the full minute, lest its clock be a little early."""


class CronJobs:
    """The CronJob controller."""

    name = "cronjob-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(CRON_JOB, by_name), Source(kinds.JOB, self._of_job))

    @staticmethod
    def _of_job(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "CronJob")

    def reconcile(self, request: Request) -> Result:
        cron_job = self._cache.get(CRON_JOB, request.name, request.namespace)
        if cron_job is None:
            return DONE
        jobs = self._jobs_of(cron_job)
        self._clean_up(cron_job, jobs)
        status = self._follow(cron_job, jobs)
        after = None if is_deleting(cron_job) else self._run(cron_job, jobs, status)
        write_status(self._kube, CRON_JOB, cron_job, status, ("active",))
        return DONE if after is None else Result(after)

    def _jobs_of(self, cron_job: RawObject) -> list[RawObject]:
        uid, namespace = cron_job["metadata"]["uid"], cron_job["metadata"]["namespace"]
        mine = []
        for job in self._cache.all(kinds.JOB):
            owner = controller_of(job) if job["metadata"]["namespace"] == namespace else None
            if owner is not None and owner["uid"] == uid:
                mine.append(job)
        return sorted(mine, key=lambda job: (job["metadata"]["creationTimestamp"], job["metadata"]["name"]))

    def _follow(self, cron_job: RawObject, jobs: Sequence[RawObject]) -> dict[str, Any]:
        """Which jobs run, and when one last succeeded."""
        present = cron_job.get("status") or {}
        known = {each["uid"]: each for each in present.get("active") or ()}
        running, succeeded = [], present.get("lastSuccessfulTime")
        for job in jobs:
            end = _end_of(job)
            uid = job["metadata"]["uid"]
            if not end:
                running.append(known.get(uid) or _reference(job))
                continue
            if uid in known:
                text = f"Saw completed job: {job['metadata']['name']}, condition: {end}"
                self._recorder.record(CRON_JOB, cron_job, NORMAL, "SawCompletedJob", text)
            if end == "Complete":
                at = (job.get("status") or {}).get("completionTime")
                succeeded = max(filter(None, (succeeded, at)), default=None)
        there = {job["metadata"]["uid"] for job in jobs}
        for reference in [each for uid, each in known.items() if uid not in there]:
            text = f"Active job went missing: {reference['name']}"
            self._recorder.record(CRON_JOB, cron_job, NORMAL, "MissingJob", text)
        status = {
            "active": running,
            "lastScheduleTime": present.get("lastScheduleTime"),
            "lastSuccessfulTime": succeeded,
        }
        return {key: value for key, value in status.items() if value is not None}

    def _clean_up(self, cron_job: RawObject, jobs: Sequence[RawObject]) -> None:
        """Drop the oldest ended jobs beyond the history that is kept."""
        for end, field, usual in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            ended = [job for job in jobs if _end_of(job) == end and not is_deleting(job)]
            for job in ended[: max(len(ended) - int(cron_job["spec"].get(field, usual)), 0)]:
                self._delete(cron_job, job)

    # Starting jobs

    def _run(self, cron_job: RawObject, jobs: Sequence[RawObject], status: dict[str, Any]) -> float | None:
        """Start a job when one is due; answers after how many seconds the next is."""
        spec = cron_job["spec"]
        if spec.get("suspend"):
            return None
        try:
            schedule = Schedule.parse(spec["schedule"], spec.get("timeZone") or "", catches_up=False)
        except InvalidObject as error:
            zone = "time zone" in str(error)
            reason = "UnknownTimeZone" if zone else "UnparseableSchedule"
            text = f"invalid timeZone: {spec.get('timeZone')!r}: {error}" if zone else f"unparseable schedule: {error}"
            self._recorder.record(CRON_JOB, cron_job, WARNING, reason, text)
            return None
        now = self._clock.now()
        due = self._last_due(cron_job, schedule, now)
        if due is not None:
            self._start_due(cron_job, jobs, status, due, now)
        later = schedule.next_after(now)
        return None if later is None else later - now + _AFTER_S

    def _last_due(self, cron_job: RawObject, schedule: Schedule, now: float) -> float | None:
        """The latest time that was due and has not been seen to."""
        last = (cron_job.get("status") or {}).get("lastScheduleTime")
        earliest = parse_time(last or cron_job["metadata"]["creationTimestamp"])
        deadline = cron_job["spec"].get("startingDeadlineSeconds")
        if deadline is not None:
            earliest = max(earliest, now - float(deadline))
        found, count = None, 0
        at = schedule.next_after(earliest)
        while at is not None and at <= now:
            found, count = at, count + 1
            if count > _MANY_MISSED:
                found, count = self._newest_due(schedule, now, at), count
                break
            at = schedule.next_after(at)
        if count > _MANY_MISSED:
            text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._recorder.record(CRON_JOB, cron_job, WARNING, "TooManyMissedTimes", text)
        return found

    @staticmethod
    def _newest_due(schedule: Schedule, now: float, found: float) -> float:
        """The last time that was due, looked for from ever nearer to now, since there are many."""
        back = 60.0
        while back < now - found:
            at = schedule.next_after(now - back)
            if at is not None and at <= now:
                while (later := schedule.next_after(at)) is not None and later <= now:
                    at = later
                return at
            back *= 2
        return found

    def _start_due(
        self, cron_job: RawObject, jobs: Sequence[RawObject], status: dict[str, Any], due: float, now: float
    ) -> None:
        spec = cron_job["spec"]
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and due + float(deadline) < now:
            text = f"Missed scheduled time to start a job: {format_time(due)}"
            self._recorder.record(CRON_JOB, cron_job, WARNING, "MissSchedule", text)
            return
        name = f"{cron_job['metadata']['name']}-{int(due) // 60}"
        if any(job["metadata"]["name"] == name for job in jobs):
            status["lastScheduleTime"] = format_time(due)
            return
        running = {each["uid"] for each in status["active"]}
        policy = spec.get("concurrencyPolicy", "Allow")
        if policy == "Forbid" and running:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._recorder.record(CRON_JOB, cron_job, NORMAL, "JobAlreadyActive", text)
            return
        if policy == "Replace":
            for job in jobs:
                if job["metadata"]["uid"] in running:
                    self._delete(cron_job, job)
            status["active"] = []
        made = self._create(cron_job, name, due)
        if made is not None:
            status["active"] = [*status["active"], _reference(made)]
        status["lastScheduleTime"] = format_time(due)

    def _create(self, cron_job: RawObject, name: str, due: float) -> RawObject | None:
        metadata, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
        given = template.get("metadata") or {}
        job = {
            "apiVersion": kinds.JOB.api_version,
            "kind": kinds.JOB.kind,
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": given.get("labels") or {},
                "annotations": {**(given.get("annotations") or {}), SCHEDULED_AT: format_time(due)},
                "ownerReferences": [owner_reference(CRON_JOB, cron_job)],
            },
            "spec": template["spec"],
        }
        try:
            made = self._kube.create(kinds.JOB, job, metadata["namespace"])
        except KubeError as error:
            if error.already_exists:
                return None
            self._recorder.record(CRON_JOB, cron_job, WARNING, "FailedCreate", f"Error creating job: {error.message}")
            raise
        self._recorder.record(CRON_JOB, cron_job, NORMAL, "SuccessfulCreate", f"Created job {name}")
        return made

    def _delete(self, cron_job: RawObject, job: RawObject) -> None:
        metadata = job["metadata"]
        try:
            self._kube.delete(kinds.JOB, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise
            return
        text = f"Deleted job {metadata['name']}"
        self._recorder.record(CRON_JOB, cron_job, NORMAL, "SuccessfulDelete", text)


def _end_of(job: RawObject) -> str:
    """Complete, Failed, or empty while it runs."""
    ends: Collection[str] = ("Complete", "Failed")
    return next((end for end in ends if (condition_of(job, end) or {}).get("status") == "True"), "")


def _reference(job: RawObject) -> dict[str, Any]:
    metadata = job["metadata"]
    return {
        "apiVersion": kinds.JOB.api_version,
        "kind": kinds.JOB.kind,
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }
