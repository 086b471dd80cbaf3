"""What a Deployment's status says: its numbers, whether enough of it is available, and whether its rollout gets on.

Source: the Deployment controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.clock import format_time, parse_time
from karpy.kube.client import RawObject
from karpy.sim.podfacts import condition_of
from karpy.sim.workloads.deploymentsets import Sets, count, limits, size

__all__ = ["Conditions", "counts", "is_complete"]

_FOR_EVER = 2**31 - 1
_PROGRESSING = "Progressing"
_DONE = "NewReplicaSetAvailable"
_TOO_LATE = "ProgressDeadlineExceeded"

Condition = Mapping[str, Any]


def counts(deployment: RawObject, sets: Sets) -> dict[str, int]:
    """The numbers of the status."""
    available = sum(count(each, "availableReplicas") for each in sets.all)
    return {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": sum(count(each, "replicas") for each in sets.all),
        "updatedReplicas": count(sets.new, "replicas") if sets.new is not None else 0,
        "readyReplicas": sum(count(each, "readyReplicas") for each in sets.all),
        "availableReplicas": available,
        "unavailableReplicas": max(sum(map(size, sets.all)) - available, 0),
    }


def is_complete(deployment: RawObject, status: Mapping[str, int]) -> bool:
    """Whether all pods there should be are of the present template and available, and no others are there."""
    wanted = size(deployment)
    return status["updatedReplicas"] == status["replicas"] == status["availableReplicas"] == wanted


class Conditions:
    """The conditions of one Deployment, as one look at it changes them."""

    def __init__(self, deployment: RawObject, now: float) -> None:
        self._deployment = deployment
        self._now = now
        self.all: list[Condition] = list((deployment.get("status") or {}).get("conditions") or ())
        given = deployment["spec"].get("progressDeadlineSeconds")
        self._deadline_s = None if given is None or given == _FOR_EVER else float(given)

    @property
    def _progress(self) -> Condition | None:
        return condition_of({"status": {"conditions": self.all}}, _PROGRESSING)

    def _set(self, type_: str, status: str, reason: str, message: str) -> None:
        """One of the same status and reason stays as it is, whatever the words; its transition is that of its status."""
        old = condition_of({"status": {"conditions": self.all}}, type_)
        if old is not None and (old["status"], old.get("reason")) == (status, reason):
            return
        at = format_time(self._now)
        self._put(
            {
                "type": type_,
                "status": status,
                "lastUpdateTime": at,
                "lastTransitionTime": old["lastTransitionTime"] if old is not None and old["status"] == status else at,
                "reason": reason,
                "message": message,
            }
        )

    def _put(self, condition: Condition) -> None:
        self._drop(condition["type"])
        self.all.append(condition)

    def _drop(self, type_: str) -> None:
        self.all = [each for each in self.all if each["type"] != type_]

    def note_pause(self) -> None:
        """Say that it was paused or resumed, so that no time is counted meanwhile."""
        known = self._progress
        if self._deadline_s is None or (known is not None and known.get("reason") == _TOO_LATE):
            return
        was_paused = known is not None and known.get("reason") == "DeploymentPaused"
        is_paused = bool(self._deployment["spec"].get("paused"))
        if is_paused and not was_paused:
            self._set(_PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused")
        elif was_paused and not is_paused:
            self._set(_PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed")

    def note_new_set(self, name: str, *, created: bool) -> None:
        """Say that the set of the present template was made, or found where nothing was said yet."""
        if self._deadline_s is None:
            return
        if created:
            self._set(_PROGRESSING, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
        elif self._progress is None:
            self._set(_PROGRESSING, "True", "FoundNewReplicaSet", f'Found new replica set "{name}"')

    def note_availability(self, status: Mapping[str, int]) -> None:
        wanted = size(self._deployment)
        enough = status["availableReplicas"] >= wanted - min(limits(self._deployment).unavailable, wanted)
        self._set(
            "Available",
            "True" if enough else "False",
            "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
            f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        )

    def note_progress(self, sets: Sets, status: Mapping[str, int]) -> float | None:
        """Say how the rollout gets on; answers after how many seconds its deadline has to be looked at."""
        self._note_failure(sets)
        if self._deadline_s is None:
            self._drop(_PROGRESSING)
            return None
        known = self._progress
        settled = known is not None and known.get("reason") == _DONE
        if settled and status["replicas"] == status["updatedReplicas"]:
            return None  # a pod that is lost or added later is no rollout
        of = "Deployment" if sets.new is None else "ReplicaSet"
        what = f'{of} "{(self._deployment if sets.new is None else sets.new)["metadata"]["name"]}"'
        if is_complete(self._deployment, status):
            self._set(_PROGRESSING, "True", _DONE, f"{what} has successfully progressed.")
            return None
        if self._has_moved(status):
            self._drop(_PROGRESSING)
            self._set(_PROGRESSING, "True", "ReplicaSetUpdated", f"{what} is progressing.")
            if known is not None and known["status"] == "True":
                self.all[-1] = {**self.all[-1], "lastTransitionTime": known["lastTransitionTime"]}
        return self._heed_deadline(what)

    def _heed_deadline(self, what: str) -> float | None:
        known = self._progress
        if known is None or self._deadline_s is None or known.get("reason") in (_DONE, _TOO_LATE):
            return None
        left = parse_time(known["lastUpdateTime"]) + self._deadline_s - self._now
        if left > 0:
            return left
        self._set(_PROGRESSING, "False", _TOO_LATE, f"{what} has timed out progressing.")
        return None

    def _has_moved(self, status: Mapping[str, int]) -> bool:
        before = self._deployment.get("status") or {}

        def was(field: str) -> int:
            return int(before.get(field) or 0)

        old_pods = status["replicas"] - status["updatedReplicas"]
        return old_pods < was("replicas") - was("updatedReplicas") or any(
            status[field] > was(field) for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
        )

    def _note_failure(self, sets: Sets) -> None:
        """Pass on that a set cannot make or end its pods, first of all the new one."""
        for each in [sets.new, *sets.old]:
            failure = condition_of(each, "ReplicaFailure") if each is not None else None
            if failure is not None:
                if not self._knows(failure):
                    self._put({**failure, "lastUpdateTime": failure["lastTransitionTime"]})
                return
        self._drop("ReplicaFailure")

    def _knows(self, condition: Condition) -> bool:
        known = condition_of({"status": {"conditions": self.all}}, condition["type"])
        return known is not None and all(known.get(key) == condition.get(key) for key in ("status", "reason"))
