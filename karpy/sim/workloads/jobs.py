"""Jobs: pods that run to their end, so many times.

Every pod carries a finalizer until its end is counted, so that no end is lost or counted twice, whenever the controller stops.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import attrs

from karpy.clock import Clock, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.podfacts import condition_of, is_active, is_deleting, is_finished
from karpy.sim.recorder import NORMAL, Recorder
from karpy.sim.workloads import jobindexes, jobrules
from karpy.sim.workloads.jobpods import pod_for
from karpy.sim.workloads.jobrules import COMPLETE, OUT_OF_TIME, TOO_MANY_FAILURES, TRACKED, Round, Verdict
from karpy.sim.workloads.jobstatus import JobStatus
from karpy.sim.workloads.objects import delete_pod, owners
from karpy.sim.workloads.replicasets import deletion_order

__all__ = ["Jobs"]

_BURST = 500
_TARGETS: Mapping[str, str] = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}


@attrs.define(eq=False)
class _Failures:
    """Failures since the last success, for the pause before the next pod."""

    count: int = 0
    last: float = 0.0


class Jobs:
    """The Job controller."""

    name = "job-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)
        self._status = JobStatus(kube, clock, self._recorder)
        self._failures: dict[str, dict[int | None, _Failures]] = {}
        """By job, and by index where they count for each."""

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.JOB, by_name), Source(kinds.POD, self._of_pod))

    @staticmethod
    def _of_pod(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "Job")

    def reconcile(self, request: Request) -> Result:
        job = self._cache.get(kinds.JOB, request.name, request.namespace)
        if job is None:
            self._release_orphans(request)
            return DONE
        if is_deleting(job):
            self._release(pod for pod in self._cache.owned(kinds.POD, job["metadata"]["uid"]))
            return DONE
        if jobrules.is_over(job):
            self._failures.pop(job["metadata"]["uid"], None)
            self._release(self._cache.owned(kinds.POD, job["metadata"]["uid"]))
            return self._expire(job)
        return self._work(job)

    # Pods without a job

    def _release_orphans(self, request: Request) -> None:
        """Let go of the pods of a job that is gone."""
        gone = []
        for pod in self._cache.pods_in(request.namespace):
            owner = controller_of(pod) if jobrules.is_tracked(pod) else None
            if owner is not None and (owner["kind"], owner["name"]) == ("Job", request.name):
                gone.append(pod)
        self._release(gone)

    def _release(self, pods: Iterable[RawObject]) -> None:
        for pod in tuple(pods):
            if jobrules.is_tracked(pod):
                self._untrack(pod)

    def _untrack(self, pod: RawObject) -> None:
        metadata = pod["metadata"]
        kept = [each for each in metadata["finalizers"] if each != TRACKED]
        patch = {"metadata": {"uid": metadata["uid"], "finalizers": kept or None}}
        try:
            self._kube.patch(kinds.POD, metadata["name"], patch, metadata["namespace"])
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise

    # Counting

    def _work(self, job: RawObject) -> Result:
        job, state = self._count(job)
        verdict = self._verdict(state)
        after: float | None = None
        if verdict is not None:
            for pod in state.active:
                delete_pod(self._kube, pod)
            state.going += state.active
            state.active = []
        else:
            after = self._steer(state)
        self._status.write(state, verdict)
        deadline = self._deadline(job)
        if deadline is not None:
            left = max(deadline - self._clock.now(), 0.001)
            after = left if after is None else min(after, left)
        return DONE if after is None else Result(after)

    def _count(self, job: RawObject) -> tuple[RawObject, Round]:
        """Count the pods that have ended since: note them, let them go, add them up."""
        status = job.get("status") or {}
        pods = list(self._cache.owned(kinds.POD, job["metadata"]["uid"]))
        noted = {
            key: list((status.get("uncountedTerminatedPods") or {}).get(key) or ()) for key in ("succeeded", "failed")
        }
        known = {uid for uids in noted.values() for uid in uids}
        done = jobrules.indexes_of(status.get("completedIndexes") or "")
        ended = [pod for pod in pods if jobrules.is_tracked(pod) and jobrules.has_ended(job, pod)]
        new = [pod for pod in ended if pod["metadata"]["uid"] not in known]
        failures = []
        for pod in new:
            index = jobrules.index_of(pod)
            if pod["status"].get("phase") == "Succeeded":
                if jobrules.is_indexed(job):
                    if index is not None and index < int(job["spec"]["completions"]):
                        done.add(index)
                else:
                    noted["succeeded"].append(pod["metadata"]["uid"])
            elif not jobrules.is_ignored(job, pod):
                noted["failed"].append(pod["metadata"]["uid"])
                failures.append(pod)
        if failures or noted["succeeded"]:
            uncounted = {key: uids for key, uids in noted.items() if uids}
            job = self._status.patch(job, {"uncountedTerminatedPods": uncounted})
        self._release(ended)
        succeeded = (
            len(done) if jobrules.is_indexed(job) else int(status.get("succeeded") or 0) + len(noted["succeeded"])
        )
        failed = int(status.get("failed") or 0) + len(noted["failed"])
        self._remember(job, failures, has_success=len(new) > len(failures))
        active = [pod for pod in pods if is_active(pod)]
        going = [pod for pod in pods if is_deleting(pod) and not is_finished(pod)]
        lost = jobindexes.lost_before(job) | jobindexes.failed_indexes(job, failures)
        return job, Round(job, pods, active, succeeded, failed, done, failures, going, lost)

    def _remember(self, job: RawObject, failures: Sequence[RawObject], *, has_success: bool) -> None:
        known = self._failures.setdefault(job["metadata"]["uid"], {})
        if has_success:
            known.pop(None, None)
        for pod in failures:
            record = known.setdefault(jobrules.index_of(pod) if jobindexes.has_own_limits(job) else None, _Failures())
            record.count += 1
            record.last = self._clock.now()

    def _wait_s(self, job: RawObject, index: int | None) -> float:
        """Until a pod may be made again: of the job, or of an index that counts by itself."""
        of = index if jobindexes.has_own_limits(job) else None
        record = self._failures.get(job["metadata"]["uid"], {}).get(of, _Failures())
        return record.last + jobrules.backoff_s(record.count) - self._clock.now()

    # Deciding

    def _deadline(self, job: RawObject) -> float | None:
        seconds, started = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
        if seconds is None or not started or job["spec"].get("suspend"):
            return None
        return parse_time(started) + float(seconds)

    def _verdict(self, state: Round) -> Verdict | None:
        job, spec = state.job, state.job["spec"]
        for target, type_ in _TARGETS.items():  # what was decided before stands
            decided = condition_of(job, target)
            if decided is not None and decided["status"] == "True":
                return Verdict(type_, decided["reason"], decided["message"])
        by_policy = jobrules.failed_by_policy(job, state.new_failures)
        if by_policy is not None:
            return by_policy
        limit = int(spec.get("backoffLimit", 6))
        if state.failed > limit or jobrules.restarts(job, state.pods) >= max(limit, 1):
            return TOO_MANY_FAILURES
        deadline = self._deadline(job)
        if deadline is not None and deadline <= self._clock.now():
            return OUT_OF_TIME
        if jobrules.is_indexed(job):
            by_index = jobindexes.verdict_on_failures(state) or jobindexes.verdict_on_successes(state)
            if by_index is not None:
                return by_index
        completions = spec.get("completions")
        if completions is not None:
            return COMPLETE if state.succeeded >= int(completions) else None
        return COMPLETE if state.succeeded > 0 and not state.active else None

    # Acting

    def _steer(self, state: Round) -> float | None:
        """Make or end pods; answers after how many seconds more may be made."""
        wanted = _wanted(state)
        surplus = len(state.active) - wanted
        if surplus > 0:
            for pod in deletion_order(state.active, now=self._clock.now())[:surplus]:
                if delete_pod(self._kube, pod):
                    state.active.remove(pod)
                    state.going.append(pod)
                    message = f"Deleted pod: {pod['metadata']['name']}"
                    self._recorder.record(kinds.JOB, state.job, NORMAL, "SuccessfulDelete", message)
            return None
        going = 0
        if jobrules.replaces_only_failed(state.job):
            going = sum(1 for pod in state.going if not jobrules.has_ended(state.job, pod))
        missing = min(-surplus - going, _BURST)
        if missing <= 0:
            return None
        due, waits = [], []
        for index in self._next_indexes(state):
            wait = self._wait_s(state.job, index)
            if wait > 0:
                waits.append(wait)
                if not jobindexes.has_own_limits(state.job):
                    break
            else:
                due.append(index)
            if len(due) == missing:
                break
        for index in due:
            self._create(state, index)
        return min(waits, default=None)

    @staticmethod
    def _next_indexes(state: Round) -> Iterable[int | None]:
        if not jobrules.is_indexed(state.job):
            return itertools.repeat(None)
        taken = {jobrules.index_of(pod) for pod in state.active} | state.done | state.lost
        return (index for index in range(int(state.job["spec"]["completions"])) if index not in taken)

    def _create(self, state: Round, index: int | None) -> None:
        made = self._kube.create(kinds.POD, pod_for(state, index), state.job["metadata"]["namespace"])
        message = f"Created pod: {made['metadata']['name']}"
        self._recorder.record(kinds.JOB, state.job, NORMAL, "SuccessfulCreate", message)

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
            self._kube.delete(
                kinds.JOB, metadata["name"], metadata["namespace"], uid=metadata["uid"], propagation="Foreground"
            )
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise
        return DONE


def _wanted(state: Round) -> int:
    spec = state.job["spec"]
    if spec.get("suspend"):
        return 0
    parallelism = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    if completions is not None:
        return max(min(parallelism, int(completions) - state.succeeded - len(state.lost)), 0)
    return min(parallelism, len(state.active)) if state.succeeded else parallelism
