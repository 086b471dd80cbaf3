"""Jobs: pods that run to their end, so many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.clock import Clock, format_time, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads.objects import (
    condition_of,
    delete_pod,
    is_active,
    is_deleting,
    is_ready,
    owners,
    pod_from,
    with_condition,
    write_status,
)

__all__ = ["Jobs"]

_OPTIONAL = ("active", "succeeded", "failed", "ready", "terminating")


class Jobs:
    """The Job controller, for non-indexed jobs."""

    name = "job-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.JOB, by_name), Source(kinds.POD, self._of_pod))

    @staticmethod
    def _of_pod(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "Job")

    def reconcile(self, request: Request) -> Result:
        job = self._cache.get(kinds.JOB, request.name, request.namespace)
        if job is None or is_deleting(job):
            return DONE
        if condition_of(job, "Complete") or condition_of(job, "Failed"):
            return self._expire(job)
        pods = list(self._cache.owned(kinds.POD, job["metadata"]["uid"]))
        succeeded = sum(1 for pod in pods if pod["status"].get("phase") == "Succeeded")
        failed = sum(1 for pod in pods if pod["status"].get("phase") == "Failed")
        active = [pod for pod in pods if is_active(pod)]
        ending = [pod for pod in pods if is_deleting(pod)]
        verdict = _verdict(job, succeeded, failed, len(active))
        if verdict is not None:
            self._finish(active)
        else:
            self._steer(job, active, len(ending), succeeded)
        self._write_status(job, active, succeeded, failed, len(ending), verdict)
        return DONE

    def _steer(self, job: RawObject, active: Sequence[RawObject], ending: int, succeeded: int) -> None:
        spec = job["spec"]
        wanted = 0 if spec.get("suspend") else int(spec.get("parallelism", 1))
        completions = spec.get("completions")
        if completions is not None:
            wanted = min(wanted, int(completions) - succeeded)
        elif succeeded:
            wanted = min(wanted, len(active))  # a work queue is empty once one worker says so
        for pod in active[wanted:]:
            delete_pod(self._kube, pod)
        for _ in range(wanted - len(active) - ending):
            self._create(job)

    def _create(self, job: RawObject) -> None:
        metadata = job["metadata"]
        marks = {
            "batch.kubernetes.io/controller-uid": metadata["uid"],
            "batch.kubernetes.io/job-name": metadata["name"],
            "controller-uid": metadata["uid"],
            "job-name": metadata["name"],
        }
        template = job["spec"]["template"]
        pod = pod_from(template, kinds.JOB, job, generateName=f"{metadata['name']}-", labels=marks)
        made = self._kube.create(kinds.POD, pod, metadata["namespace"])
        message = f"Created pod: {made['metadata']['name']}"
        self._recorder.record(kinds.JOB, job, NORMAL, "SuccessfulCreate", message)

    def _finish(self, active: Sequence[RawObject]) -> None:
        for pod in active:
            delete_pod(self._kube, pod)

    def _write_status(
        self,
        job: RawObject,
        active: Sequence[RawObject],
        succeeded: int,
        failed: int,
        ending: int,
        verdict: tuple[str, str, str] | None,
    ) -> None:
        now = self._clock.now()
        present = job.get("status") or {}
        status: dict[str, Any] = {
            "active": 0 if verdict else len(active),
            "ready": sum(1 for pod in active if is_ready(pod)) if not verdict else 0,
            "succeeded": succeeded,
            "failed": failed,
            "terminating": ending,
        }
        if not job["spec"].get("suspend"):
            status["startTime"] = present.get("startTime") or format_time(now)
        if verdict is not None:
            type_, reason, message = verdict
            status["conditions"] = with_condition(present.get("conditions") or (), type_, "True", reason, message, now)
            kind = NORMAL if type_ == "Complete" else WARNING
            if type_ == "Complete":
                status["completionTime"] = format_time(now)
            text = "Job completed" if type_ == "Complete" else message
            self._recorder.record(kinds.JOB, job, kind, "Completed" if type_ == "Complete" else reason, text)
        write_status(self._kube, kinds.JOB, job, status, _OPTIONAL)

    def _expire(self, job: RawObject) -> Result:
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        done = condition_of(job, "Complete") or condition_of(job, "Failed")
        if seconds is None or done is None:
            return DONE
        left = parse_time(done["lastTransitionTime"]) + float(seconds) - self._clock.now()
        if left > 0:
            return Result(left)
        metadata = job["metadata"]
        try:
            self._kube.delete(kinds.JOB, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except KubeError as error:
            if not error.not_found:
                raise
        return DONE


def _verdict(job: RawObject, succeeded: int, failed: int, active: int) -> tuple[str, str, str] | None:
    """The condition that ends the job: type, reason, message; None while it goes on."""
    spec = job["spec"]
    if failed > int(spec.get("backoffLimit", 6)):
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    completions = spec.get("completions")
    complete = succeeded >= int(completions) if completions is not None else succeeded > 0 and active == 0
    return ("Complete", "CompletionsReached", "Reached expected number of succeeded pods") if complete else None
