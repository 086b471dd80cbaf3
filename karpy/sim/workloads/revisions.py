"""ControllerRevisions: the templates that a StatefulSet or a DaemonSet has had, so that it can go back to them.

``kubectl rollout history`` and ``undo`` read them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.workloads.objects import owner_reference, template_hash

__all__ = ["CONTROLLER_REVISION", "REVISION_LABEL", "Revisions", "revision_of"]

CONTROLLER_REVISION = Kind("apps", "v1", "ControllerRevision", "controllerrevisions")
REVISION_LABEL = "controller-revision-hash"
_HASH_LABEL = "controller.kubernetes.io/hash"


def revision_of(pod: RawObject) -> str:
    """The mark of the template that a pod was made from."""
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


class Revisions:
    """The revisions of the owners of one kind."""

    def __init__(self, kube: KubeClient, cache: ClusterCache, kind: Kind) -> None:
        self._kube = kube
        self._cache = cache
        self._kind = kind

    def current(self, owner: RawObject) -> str:
        """The name of the revision that holds the owner's present template; it is the newest from now on."""
        template, known = owner["spec"]["template"], self._of(owner)
        newest = max((int(each["revision"]) for each in known), default=0)
        for each in known:
            if _template(each) == template:
                if int(each["revision"]) < newest:
                    self._renumber(each, newest + 1)
                return str(each["metadata"]["name"])
        return self._create(owner, newest + 1)

    def template(self, owner: RawObject, name: str) -> Mapping[str, Any]:
        """The template of a revision; that of the owner when the revision is not known."""
        found = next((each for each in self._of(owner) if each["metadata"]["name"] == name), None)
        template: Mapping[str, Any] = owner["spec"]["template"] if found is None else _template(found)
        return template

    def prune(self, owner: RawObject, living: Collection[str]) -> None:
        """Drop the oldest revisions that nothing uses, beyond the history that is kept."""
        idle = sorted(
            (each for each in self._of(owner) if each["metadata"]["name"] not in living),
            key=lambda each: int(each["revision"]),
        )
        for each in idle[: max(len(idle) - int(owner["spec"].get("revisionHistoryLimit", 10)), 0)]:
            metadata = each["metadata"]
            try:
                self._kube.delete(CONTROLLER_REVISION, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except KubeError as error:
                if not (error.not_found or error.conflict):
                    raise

    def _of(self, owner: RawObject) -> list[RawObject]:
        uid, mine = owner["metadata"]["uid"], []
        for each in self._cache.all(CONTROLLER_REVISION):
            reference = controller_of(each)
            if reference is not None and reference["uid"] == uid:
                mine.append(each)
        return mine

    def _renumber(self, revision: RawObject, number: int) -> None:
        metadata = revision["metadata"]
        self._kube.patch(CONTROLLER_REVISION, metadata["name"], {"revision": number}, metadata["namespace"])

    def _create(self, owner: RawObject, number: int) -> str:
        metadata, template = owner["metadata"], owner["spec"]["template"]
        mark = template_hash(template)
        name = f"{metadata['name']}-{mark}"
        label = REVISION_LABEL if self._kind == kinds.DAEMON_SET else _HASH_LABEL
        revision = {
            "apiVersion": CONTROLLER_REVISION.api_version,
            "kind": CONTROLLER_REVISION.kind,
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), label: mark},
                **({"annotations": metadata["annotations"]} if metadata.get("annotations") else {}),
                "ownerReferences": [owner_reference(self._kind, owner)],
            },
            "data": {"spec": {"template": {**template, "$patch": "replace"}}},
            "revision": number,
        }
        try:
            self._kube.create(CONTROLLER_REVISION, revision, metadata["namespace"])
        except KubeError as error:
            if not error.already_exists:
                raise
        return name


def _template(revision: RawObject) -> Mapping[str, Any]:
    template = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}
