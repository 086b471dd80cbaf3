"""Objects whose owners are gone go too, where the API server does not see to that itself.

The server of this package does; a real one leaves it to a controller. Source: the garbage collector of Kubernetes, in background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache
from karpy.sim.workloads.cronjobs import CRON_JOB
from karpy.sim.workloads.revisions import CONTROLLER_REVISION

__all__ = ["OwnerGarbage", "owner_garbage"]

_DEPENDENTS = (kinds.POD, kinds.REPLICA_SET, kinds.JOB, CONTROLLER_REVISION, kinds.PERSISTENT_VOLUME_CLAIM)
_OWNERS = (kinds.DEPLOYMENT, kinds.REPLICA_SET, kinds.STATEFUL_SET, kinds.DAEMON_SET, kinds.JOB, CRON_JOB, kinds.POD)
_BY_REFERENCE: Mapping[tuple[str, str], Kind] = {(kind.api_version, kind.kind): kind for kind in _OWNERS}


def owner_garbage(kube: KubeClient, cache: ClusterCache) -> tuple[OwnerGarbage, ...]:
    """One controller for each kind that workloads own."""
    return tuple(OwnerGarbage(kube, cache, kind) for kind in _DEPENDENTS)


class OwnerGarbage:
    """Deletes objects of one kind when none of their owners exists any more."""

    def __init__(self, kube: KubeClient, cache: ClusterCache, kind: Kind) -> None:
        self.name = f"garbage-collector/{kind.plural}"
        self._kube = kube
        self._cache = cache
        self._kind = kind

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(self._kind, self._of_owned), *(Source(kind, self._of_owner) for kind in _OWNERS))

    @staticmethod
    def _of_owned(event: WatchEvent) -> Sequence[Request]:
        is_owned = event.type is EventType.ADDED and event.object["metadata"].get("ownerReferences")
        return by_name(event) if is_owned else ()

    def _of_owner(self, event: WatchEvent) -> Sequence[Request]:
        if event.type is not EventType.DELETED:
            return ()
        uid = event.object["metadata"]["uid"]
        return tuple(
            Request(each["metadata"]["name"], each["metadata"]["namespace"])
            for each in self._cache.all(self._kind)
            if any(reference["uid"] == uid for reference in each["metadata"].get("ownerReferences") or ())
        )

    def reconcile(self, request: Request) -> Result:
        obj = self._cache.get(self._kind, request.name, request.namespace)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            return DONE
        references = obj["metadata"].get("ownerReferences") or ()
        if references and not any(self._exists(reference, request.namespace) for reference in references):
            self._delete(obj)
        return DONE

    def _exists(self, reference: RawObject, namespace: str) -> bool:
        """Asked of the server itself, as what one watch tells may be older than what another one tells."""
        kind = _BY_REFERENCE.get((reference["apiVersion"], reference["kind"]))
        if kind is None:
            return True  # whoever made that knows when it goes
        try:
            found = self._kube.get(kind, reference["name"], namespace)
        except KubeError as error:
            if error.not_found:
                return False
            raise
        return bool(found["metadata"]["uid"] == reference["uid"])

    def _delete(self, obj: RawObject) -> None:
        metadata = obj["metadata"]
        try:
            self._kube.delete(self._kind, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except KubeError as error:
            if not (error.not_found or error.conflict):
                raise
