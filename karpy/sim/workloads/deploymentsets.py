"""The ReplicaSets of a Deployment: which one holds its present template, and how they are made, marked, sized and dropped.

Source: the Deployment controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.sim.recorder import NORMAL, Recorder
from karpy.sim.workloads import rollout
from karpy.sim.workloads.objects import owner_reference, template_hash

__all__ = [
    "HASH_LABEL",
    "REVISION",
    "SetKeeper",
    "Sets",
    "count",
    "desired_size",
    "limits",
    "most_size",
    "size",
    "sort",
]

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MOST = "deployment.kubernetes.io/max-replicas"
_HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_HANDED_ON = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        _HISTORY,
        _DESIRED,
        _MOST,
    }
)


@attrs.frozen
class Sets:
    """The ReplicaSets of a Deployment: that of its present template, and the others, oldest first."""

    new: RawObject | None
    old: tuple[RawObject, ...]

    @property
    def all(self) -> tuple[RawObject, ...]:
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[RawObject, ...]:
        """Those that are to have pods."""
        return tuple(each for each in self.all if size(each))

    def resized(self, replaced: Sequence[RawObject]) -> Sets:
        """The same sets, of which some have been written anew."""
        by_name = {each["metadata"]["name"]: each for each in replaced}
        new = self.new and by_name.get(self.new["metadata"]["name"], self.new)
        return Sets(new, tuple(by_name.get(each["metadata"]["name"], each) for each in self.old))


def size(replica_set: RawObject) -> int:
    """How many pods a set is to have."""
    return int(replica_set["spec"].get("replicas", 1))


def count(replica_set: RawObject, field: str) -> int:
    """A number of its status."""
    return int((replica_set.get("status") or {}).get(field) or 0)


def limits(deployment: RawObject) -> rollout.Limits:
    """How far the number of pods may stray."""
    return rollout.limits_of(deployment["spec"].get("strategy") or {}, size(deployment))


def desired_size(replica_set: RawObject) -> int | None:
    """The size of the Deployment when the set was sized last."""
    return _number(replica_set, _DESIRED)


def most_size(replica_set: RawObject) -> int | None:
    """How many pods the Deployment might have had, surge included, when the set was sized last."""
    return _number(replica_set, _MOST)


def _number(obj: RawObject, annotation: str) -> int | None:
    text = (obj["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isdecimal() else None


def _revision(replica_set: RawObject) -> int:
    return _number(replica_set, REVISION) or 0


def sort(deployment: RawObject, owned: Sequence[RawObject]) -> Sets:
    """Which of the sets holds the present template: the oldest that does."""
    template = deployment["spec"]["template"]
    oldest_first = sorted(owned, key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"]))
    new = next((each for each in oldest_first if _template(each) == template), None)
    return Sets(new, tuple(each for each in oldest_first if each is not new))


def _template(replica_set: RawObject) -> Mapping[str, Any]:
    """The set's template without the mark that the controller put on it."""
    template: Mapping[str, Any] = replica_set["spec"]["template"]
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _handed_on(deployment: RawObject) -> dict[str, str]:
    """The annotations that a set has from its Deployment, such as why it was changed."""
    given = deployment["metadata"].get("annotations") or {}
    return {key: value for key, value in given.items() if key not in _NOT_HANDED_ON}


def _sizes(deployment: RawObject) -> dict[str, str]:
    wanted = size(deployment)
    return {_DESIRED: str(wanted), _MOST: str(wanted + limits(deployment).surge)}


