"""What the Job controller decides, as pure functions: which pods failed and count, which indexes are done, how long to wait.

Source: the Job controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs

from karpy.kube.client import RawObject
from karpy.sim.podfacts import condition_of, is_deleting, is_finished

__all__ = [
    "INDEX",
    "TRACKED",
    "Round",
    "Verdict",
    "backoff_s",
    "failed_by_policy",
    "has_failed",
    "index_of",
    "index_text",
    "indexes_of",
    "is_ignored",
    "is_tracked",
]

TRACKED = "batch.kubernetes.io/job-tracking"
"""The finalizer that keeps a pod until its end is counted."""
INDEX = "batch.kubernetes.io/job-completion-index"
FIRST_BACKOFF_S = 10.0
LONGEST_BACKOFF_S = 600.0


@attrs.frozen
class Verdict:
    """How a job ends. ``type_`` is the terminal condition, Complete or Failed."""

    type_: str
    reason: str
    message: str

    @property
    def target(self) -> str:
        """The condition that is set until the last pod is gone."""
        return "SuccessCriteriaMet" if self.type_ == "Complete" else "FailureTarget"


@attrs.define(eq=False)
class Round:
    """One look at one job: its pods, what was counted before, and what is new."""

    job: RawObject
    pods: list[RawObject]
    active: list[RawObject]
    succeeded: int
    failed: int
    done: set[int]
    """Completed indexes."""
    new_failures: list[RawObject] = attrs.field(factory=list)
    going: list[RawObject] = attrs.field(factory=list)
    """Those that were asked to go and have not gone."""
    lost: set[int] = attrs.field(factory=set)
    """Indexes that have failed for good."""


COMPLETE = Verdict("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
OUT_OF_TIME = Verdict("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
TOO_MANY_FAILURES = Verdict("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")


def is_tracked(pod: RawObject) -> bool:
    return TRACKED in (pod["metadata"].get("finalizers") or ())


def replaces_only_failed(job: RawObject) -> bool:
    """Whether a pod that is going is replaced only when it has gone."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed")


def has_failed(job: RawObject, pod: RawObject) -> bool:
    """A pod that is being deleted counts as failed too, unless the job waits for its end."""
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Failed":
        return True
    return is_deleting(pod) and phase != "Succeeded" and not replaces_only_failed(job)


def has_ended(job: RawObject, pod: RawObject) -> bool:
    return is_finished(pod) or has_failed(job, pod)


def backoff_s(failures: int) -> float:
    """How long after the last failure the next pod is made.

    >>> [backoff_s(n) for n in (0, 1, 2, 3, 20)]
    [0.0, 10.0, 20.0, 40.0, 600.0]
    """
    return float(min(FIRST_BACKOFF_S * 2 ** (failures - 1), LONGEST_BACKOFF_S)) if failures else 0.0


def is_over(job: RawObject) -> bool:
    return condition_of(job, "Complete") is not None or condition_of(job, "Failed") is not None


def is_indexed(job: RawObject) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def restarts(job: RawObject, pods: Iterable[RawObject]) -> int:
    """How often containers were restarted in place, which counts as failing for jobs that restart theirs."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return 0
    return sum(
        int(container.get("restartCount") or 0)
        for pod in pods
        if not is_finished(pod)
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
    )


# Rules for failures


def _rule_of(job: RawObject, pod: RawObject) -> tuple[int, Mapping[str, Any], str] | None:
    """The first rule of the job's policy that speaks of the pod, its place, and what it found."""
    for i, rule in enumerate((job["spec"].get("podFailurePolicy") or {}).get("rules") or ()):
        found = _matching_code(rule.get("onExitCodes"), pod) or _matching_condition(rule.get("onPodConditions"), pod)
        if found:
            return i, rule, found
    return None


def _matching_code(wanted: Mapping[str, Any] | None, pod: RawObject) -> str:
    if not wanted:
        return ""
    status = pod.get("status") or {}
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        ended = (container.get("state") or {}).get("terminated")
        named = wanted.get("containerName")
        if not ended or not ended.get("exitCode") or (named and named != container["name"]):
            continue
        if (ended["exitCode"] in wanted["values"]) == (wanted["operator"] == "In"):
            whole = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            return f"Container {container['name']} for pod {whole} failed with exit code {ended['exitCode']}"
    return ""


def _matching_condition(wanted: Sequence[Mapping[str, Any]] | None, pod: RawObject) -> str:
    for pattern in wanted or ():
        for condition in (pod.get("status") or {}).get("conditions") or ():
            if (condition["type"], condition["status"]) == (pattern["type"], pattern.get("status", "True")):
                whole = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                return f"Pod {whole} has condition {condition['type']}"
    return ""


def is_ignored(job: RawObject, pod: RawObject) -> bool:
    """Whether the pod's failure does not count."""
    found = _rule_of(job, pod)
    return found is not None and found[1]["action"] == "Ignore"


def is_final_for_index(job: RawObject, pod: RawObject) -> bool:
    """Whether the pod's failure ends what its index may try."""
    found = _rule_of(job, pod)
    return found is not None and found[1]["action"] == "FailIndex"


def failed_by_policy(job: RawObject, pods: Iterable[RawObject]) -> Verdict | None:
    """The end of the job when a pod failed in a way that its policy says is final."""
    for pod in pods:
        found = _rule_of(job, pod)
        if found is not None and found[1]["action"] == "FailJob":
            return Verdict("Failed", "PodFailurePolicy", f"{found[2]} matching FailJob rule at index {found[0]}")
    return None


# Indexes


def index_of(pod: RawObject) -> int | None:
    text = (pod["metadata"].get("annotations") or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def indexes_of(text: str) -> set[int]:
    """The indexes that a status lists.

    >>> sorted(indexes_of("0,2-4"))
    [0, 2, 3, 4]
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def index_text(indexes: Collection[int]) -> str:
    """Indexes as a status lists them: runs of three and more as ranges.

    >>> index_text({0, 1, 3, 4, 5})
    '0,1,3-5'
    """
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
