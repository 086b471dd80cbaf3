"""The Kubernetes API of a cluster somewhere else, over HTTP: a `karpy.kube.client.KubeClient`.

Every open watch has a thread that reads it; whoever polls takes what has arrived.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from karpy.errors import KubeError
from karpy.kube.client import ObjectList, PatchType, RawObject
from karpy.kube.connection import Connection, Stream
from karpy.objects.kinds import POD, Kind
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["RemoteKube"]

MANAGER = "karpy"
_DEFAULT = "default"
_PAGE = 500
_WATCH_S = 300
"""How long the server keeps one watch open; then it is opened anew where it ended."""
_GRACE_S = 15.0


class RemoteKube:
    """The server that a kubeconfig leads to: the given one, or as kubectl finds it, or the one that this process runs in.

    ``told`` is called, from threads of its own, whenever an event has arrived or a watch broke off.

    Raises:
        InvalidObject: there is no usable kubeconfig.
    """

    def __init__(self, kubeconfig: Path | None = None, told: Callable[[], None] = lambda: None) -> None:
        self._connection = Connection(kubeconfig)
        self.server = self._connection.server
        self._told = told
        self._watches: weakref.WeakSet[RemoteWatch] = weakref.WeakSet()

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject:
        return self._connection.request("GET", _path(kind, namespace, name))

    def list(
        self, kind: Kind, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> ObjectList:
        chosen = {"labelSelector": label_selector, "fieldSelector": field_selector}
        query = {"limit": str(_PAGE), **{key: text for key, text in chosen.items() if text}}
        items: list[RawObject] = []
        while True:
            page = self._connection.request("GET", _path(kind, namespace), query)
            items += [_named(kind, item) for item in page.get("items") or ()]
            token = page["metadata"].get("continue")
            if not token:
                return ObjectList(tuple(items), page["metadata"]["resourceVersion"])
            query["continue"] = token

    def create(self, kind: Kind, obj: RawObject, namespace: str = "") -> RawObject:
        where = namespace or obj["metadata"].get("namespace") or _DEFAULT
        return self._connection.request("POST", _path(kind, where), body=obj)

    def replace(self, kind: Kind, obj: RawObject, *, subresource: str = "") -> RawObject:
        metadata = obj["metadata"]
        path = _path(kind, metadata.get("namespace", ""), metadata["name"], subresource)
        return self._connection.request("PUT", path, body=obj)

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
        path = _path(kind, namespace, name, subresource)
        if patch_type is PatchType.APPLY:
            query = {"fieldManager": MANAGER, "force": "true"}
            return self._connection.request("PATCH", path, query, json.dumps(patch), patch_type.value)  # JSON is YAML
        return self._connection.request("PATCH", path, None, patch, patch_type.value)

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
        options = _delete_options(grace_period_s, uid)
        options["propagationPolicy"] = propagation or "Background"  # some kinds would leave their pods behind
        self._connection.request("DELETE", _path(kind, namespace, name), body=options)

    def evict(self, name: str, namespace: str, *, grace_period_s: int | None = None, uid: str = "") -> None:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(grace_period_s, uid),
        }
        self._connection.request("POST", _path(POD, namespace, name, "eviction"), body=eviction)

    def bind(self, name: str, namespace: str, node: str) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._connection.request("POST", _path(POD, namespace, name, "binding"), body=binding)

    def watch(self, kind: Kind, resource_version: str, namespace: str = "") -> RemoteWatch:
        watch = RemoteWatch(self._connection, kind, _path(kind, namespace), resource_version, self._told)
        self._watches.add(watch)
        return watch

    def close(self) -> None:
        """End all watches and connections."""
        for watch in tuple(self._watches):
            watch.stop()
        self._connection.close()


class RemoteWatch:
    """An open watch; see `karpy.kube.client.Watch`."""

    def __init__(
        self, connection: Connection, kind: Kind, path: str, resource_version: str, told: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._kind = kind
        self._path = path
        self._version = resource_version
        self._told = told
        self._arrived: deque[WatchEvent | KubeError] = deque()
        self._stopped = False
        self._stream: Stream | None = None
        threading.Thread(target=self._read, name=f"karpy-watch-{kind.plural}", daemon=True).start()

    def poll(self) -> list[WatchEvent]:
        events: list[WatchEvent] = []
        while self._arrived:
            if isinstance(self._arrived[0], KubeError) and events:
                break  # first what came before the end
            arrived = self._arrived.popleft()
            if isinstance(arrived, KubeError):
                raise arrived
            events.append(arrived)
        return events

    def stop(self) -> None:
        self._stopped = True
        if self._stream is not None:
            self._stream.break_off()

    def _read(self) -> None:
        try:
            while not self._stopped:
                self._read_once()
        except KubeError as error:
            if not self._stopped:
                self._arrived.append(error)
                self._told()

    def _read_once(self) -> None:
        query = {
            "watch": "true",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_S),
        }
        before = self._version
        self._stream = self._connection.stream(self._path, query, _WATCH_S + _GRACE_S)
        if self._stopped:
            self._stream.break_off()
        for line in self._stream:
            if line:
                self._take(json.loads(line))
        if self._version == before and not self._stopped:
            self._pause()

    def _pause(self) -> None:
        """A server that ends watches at once is not to be asked without end."""
        threading.Event().wait(1.0)

    def _take(self, told: Mapping[str, Any]) -> None:
        obj = told["object"]
        if told["type"] == "ERROR":
            raise KubeError(obj.get("message", ""), code=int(obj.get("code", 500)), reason=obj.get("reason", ""))
        self._version = obj["metadata"]["resourceVersion"]
        if told["type"] != "BOOKMARK":
            self._arrived.append(WatchEvent(EventType(told["type"]), self._kind, obj))
            self._told()


def _named(kind: Kind, item: RawObject) -> RawObject:
    """Items of lists do not say what they are."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **item}


def _delete_options(grace_period_s: int | None, uid: str) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if grace_period_s is not None:
        options["gracePeriodSeconds"] = grace_period_s
    if uid:
        options["preconditions"] = {"uid": uid}
    return options


def _path(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Of an object, or of all of a kind; without a namespace that is the default one, or all of them."""
    parts = ["apis", kind.group, kind.version] if kind.group else ["api", kind.version]
    if kind.namespaced and (namespace or name):
        parts += ["namespaces", namespace or _DEFAULT]
    return "/" + "/".join(part for part in (*parts, kind.plural, name, subresource) if part)
