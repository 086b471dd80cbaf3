"""Which workload a pod belongs to, and which workloads are being rolled out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karpy.objects.pod import Pod
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["moving_workloads", "rolling_out", "workload_of", "workload_sizes"]

_GENERATION_LABELS: Final = ("pod-template-hash", "controller-revision-hash")
"""By these Deployments, and StatefulSets and DaemonSets, tell the pods of one template from those of another."""

STALLED_S: Final = 600.0
"""A rollout that brought no new pod for so long has come to a stop; a canary may stand beside the others for days."""
REST_S: Final = 180.0
"""So long after its last pod came a rollout is really over."""
LONGEST_ROLLOUT_S: Final = 3600.0
"""Pods that were created further apart are not of one rollout."""


def workload_of(pod: Pod) -> str:
    """The controller that looks after the pod; a Deployment rather than one of its ReplicaSets. Without one, the pod itself."""
    owner = pod.metadata.controller
    space = pod.metadata.namespace
    if owner is None:
        return f"{space}/Pod/{pod.metadata.name}"
    template = (pod.metadata.labels or {}).get(_GENERATION_LABELS[0])
    if owner.kind == "ReplicaSet" and template and owner.name.endswith(f"-{template}"):
        return f"{space}/Deployment/{owner.name.removesuffix(f'-{template}')}"
    return f"{space}/{owner.kind}/{owner.name}"


def moving_workloads(view: NodeView) -> Mapping[str, int]:
    """How many pods of each workload would move if the machine went."""
    return view.derived(_moving)


def _moving(view: NodeView) -> Mapping[str, int]:
    return Counter(map(workload_of, view.reschedulable_pods))


def workload_sizes(snapshot: Snapshot) -> Mapping[str, int]:
    """How many pods each workload has, those included that wait for a place."""
    sizes = Counter(map(workload_of, snapshot.pending))
    for view in snapshot.nodes:
        sizes.update(moving_workloads(view))
    return sizes


_Ages = tuple[float, float]
"""When the oldest and the newest of some pods were created."""
_Generations = Mapping[tuple[str, str], _Ages]
"""By workload and what marks its template."""


def rolling_out(snapshot: Snapshot, now: float) -> Mapping[str, float]:
    """The workloads that are being rolled out, or have been just now, and until when that counts if nothing else happens.

    Of a workload that is, some pods are of one template and some of another. Of one that has been, all pods are new; what the old
    ones left behind is still going empty by itself.
    """
    found: dict[tuple[str, str], _Ages] = {}
    for part in (_generations(snapshot.pending), *(view.derived(_generations_on) for view in snapshot.nodes)):
        _add(found, part)
    templates: dict[str, list[_Ages]] = {}
    for (workload, _template), ages in found.items():
        templates.setdefault(workload, []).append(ages)
    ends = {workload: _end(ages) for workload, ages in templates.items()}
    return {workload: end for workload, end in ends.items() if end > now}


def _end(templates: Sequence[_Ages]) -> float:
    oldest, newest = min(oldest for oldest, _ in templates), max(newest for _, newest in templates)
    if len(templates) > 1:
        return newest + STALLED_S
    return newest + REST_S if newest - oldest < LONGEST_ROLLOUT_S else -math.inf


def _add(found: dict[tuple[str, str], _Ages], part: _Generations) -> None:
    for key, ages in part.items():
        known = found.get(key)
        found[key] = ages if known is None else (min(known[0], ages[0]), max(known[1], ages[1]))


def _generations_on(view: NodeView) -> _Generations:
    return _generations(view.pods)


def _generations(pods: Iterable[Pod]) -> _Generations:
    found: dict[tuple[str, str], _Ages] = {}
    for pod in pods:
        labels = pod.metadata.labels or {}
        template = next((labels[key] for key in _GENERATION_LABELS if key in labels), "")
        if template and pod.is_active and not pod.is_owned_by_daemon_set:
            created = pod.metadata.created
            _add(found, {(workload_of(pod), template): (created, created)})
    return found
