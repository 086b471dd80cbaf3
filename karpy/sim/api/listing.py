"""List and watch: selections, pages, and the lines of a watch as a stream of bytes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from karpy.errors import KubeError
from karpy.objects.watchevent import EventType
from karpy.sim.api import status
from karpy.sim.api.requests import Request, Target
from karpy.sim.api.selectors import field_selector, label_selector
from karpy.sim.api.status import Cause
from karpy.sim.api.store import Collection, Record
from karpy.sim.api.views import View, as_seen, encode

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["WatchStream", "list_records", "open_watch", "select"]

Object = Mapping[str, Any]
Chosen = Callable[[Object], bool] | None


def _chosen(collection: Collection, target: Target, query: Mapping[str, str]) -> Chosen:
    """The predicate of a request's selectors and of its namespace and name; None when it selects everything."""
    labels = label_selector(query.get("labelSelector", ""))
    fields = field_selector(query.get("fieldSelector", ""), collection.resource.key)
    namespace, name = target.namespace, target.name
    if labels is None and fields is None and not namespace and not name:
        return None

    def test(obj: Object) -> bool:
        meta = obj["metadata"]
        if namespace and meta.get("namespace") != namespace:
            return False
        if name and meta["name"] != name:
            return False
        if labels is not None and not labels(meta.get("labels") or {}):
            return False
        return fields is None or fields(obj)

    return test


def select(collection: Collection, target: Target, query: Mapping[str, str]) -> list[Record]:
    """The records that a request for a collection is about, in order."""
    records = collection.records(target.namespace)
    chosen = _chosen(collection, target, query)
    return list(records) if chosen is None else [each for each in records if chosen(each.object)]


def list_records(server: ApiServer, view: View, target: Target, request: Request) -> bytes:
    """The answer to a list request, or to one page of it.

    Raises:
        KubeError: 400, 422 the options are wrong; 504 the version asked for lies in the future.
    """
    _check_versions(server, request.query)
    collection = server.store.collection(view.resource)
    records = select(collection, target, request.query)
    metadata: dict[str, Any] = {"resourceVersion": str(server.store.revision)}
    limit = int(request.query.get("limit") or 0)
    after = request.query.get("continue")
    if after:
        start = _start(after)
        records = [each for each in records if _key(each) > start]
    if limit and len(records) > limit:
        left = len(records) - limit
        records = records[:limit]
        metadata["continue"] = _token(records[-1])
        if not request.query.get("labelSelector") and not request.query.get("fieldSelector"):
            metadata["remainingItemCount"] = left
    return view.collection(records, server.clock.now(), metadata)


def _key(record: Record) -> tuple[str, str]:
    meta = record.object["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _token(record: Record) -> str:
    return base64.urlsafe_b64encode(encode({"v": "meta.k8s.io/v1", "start": _key(record)})).decode().rstrip("=")


def _start(token: str) -> tuple[str, str]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        namespace, name = msgspec.json.decode(raw)["start"]
    except (ValueError, KeyError, TypeError, msgspec.DecodeError):
        raise status.bad_request("invalid continue token: continue key is not valid") from None
    return namespace, name


def _check_versions(server: ApiServer, query: Mapping[str, str]) -> None:
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if match and not asked and not query.get("watch"):
        cause = Cause.forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
        raise status.invalid_options("ListOptions", cause)
    if _revision(asked) > server.store.revision:
        raise KubeError(
            f"Timeout: too large resource version: {asked}, current: {server.store.revision}",
            code=504,
            reason="Timeout",
            details={
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        )


def _revision(text: str) -> int:
    try:
        return int(text or 0)
    except ValueError:
        raise KubeError(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax', code=500
        ) from None


@attrs.define(eq=False)
class WatchStream:
    """An open watch over HTTP: `lines` gives what has come since it was last asked, already encoded."""

    server: ApiServer
    view: View
    collection: Collection
    chosen: Chosen
    position: int
    initial: list[bytes]
    bookmarks: bool
    timeout_s: float | None
    _sent: str = ""
    started: bool = False

    def lines(self) -> list[bytes]:
        """New lines, in order; the first call also gives the initial events.

        Raises:
            KubeError: 410, the watch fell too far behind.
        """
        found = self.initial
        self.initial = []
        log = self.collection.log
        if log.end == self.position:
            return found
        with self.server.lock:
            changes = log.since(self.position)
            self.position = log.end
        now = self.server.clock.now()
        for change in changes:
            seen = as_seen(change, self.chosen)
            if seen is not None:
                found.append(self.view.event(seen[0], seen[1], now, first=not self.started))
                self.started = True
        self._sent = str(changes[-1].revision) if changes else self._sent
        return found

    def bookmark(self) -> bytes:
        """A line that tells how far the watch has come."""
        with self.server.lock:
            caught_up = self.collection.log.end == self.position
            version = str(self.server.store.revision) if caught_up else self._sent
        return self.view.bookmark(version) if version else b""


def open_watch(server: ApiServer, view: View, target: Target, request: Request) -> WatchStream:
    """Start the watch that a request asks for.

    Raises:
        KubeError: 410 it should start too far in the past, 500 the version is not a number, 400 a selector is none.
    """
    query = request.query
    collection = server.store.collection(view.resource)
    chosen = _chosen(collection, target, query)
    asked = query.get("resourceVersion", "")
    revision = _revision(asked)
    initial: list[bytes] = []
    stream = WatchStream(
        server,
        view,
        collection,
        chosen,
        collection.log.end,
        initial,
        query.get("allowWatchBookmarks") in ("true", "1"),
        float(query["timeoutSeconds"]) if query.get("timeoutSeconds") else None,
    )
    streaming = query.get("sendInitialEvents") in ("true", "1")
    if streaming or (asked in ("", "0") and query.get("sendInitialEvents") is None):
        now = server.clock.now()
        for record in select(collection, target, query):
            initial.append(view.event(EventType.ADDED, record, now, first=not initial))
        stream.started = bool(initial)
        if streaming and stream.bookmarks:
            initial.append(view.bookmark(str(server.store.revision), initial_end=True))
    else:
        stream.position = collection.log.position(revision)
    return stream
