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
from karpy.sim.api.gotext import base64_problem
from karpy.sim.api.records import Record
from karpy.sim.api.resources import ResourceVersion
from karpy.sim.api.selectors import field_selector, label_selector
from karpy.sim.api.store import Collection
from karpy.sim.api.wire.parsing import parse_problem
from karpy.sim.api.wire.queries import check_list_options, check_watch_options, flag, integer, parse_revision
from karpy.sim.api.wire.requests import Request, Target
from karpy.sim.api.wire.views import View, as_seen, encode

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["WatchStream", "check_future", "list_records", "open_watch", "select"]

Object = Mapping[str, Any]
Chosen = Callable[[Object], bool] | None


def _chosen(collection: Collection, version: ResourceVersion, target: Target, query: Mapping[str, str]) -> Chosen:
    """The predicate of a request's selectors and of its namespace and name; None when it selects everything."""
    labels = label_selector(query.get("labelSelector", ""))
    fields = field_selector(query.get("fieldSelector", ""), collection.resource.key, version.selectable)
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


def select(
    collection: Collection,
    version: ResourceVersion,
    target: Target,
    query: Mapping[str, str],
    revision: int | None = None,
) -> list[Record]:
    """The records that a request for a collection is about, in order; as they were at ``revision`` where one is given."""
    chosen = _chosen(collection, version, target, query)
    if revision is None:
        records = collection.narrowed(query.get("fieldSelector", ""), target.namespace)
    else:
        records = collection.records_at(revision, target.namespace)
    return list(records) if chosen is None else [each for each in records if chosen(each.object)]


def list_records(server: ApiServer, view: View, target: Target, request: Request) -> bytes:
    """The answer to a list request, or to one page of it. The pages of one list show one moment.

    Raises:
        KubeError: 400, 422 the options are wrong; 504 the version asked for lies in the future; 410 it is too long ago.
    """
    query = request.query
    check_list_options(query)
    check_future(server, query.get("resourceVersion", ""))
    collection = server.store.collection(view.resource)
    limit, after = integer(query, "limit") or 0, query.get("continue")
    start, moment = _start(after) if after else (None, _moment(query, limit))
    try:
        records = select(collection, view.version, target, query, moment)
    except KubeError as error:
        raise _too_old(start, error) from None
    revision = moment or server.store.revision
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if start is not None:
        records = [each for each in records if _key(each) > start]
    if 0 < limit < len(records):
        left = len(records) - limit
        records = records[:limit]
        metadata["continue"] = _token(_key(records[-1]), revision)
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = left
    return view.collection(records, server.clock.now(), metadata)


def _moment(query: Mapping[str, str], limit: int) -> int | None:
    """The revision that a list wants to see exactly; None: the newest will do."""
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if match == "Exact" or (limit > 0 and not match and asked not in ("", "0")):
        return parse_revision(asked)
    return None


_KEY_LOST = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing "
    "with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the "
    "time the first chunk was returned and now may show up in the list."
)


def _too_old(start: tuple[str, str] | None, error: KubeError) -> KubeError:
    """410 on a list of the past; a page that is lost comes with a token to go on from, at the present."""
    if not error.gone:
        return error
    if start is None:
        return status.gone("The resourceVersion for the provided list is too old.")
    return status.PageLost(_KEY_LOST, _token(start, 0))


def _key(record: Record) -> tuple[str, str]:
    meta = record.object["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _token(key: tuple[str, str], revision: int) -> str:
    token = {"v": "meta.k8s.io/v1", "rv": revision, "start": key}
    return base64.urlsafe_b64encode(encode(token)).decode().rstrip("=")


def _start(token: str) -> tuple[tuple[str, str], int | None]:
    """Where a page begins, and the revision it shows (None: the present, after a token was lost)."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        decoded = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        raise _no_token(parse_problem(raw.decode("latin-1"))) from None
    except ValueError:
        raise _no_token(base64_problem(token, urlsafe=True)) from None
    if not isinstance(decoded, dict) or decoded.get("v") != "meta.k8s.io/v1":
        raise status.bad_request("invalid continue token: server does not recognize this encoded version")
    try:
        namespace, name = decoded["start"]
        return (namespace, name), decoded["rv"] or None
    except (ValueError, KeyError, TypeError):
        raise status.bad_request("invalid continue token: continue key is not valid") from None


def _no_token(why: str) -> KubeError:
    return status.bad_request(f"invalid continue token: continue key is not valid: {why}")


def check_future(server: ApiServer, asked: str) -> None:
    """Raises:
    KubeError: 504, the version asked for has not come yet; 500, it is none.
    """
    if parse_revision(asked) > server.store.revision:
        raise KubeError(
            f"Timeout: too large resource version: {asked}, current: {server.store.revision}",
            code=504,
            reason="Timeout",
            details={
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        )


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
    lost: KubeError | None = None
    """Why nothing can be told; as on a real server the watch begins, and this is the first that it says."""

    def lines(self) -> list[bytes]:
        """New lines, in order; the first call also gives the initial events.

        Raises:
            KubeError: 410, the watch fell too far behind, or should begin where nobody remembers.
        """
        if self.lost is not None:
            raise self.lost
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

    @property
    def is_over(self) -> bool:
        """Whether all has been told and nothing will follow, as the resource is not served any more."""
        return self.collection.log.is_closed and self.collection.log.end == self.position

    def bookmark(self) -> bytes:
        """A line that tells how far the watch has come."""
        with self.server.lock:
            caught_up = self.collection.log.end == self.position
            version = str(self.server.store.revision) if caught_up else self._sent
        return self.view.bookmark(version) if version else b""


def open_watch(server: ApiServer, view: View, target: Target, request: Request) -> WatchStream:
    """Start the watch that a request asks for.

    Raises:
        KubeError: 500 the version is not a number, 400 a selector is none.
    """
    query = request.query
    check_watch_options(query, watch_list=server.features.watch_list)
    collection = server.store.collection(view.resource)
    chosen = _chosen(collection, view.version, target, query)
    asked = query.get("resourceVersion", "")
    revision = parse_revision(asked)
    timeout = integer(query, "timeoutSeconds")
    initial: list[bytes] = []
    stream = WatchStream(
        server,
        view,
        collection,
        chosen,
        collection.log.end,
        initial,
        flag(query, "allowWatchBookmarks"),
        float(timeout) if timeout else None,
    )
    streaming = flag(query, "sendInitialEvents")
    if streaming:
        check_future(server, asked)
    if streaming or (asked in ("", "0") and "sendInitialEvents" not in query):
        now = server.clock.now()
        for record in select(collection, view.version, target, query):
            initial.append(view.event(EventType.ADDED, record, now, first=not initial))
        stream.started = bool(initial)
        if streaming and stream.bookmarks:
            initial.append(view.bookmark(str(server.store.revision), initial_end=True))
    else:
        try:
            stream.position = collection.log.position(revision)
        except KubeError as error:
            stream.lost = error
    return stream
