"""Deployments: one ReplicaSet per template, replicas moved from the old ones to the new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import Clock, format_time, parse_time
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.recorder import NORMAL, Recorder
from karpy.sim.workloads import rollout
from karpy.sim.workloads.objects import (
    claim,
    condition_of,
    is_deleting,
    owner_reference,
    owners,
    template_hash,
    with_condition,
    write_status,
)

__all__ = ["HASH_LABEL", "REVISION", "Deployments"]

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MOST = "deployment.kubernetes.io/max-replicas"


@attrs.frozen
class _Sets:
    """The ReplicaSets of a Deployment: that of its present template, and the others, oldest first."""

    new: RawObject | None
    old: tuple[RawObject, ...]

    @property
    def all(self) -> tuple[RawObject, ...]:
        return self.old if self.new is None else (*self.old, self.new)


def _replicas(replica_set: RawObject | None) -> int:
    return 0 if replica_set is None else int(replica_set["spec"].get("replicas", 1))


def _count(replica_set: RawObject | None, field: str) -> int:
    return 0 if replica_set is None else int((replica_set.get("status") or {}).get(field) or 0)


def _revision(replica_set: RawObject) -> int:
    return int((replica_set["metadata"].get("annotations") or {}).get(REVISION, "0"))


class Deployments:
    """The Deployment controller."""

    name = "deployment-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._recorder = Recorder(kube, clock, self.name)

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.DEPLOYMENT, by_name),
            Source(kinds.REPLICA_SET, self._of_replica_set),
            Source(kinds.POD, self._of_lost_pod),
        )

    @staticmethod
    def _of_replica_set(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "Deployment")

    def _of_lost_pod(self, event: WatchEvent) -> Sequence[Request]:
        """The end of the last old pod is what a Deployment that recreates waits for."""
        owner = controller_of(event.object) if event.type is EventType.DELETED else None
        if owner is None or owner["kind"] != "ReplicaSet":
            return ()
        replica_set = self._cache.get(kinds.REPLICA_SET, owner["name"], event.object["metadata"]["namespace"])
        if replica_set is None:
            return ()
        return owners(WatchEvent(event.type, kinds.REPLICA_SET, replica_set), "Deployment")

    def reconcile(self, request: Request) -> Result:
        deployment = self._cache.get(kinds.DEPLOYMENT, request.name, request.namespace)
        if deployment is None:
            return DONE
        owned = claim(self._kube, self._cache, kinds.REPLICA_SET, kinds.DEPLOYMENT, deployment)
        sets = self._sort(deployment, owned)
        if not is_deleting(deployment):
            if deployment["spec"].get("paused"):
                self._keep_size(deployment, sets)
            elif (deployment["spec"].get("strategy") or {}).get("type") == "Recreate":
                sets = self._recreate(deployment, sets)
            else:
                sets = self._roll(deployment, sets)
            self._clean_up(deployment, sets)
        return self._write_status(deployment, sets)

    @staticmethod
    def _sort(deployment: RawObject, owned: Sequence[RawObject]) -> _Sets:
        template = deployment["spec"]["template"]
        oldest_first = sorted(owned, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"]))
        new = next((each for each in oldest_first if _template(each) == template), None)
        return _Sets(new, tuple(each for each in oldest_first if each is not new))

    # Ways to update

    def _roll(self, deployment: RawObject, sets: _Sets) -> _Sets:
        wanted = int(deployment["spec"].get("replicas", 1))
        limits = rollout.limits_of(deployment["spec"].get("strategy") or {}, wanted)
        if sets.new is None:
            room = rollout.new_replicas(wanted, 0, sum(map(_replicas, sets.old)), limits)
            return attrs.evolve(sets, new=self._create(deployment, sets, room))
        sets = self._adopt_revision(deployment, sets)
        assert sets.new is not None  # it was there, and taking over its revision keeps it
        total = sum(map(_replicas, sets.all))
        size = rollout.new_replicas(wanted, _replicas(sets.new), total, limits)
        if size != _replicas(sets.new):
            return attrs.evolve(sets, new=self._scale(deployment, sets.new, size))
        if any(map(_replicas, sets.old)):
            available = _count(sets.new, "availableReplicas")
            surplus = rollout.surplus_of_old(wanted, total, size, available, limits)
            return attrs.evolve(sets, old=self._shrink(deployment, sets, surplus, wanted - limits.unavailable))
        return sets

    def _shrink(self, deployment: RawObject, sets: _Sets, surplus: int, least: int) -> tuple[RawObject, ...]:
        """Take pods off old sets: first those that are not available, then as many as may be missed."""
        sizes = {each["metadata"]["name"]: _replicas(each) for each in sets.old}
        for each in sets.old:
            name = each["metadata"]["name"]
            unhealthy = max(_replicas(each) - _count(each, "availableReplicas"), 0)
            step = min(unhealthy, surplus)
            sizes[name] -= step
            surplus -= step
        spare = min(sum(_count(each, "availableReplicas") for each in sets.all) - least, surplus)
        for each in sets.old:
            step = max(min(sizes[each["metadata"]["name"]], spare), 0)
            sizes[each["metadata"]["name"]] -= step
            spare -= step
        return tuple(
            self._scale(deployment, each, sizes[each["metadata"]["name"]])
            if sizes[each["metadata"]["name"]] != _replicas(each)
            else each
            for each in sets.old
        )

    def _recreate(self, deployment: RawObject, sets: _Sets) -> _Sets:
        """All old pods go before the first new one comes."""
        if any(map(_replicas, sets.old)):
            old = tuple(self._scale(deployment, each, 0) if _replicas(each) else each for each in sets.old)
            return attrs.evolve(sets, old=old)
        remaining = any(self._cache.owned(kinds.POD, each["metadata"]["uid"]) for each in sets.old)
        wanted = int(deployment["spec"].get("replicas", 1))
        if sets.new is None:
            return sets if remaining else attrs.evolve(sets, new=self._create(deployment, sets, wanted))
        if _replicas(sets.new) != wanted and not remaining:
            return attrs.evolve(sets, new=self._scale(deployment, sets.new, wanted))
        return sets

    def _keep_size(self, deployment: RawObject, sets: _Sets) -> None:
        """While paused only the size follows, on the newest set."""
        wanted = int(deployment["spec"].get("replicas", 1))
        active = [each for each in sets.all if _replicas(each)] or list(sets.all[-1:])
        if active:
            others = sum(_replicas(each) for each in active[:-1])
            size = max(wanted - others, 0)
            if size != _replicas(active[-1]):
                self._scale(deployment, active[-1], size)

    # Writes

    def _create(self, deployment: RawObject, sets: _Sets, size: int) -> RawObject:
        metadata, template = deployment["metadata"], deployment["spec"]["template"]
        mark = template_hash(template)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: mark}
        selector = deployment["spec"].get("selector") or {}
        revision = max((_revision(each) for each in sets.old), default=0) + 1
        replica_set: dict[str, Any] = {
            "apiVersion": kinds.REPLICA_SET.api_version,
            "kind": kinds.REPLICA_SET.kind,
            "metadata": {
                "name": f"{metadata['name']}-{mark}",
                "namespace": metadata["namespace"],
                "labels": labels,
                "annotations": {**self._sizes(deployment), REVISION: str(revision)},
                "ownerReferences": [owner_reference(kinds.DEPLOYMENT, deployment)],
            },
            "spec": {
                "replicas": size,
                "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: mark}},
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        if deployment["spec"].get("minReadySeconds"):
            replica_set["spec"]["minReadySeconds"] = deployment["spec"]["minReadySeconds"]
        made = self._kube.create(kinds.REPLICA_SET, replica_set, metadata["namespace"])
        self._mark_revision(deployment, revision)
        if size:
            self._tell_scaled(deployment, made, 0, size)
        return made

    def _adopt_revision(self, deployment: RawObject, sets: _Sets) -> _Sets:
        """After a roll-back the set of the older template becomes the newest revision."""
        assert sets.new is not None
        newest = max((_revision(each) for each in sets.old), default=0)
        revision = _revision(sets.new)
        if revision <= newest:
            revision = newest + 1
            patch = {"metadata": {"annotations": {REVISION: str(revision)}}}
            metadata = sets.new["metadata"]
            sets = attrs.evolve(
                sets, new=self._kube.patch(kinds.REPLICA_SET, metadata["name"], patch, metadata["namespace"])
            )
        self._mark_revision(deployment, revision)
        return sets

    def _mark_revision(self, deployment: RawObject, revision: int) -> None:
        metadata = deployment["metadata"]
        if (metadata.get("annotations") or {}).get(REVISION) == str(revision):
            return
        patch = {"metadata": {"annotations": {REVISION: str(revision)}}}
        self._kube.patch(kinds.DEPLOYMENT, metadata["name"], patch, metadata["namespace"])

    @staticmethod
    def _sizes(deployment: RawObject) -> dict[str, str]:
        wanted = int(deployment["spec"].get("replicas", 1))
        limits = rollout.limits_of(deployment["spec"].get("strategy") or {}, wanted)
        return {_DESIRED: str(wanted), _MOST: str(wanted + limits.surge)}

    def _scale(self, deployment: RawObject, replica_set: RawObject, size: int) -> RawObject:
        metadata = replica_set["metadata"]
        patch = {"metadata": {"annotations": self._sizes(deployment)}, "spec": {"replicas": size}}
        scaled = self._kube.patch(kinds.REPLICA_SET, metadata["name"], patch, metadata["namespace"])
        self._tell_scaled(deployment, replica_set, _replicas(replica_set), size)
        return scaled

    def _tell_scaled(self, deployment: RawObject, replica_set: RawObject, old: int, new: int) -> None:
        direction = "up" if new > old else "down"
        name = replica_set["metadata"]["name"]
        message = f"Scaled {direction} replica set {name} from {old} to {new}"
        self._recorder.record(kinds.DEPLOYMENT, deployment, NORMAL, "ScalingReplicaSet", message)

    def _clean_up(self, deployment: RawObject, sets: _Sets) -> None:
        """Drop empty old sets beyond the history that is kept."""
        keep = int(deployment["spec"].get("revisionHistoryLimit", 10))
        if len(sets.old) <= keep:
            return
        idle = [each for each in sets.old if not _replicas(each) and not _count(each, "replicas")]
        for each in sorted(idle, key=_revision)[: max(len(sets.old) - keep, 0)]:
            metadata = each["metadata"]
            try:
                self._kube.delete(kinds.REPLICA_SET, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except KubeError as error:
                if not error.not_found:
                    raise

    # Status

    def _write_status(self, deployment: RawObject, sets: _Sets) -> Result:
        wanted = int(deployment["spec"].get("replicas", 1))
        available = sum(_count(each, "availableReplicas") for each in sets.all)
        status: dict[str, Any] = {
            "observedGeneration": deployment["metadata"].get("generation", 0),
            "replicas": sum(_count(each, "replicas") for each in sets.all),
            "updatedReplicas": _count(sets.new, "replicas"),
            "readyReplicas": sum(_count(each, "readyReplicas") for each in sets.all),
            "availableReplicas": available,
            "unavailableReplicas": max(wanted - available, 0),
        }
        conditions, after = self._conditions(deployment, sets, status, wanted)
        optional = tuple(status)
        write_status(self._kube, kinds.DEPLOYMENT, deployment, {**status, "conditions": conditions}, optional)
        return DONE if after is None else Result(after)

    def _conditions(
        self, deployment: RawObject, sets: _Sets, status: Mapping[str, Any], wanted: int
    ) -> tuple[list[Mapping[str, Any]], float | None]:
        """The conditions, and after how many seconds the progress deadline has to be looked at."""
        now = self._clock.now()
        old = deployment.get("status") or {}
        limits = rollout.limits_of(deployment["spec"].get("strategy") or {}, wanted)
        enough = status["availableReplicas"] >= wanted - limits.unavailable
        conditions = with_condition(
            old.get("conditions") or (),
            "Available",
            "True" if enough else "False",
            "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
            f"Deployment {'has' if enough else 'does not have'} minimum availability.",
            now,
            lastUpdateTime=format_time(now),
        )
        if sets.new is None:
            return conditions, None
        name = sets.new["metadata"]["name"]
        complete = status["updatedReplicas"] == status["replicas"] == status["availableReplicas"] == wanted
        if complete:
            text = f'ReplicaSet "{name}" has successfully progressed.'
            return _progressing(conditions, "True", "NewReplicaSetAvailable", text, now), None
        return self._progress(deployment, status, conditions, name, now)

    @staticmethod
    def _progress(
        deployment: RawObject,
        status: Mapping[str, Any],
        conditions: list[Mapping[str, Any]],
        name: str,
        now: float,
    ) -> tuple[list[Mapping[str, Any]], float | None]:
        old = deployment.get("status") or {}
        before = condition_of(deployment, "Progressing")
        moved = any(
            status[field] > int(old.get(field) or 0)
            for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
        ) or status["replicas"] < int(old.get("replicas") or 0)
        if moved or before is None or before.get("reason") == "NewReplicaSetAvailable":
            text = f'ReplicaSet "{name}" is progressing.'
            conditions = [each for each in conditions if each["type"] != "Progressing"]
            conditions = _progressing(conditions, "True", "ReplicaSetUpdated", text, now)
            if before is not None and before["status"] == "True":
                conditions[-1] = {**conditions[-1], "lastTransitionTime": before["lastTransitionTime"]}
            before = conditions[-1]
        if before["status"] != "True":
            return conditions, None
        deadline = float(deployment["spec"].get("progressDeadlineSeconds", 600))
        due = parse_time(before["lastUpdateTime"]) + deadline
        if due > now:
            return conditions, due - now
        text = f'ReplicaSet "{name}" has timed out progressing.'
        return _progressing(conditions, "False", "ProgressDeadlineExceeded", text, now), None


def _progressing(
    conditions: Sequence[Mapping[str, Any]], status: str, reason: str, message: str, now: float
) -> list[Mapping[str, Any]]:
    return with_condition(conditions, "Progressing", status, reason, message, now, lastUpdateTime=format_time(now))


def _template(replica_set: RawObject) -> Mapping[str, Any]:
    """The set's template without the mark that the controller put on it."""
    template: Mapping[str, Any] = replica_set["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}
