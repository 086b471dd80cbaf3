"""The Kubernetes API as karpy uses it: one protocol, implemented by the real cluster's client and by the cluster in memory.

Objects are JSON objects (``dict``), exactly as on the wire. Objects that a client returns are shared and must not be changed
in place: build a new one, or send a patch. All methods raise `karpy.errors.KubeError` with the server's code and reason.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Protocol

import attrs

from karpy.objects.kinds import Kind
from karpy.objects.watchevent import WatchEvent

__all__ = ["KubeClient", "ObjectList", "PatchType", "RawObject", "Watch"]

RawObject = Mapping[str, Any]
"""A JSON object; read-only."""


class PatchType(enum.Enum):
    """How the body of a PATCH is meant; the value is its content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@attrs.frozen
class ObjectList:
    """The objects of a list call and the version of the whole collection, from which a watch may start."""

    items: tuple[RawObject, ...]
    resource_version: str


class Watch(Protocol):
    """An open watch on one kind."""

    def poll(self) -> list[WatchEvent]:
        """What has arrived since the last poll, in order; never blocks. The events carry raw JSON objects.

        Raises:
            KubeError: with ``gone`` when events were lost: list again and open a new watch.
        """
        ...

    def stop(self) -> None:
        """Close the watch; safe to repeat."""
        ...


class KubeClient(Protocol):
    """The calls that controllers make. ``namespace`` is empty for cluster-scoped kinds; for `list` and `watch`, empty means all."""

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject: ...

    def list(
        self, kind: Kind, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList: ...

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject: ...

    def replace(self, kind: Kind, obj: RawObject, *, subresource: str = "") -> RawObject:
        """PUT: refused with a conflict when ``metadata.resourceVersion`` is given and not the current one."""
        ...

    def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: PatchType = PatchType.MERGE,
        subresource: str = "",
    ) -> RawObject:
        """A ``metadata.resourceVersion`` inside the patch makes it conditional."""
        ...

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        grace_period_s: int | None = None,
        uid: str = "",
        propagation: str = "",
    ) -> None:
        """``uid`` is a precondition; ``propagation`` is Background (the default), Foreground or Orphan."""
        ...

    def evict(self, name: str, namespace: str, *, grace_period_s: int | None = None, uid: str = "") -> None:
        """POST to a pod's eviction subresource; 429 when a PodDisruptionBudget forbids it."""
        ...

    def bind(self, name: str, namespace: str, node: str) -> None:
        """POST to a pod's binding subresource."""
        ...

    def watch(self, kind: Kind, resource_version: str, namespace: str = "") -> Watch:
        """Everything after ``resource_version``; 410 when the server no longer knows that far back."""
        ...
