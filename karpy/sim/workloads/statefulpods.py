"""The pods of a StatefulSet: their names, what tells each which one it is, and the volume claims that stay with the name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.sim.cache import ClusterCache
from karpy.sim.workloads.objects import make_volume_claim, owner_reference, pod_from
from karpy.sim.workloads.revisions import REVISION_LABEL

__all__ = ["Claims", "index_of", "pod_for"]

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


def index_of(stateful_set: RawObject, pod: RawObject) -> int | None:
    """The number of a pod; None for one that is named otherwise."""
    head, _, tail = pod["metadata"]["name"].rpartition("-")
    return int(tail) if head == stateful_set["metadata"]["name"] and tail.isdecimal() else None


def pod_for(stateful_set: RawObject, index: int, template: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """The pod of that number, made from a template."""
    name = f"{stateful_set['metadata']['name']}-{index}"
    labels = {REVISION_LABEL: revision, NAME_LABEL: name, INDEX_LABEL: str(index)}
    pod = pod_from(template, kinds.STATEFUL_SET, stateful_set, name=name, labels=labels)
    spec = {**pod["spec"], "hostname": name}
    if service := stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = service
    names = [_name_of(each) for each in _templates(stateful_set)]
    if names:
        others = [each for each in spec.get("volumes") or () if each["name"] not in names]
        own = [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in names]
        spec["volumes"] = [*own, *others]
    pod["spec"] = spec
    return pod


def _templates(stateful_set: RawObject) -> Sequence[RawObject]:
    found: Sequence[RawObject] = stateful_set["spec"].get("volumeClaimTemplates") or ()
    return found


def _name_of(template: RawObject) -> str:
    """The API takes templates of any form; claims that come of those without a name are what it refuses."""
    return str((template.get("metadata") or {}).get("name", ""))


class Claims:
    """The volume claims of StatefulSets' pods, and with whom they go.

    By default they stay for ever. With ``whenDeleted: Delete`` they go with the set, with ``whenScaled: Delete`` with a pod that
    the set gives up.
    """

    def __init__(self, kube: KubeClient, cache: ClusterCache) -> None:
        self._kube = kube
        self._cache = cache

    def ensure(self, stateful_set: RawObject, index: int) -> None:
        """Make what the pod of that number needs."""
        namespace = stateful_set["metadata"]["namespace"]
        labels = (stateful_set["spec"].get("selector") or {}).get("matchLabels") or {}
        for template in _templates(stateful_set):
            name = self._name(stateful_set, template, index)
            if self._cache.get(kinds.PERSISTENT_VOLUME_CLAIM, name, namespace) is not None:
                continue
            make_volume_claim(self._kube, template, name, namespace, self._owners(stateful_set, None), labels)

    def entrust(self, stateful_set: RawObject, index: int, given_up: RawObject | None = None) -> None:
        """Let the claims go with whom they should: with the set, or with a pod that it gives up."""
        wanted = self._owners(stateful_set, given_up)
        for claim in self._existing(stateful_set, index):
            mine = {stateful_set["metadata"]["uid"]}
            kept = [
                each
                for each in claim["metadata"].get("ownerReferences") or ()
                if each["uid"] not in mine and not (each["kind"] == "Pod" and each["name"].endswith(f"-{index}"))
            ]
            owners = [*kept, *wanted]
            if owners != (claim["metadata"].get("ownerReferences") or []):
                patch = {"metadata": {"ownerReferences": owners or None}}
                metadata = claim["metadata"]
                self._kube.patch(kinds.PERSISTENT_VOLUME_CLAIM, metadata["name"], patch, metadata["namespace"])

    @staticmethod
    def _owners(stateful_set: RawObject, given_up: RawObject | None) -> list[dict[str, Any]]:
        policy = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if given_up is not None and policy.get("whenScaled") == "Delete":
            return [_loose(owner_reference(kinds.POD, given_up))]
        if policy.get("whenDeleted") == "Delete":
            return [_loose(owner_reference(kinds.STATEFUL_SET, stateful_set))]
        return []

    def _existing(self, stateful_set: RawObject, index: int) -> Iterator[RawObject]:
        namespace = stateful_set["metadata"]["namespace"]
        for template in _templates(stateful_set):
            name = self._name(stateful_set, template, index)
            found = self._cache.get(kinds.PERSISTENT_VOLUME_CLAIM, name, namespace)
            if found is not None:
                yield found

    @staticmethod
    def _name(stateful_set: RawObject, template: RawObject, index: int) -> str:
        return f"{_name_of(template)}-{stateful_set['metadata']['name']}-{index}"


def _loose(reference: dict[str, Any]) -> dict[str, Any]:
    """An owner, but not the controller: nobody steers a claim."""
    return {key: reference[key] for key in ("apiVersion", "kind", "name", "uid")}
