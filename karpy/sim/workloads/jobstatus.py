"""What the status of a Job says, and the events of its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.clock import Clock, format_time
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.sim.podfacts import condition_of, is_ready
from karpy.sim.recorder import NORMAL, WARNING, Recorder
from karpy.sim.workloads import jobindexes, jobrules
from karpy.sim.workloads.jobrules import Round, Verdict
from karpy.sim.workloads.objects import with_condition

__all__ = ["JobStatus"]


class JobStatus:
    """Writes it."""

    def __init__(self, kube: KubeClient, clock: Clock, recorder: Recorder) -> None:
        self._kube = kube
        self._clock = clock
        self._recorder = recorder

    def write(self, state: Round, verdict: Verdict | None) -> None:
        now, job = self._clock.now(), state.job
        present, suspended = job.get("status") or {}, bool(job["spec"].get("suspend"))
        ready = sum(1 for pod in state.active if is_ready(pod))
        status: dict[str, Any] = {
            "active": len(state.active) or None,
            "ready": ready,
            "terminating": len(state.going),
            "succeeded": state.succeeded or None,
            "failed": state.failed or None,
            "uncountedTerminatedPods": {},
            "completedIndexes": jobrules.index_text(state.done) or None,
            "failedIndexes": jobrules.index_text(state.lost) if jobindexes.has_own_limits(job) else None,
        }
        conditions = list(present.get("conditions") or ())
        if verdict is None:
            conditions = self._suspension(job, conditions, suspended=suspended)
            status["startTime"] = None if suspended else _started(job, now)
        else:
            conditions = with_condition(conditions, verdict.target, "True", verdict.reason, verdict.message, now)
            if not state.going:
                conditions = with_condition(conditions, verdict.type_, "True", verdict.reason, verdict.message, now)
                if verdict.type_ == "Complete":
                    status["completionTime"] = format_time(now)
                self._tell_end(job, verdict)
        status["conditions"] = conditions or None
        self.patch(job, status)

    def _suspension(self, job: RawObject, conditions: list[Any], *, suspended: bool) -> list[Any]:
        now = self._clock.now()
        known = condition_of(job, "Suspended")
        was = known is not None and known["status"] == "True"
        if suspended == was:
            return conditions
        reason, text = ("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")
        self._recorder.record(kinds.JOB, job, NORMAL, "Suspended" if suspended else "Resumed", text)
        return with_condition(conditions, "Suspended", str(suspended), reason, text, now)

    def _tell_end(self, job: RawObject, verdict: Verdict) -> None:
        if verdict.type_ == "Complete":
            self._recorder.record(kinds.JOB, job, NORMAL, "Completed", "Job completed")
        else:
            self._recorder.record(kinds.JOB, job, WARNING, verdict.reason, verdict.message)

    def patch(self, job: RawObject, wanted: Mapping[str, Any]) -> RawObject:
        """Write what differs; on the version that was counted on, for a count must not be added twice."""
        present, metadata = job.get("status") or {}, job["metadata"]
        changed = {key: value for key, value in wanted.items() if present.get(key) != value}
        if not changed:
            return job
        if "uncountedTerminatedPods" in changed:
            lists = changed["uncountedTerminatedPods"]
            changed["uncountedTerminatedPods"] = {"succeeded": None, "failed": None, **lists}
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": changed}
        return self._kube.patch(kinds.JOB, metadata["name"], patch, metadata["namespace"], subresource="status")


def _started(job: RawObject, now: float) -> str:
    """When the job began, or was resumed."""
    known = (job.get("status") or {}).get("startTime")
    return known or format_time(now)
