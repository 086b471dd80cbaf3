"""The API server as one identity sees it: every call passes the door that requests over HTTP pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karpy.kube.client import ObjectList, PatchType, RawObject, Watch
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.sim.api.access.access import Action
from karpy.sim.api.access.identity import Identity

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["ActingClient"]


class ActingClient:
    """A `karpy.kube.client.KubeClient` of ``who``: refused with 403 where its roles do not reach, and its uses are recorded."""

    def __init__(self, server: ApiServer, who: Identity) -> None:
        self._server = server
        self._who = who

    def _check(self, verb: str, kind: Kind, namespace: str = "", name: str = "", below: str = "") -> None:
        space = (namespace or "default") if kind.namespaced and verb not in ("list", "watch") else namespace
        if kind == kinds.NAMESPACE:
            space = name
        resource = f"{kind.plural}/{below}" if below else kind.plural
        with self._server.lock:
            self._server.access.check(self._who, Action(verb, kind.group, resource, space, name))

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject:
        self._check("get", kind, namespace, name)
        return self._server.get(kind, name, namespace)

    def list(
        self, kind: Kind, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList:
        self._check("list", kind, namespace)
        return self._server.list(kind, namespace, label_selector=label_selector, field_selector=field_selector)

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject:
        self._check("create", kind, (obj.get("metadata") or {}).get("namespace") or namespace)
        return self._server.create(kind, obj, namespace)

    def replace(self, kind: Kind, obj: RawObject, *, subresource: str = "") -> RawObject:
        meta = obj["metadata"]
        self._check("update", kind, meta.get("namespace", ""), meta["name"], subresource)
        return self._server.replace(kind, obj, subresource=subresource)

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
        self._check("patch", kind, namespace, name, subresource)
        if patch_type is PatchType.APPLY and not self._server.exists(kind, name, namespace):
            self._check("create", kind, namespace, name)
        return self._server.patch(kind, name, patch, namespace, patch_type=patch_type, subresource=subresource)

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
        self._check("delete", kind, namespace, name)
        self._server.delete(kind, name, namespace, grace_period_s=grace_period_s, uid=uid, propagation=propagation)

    def evict(self, name: str, namespace: str, *, grace_period_s: int | None = None, uid: str = "") -> None:
        self._check("create", kinds.POD, namespace, name, "eviction")
        self._server.evict(name, namespace, grace_period_s=grace_period_s, uid=uid)

    def bind(self, name: str, namespace: str, node: str) -> None:
        self._check("create", kinds.POD, namespace, name, "binding")
        self._server.bind(name, namespace, node)

    def watch(self, kind: Kind, resource_version: str, namespace: str = "") -> Watch:
        self._check("watch", kind, namespace)
        return self._server.watch(kind, resource_version, namespace)
