"""The pods of Jobs: what they are called, what marks them, and how those that are numbered know their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.sim.workloads import jobindexes
from karpy.sim.workloads.jobrules import INDEX, TRACKED, Round
from karpy.sim.workloads.objects import pod_from

__all__ = ["pod_for"]


def pod_for(state: Round, index: int | None) -> dict[str, Any]:
    """A new pod of the job; ``index`` is its number, if they are numbered."""
    job, metadata = state.job, state.job["metadata"]
    marks = {
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": metadata["name"],
        "controller-uid": metadata["uid"],
        "job-name": metadata["name"],
    }
    stem = metadata["name"] if index is None else f"{metadata['name']}-{index}"
    if index is not None:
        marks[INDEX] = str(index)
    pod = pod_from(job["spec"]["template"], kinds.JOB, job, generateName=f"{stem}-", labels=marks)
    pod["metadata"]["finalizers"] = [*(pod["metadata"].get("finalizers") or ()), TRACKED]
    if index is not None:
        notes = {**(pod["metadata"].get("annotations") or {}), INDEX: str(index)}
        if jobindexes.has_own_limits(job):
            notes[jobindexes.FAILURES] = str(jobindexes.failures_before(job, index, state.pods))
        pod["metadata"]["annotations"] = notes
        pod["spec"] = _knowing(pod["spec"], stem)
    return pod


def _knowing(spec: RawObject, hostname: str) -> dict[str, Any]:
    """The spec in which every container knows its number."""
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}

    def told(containers: Sequence[RawObject]) -> list[RawObject]:
        return [{**each, "env": [*(each.get("env") or ()), variable]} for each in containers]

    known = {key: told(spec[key]) for key in ("containers", "initContainers") if spec.get(key)}
    return {**spec, **known, "hostname": hostname}