class SetKeeper:
    """Writes the ReplicaSets of Deployments."""

    def __init__(self, kube: KubeClient, recorder: Recorder) -> None:
        self._kube = kube
        self._recorder = recorder

    def create(self, deployment: RawObject, sets: Sets, replicas: int) -> Sets:
        """A set of the present template."""
        metadata, template = deployment["metadata"], deployment["spec"]["template"]
        mark = template_hash(template)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: mark}
        selector = deployment["spec"].get("selector") or {}
        revision = max(map(_revision, sets.old), default=0) + 1
        replica_set: dict[str, Any] = {
            "apiVersion": kinds.REPLICA_SET.api_version,
            "kind": kinds.REPLICA_SET.kind,
            "metadata": {
                "name": f"{metadata['name']}-{mark}",
                "namespace": metadata["namespace"],
                "labels": labels,
                "annotations": {**_handed_on(deployment), **_sizes(deployment), REVISION: str(revision)},
                "ownerReferences": [owner_reference(kinds.DEPLOYMENT, deployment)],
            },
            "spec": {
                "replicas": replicas,
                "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: mark}},
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        if deployment["spec"].get("minReadySeconds"):
            replica_set["spec"]["minReadySeconds"] = deployment["spec"]["minReadySeconds"]
        made = self._kube.create(kinds.REPLICA_SET, replica_set, metadata["namespace"])
        self._mark_revision(deployment, revision)
        if replicas:
            self._tell_scaled(deployment, made, 0, replicas)
        return attrs.evolve(sets, new=made)

    def follow(self, deployment: RawObject, sets: Sets) -> Sets:
        """Let the set of the present template have what the Deployment says beside the template.

        After a roll-back the set of the older template becomes the newest revision, and remembers which one it was.
        """
        new = sets.new
        if new is None:
            return sets
        held = new["metadata"].get("annotations") or {}
        wanted = {key: value for key, value in _handed_on(deployment).items() if held.get(key) != value}
        revision, newest = _revision(new), max(map(_revision, sets.old), default=0) + 1
        if revision < newest:
            wanted[REVISION] = str(newest)
            if revision:
                wanted[_HISTORY] = ",".join(filter(None, (held.get(_HISTORY), str(revision))))
        patch: dict[str, Any] = {"metadata": {"annotations": wanted}} if wanted else {}
        wait = int(deployment["spec"].get("minReadySeconds") or 0)
        if wait != int(new["spec"].get("minReadySeconds") or 0):
            patch["spec"] = {"minReadySeconds": wait}
        if patch:
            metadata = new["metadata"]
            new = self._kube.patch(kinds.REPLICA_SET, metadata["name"], patch, metadata["namespace"])
        self._mark_revision(deployment, max(revision, newest))
        return attrs.evolve(sets, new=new)

    def _mark_revision(self, deployment: RawObject, revision: int) -> None:
        metadata = deployment["metadata"]
        if (metadata.get("annotations") or {}).get(REVISION) == str(revision):
            return
        patch = {"metadata": {"annotations": {REVISION: str(revision)}}}
        self._kube.patch(kinds.DEPLOYMENT, metadata["name"], patch, metadata["namespace"])

    def scale(self, deployment: RawObject, replica_set: RawObject, replicas: int) -> RawObject:
        """Give a set its size, and note what size of the Deployment that is for."""
        metadata, sizes = replica_set["metadata"], _sizes(deployment)
        annotations = metadata.get("annotations") or {}
        moved = replicas != size(replica_set)
        if not moved and all(annotations.get(key) == value for key, value in sizes.items()):
            return replica_set
        patch = {"metadata": {"annotations": sizes}, "spec": {"replicas": replicas}}
        scaled = self._kube.patch(kinds.REPLICA_SET, metadata["name"], patch, metadata["namespace"])
        if moved:
            self._tell_scaled(deployment, replica_set, size(replica_set), replicas)
        return scaled

    def _tell_scaled(self, deployment: RawObject, replica_set: RawObject, old: int, new: int) -> None:
        direction = "up" if new > old else "down"
        name = replica_set["metadata"]["name"]
        message = f"Scaled {direction} replica set {name} from {old} to {new}"
        self._recorder.record(kinds.DEPLOYMENT, deployment, NORMAL, "ScalingReplicaSet", message)

    def clean_up(self, deployment: RawObject, sets: Sets) -> None:
        """Drop empty old sets beyond the history that is kept."""
        keep = int(deployment["spec"].get("revisionHistoryLimit", 10))
        old = sorted((each for each in sets.old if "deletionTimestamp" not in each["metadata"]), key=_revision)
        for each in old[: max(len(old) - keep, 0)]:
            metadata = each["metadata"]
            unseen = metadata.get("generation", 0) > count(each, "observedGeneration")
            if size(each) or count(each, "replicas") or unseen:
                continue
            try:
                self._kube.delete(kinds.REPLICA_SET, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except KubeError as error:
                if not error.not_found:
                    raise
