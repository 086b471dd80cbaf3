"""One request to one resource: objects and collections, by verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from karpy.clock import format_time
from karpy.kube.client import PatchType
from karpy.sim.api import status
from karpy.sim.api.access.access import Action
from karpy.sim.api.access.identity import Identity
from karpy.sim.api.access.reviews import review
from karpy.sim.api.access.tokens import Tokens
from karpy.sim.api.deleting import check_propagation
from karpy.sim.api.merging.apply import track_update
from karpy.sim.api.options import WriteOptions
from karpy.sim.api.printing.tables import scale_table
from karpy.sim.api.records import Record
from karpy.sim.api.resources import Resource, ResourceVersion
from karpy.sim.api.wire import newevents
from karpy.sim.api.wire.answers import JSON, Answer, shown
from karpy.sim.api.wire.bodies import CREATED_BY_PUT, check_applied, check_kind, check_part, check_place
from karpy.sim.api.wire.decoding import metadata_of
from karpy.sim.api.wire.listing import WatchStream, check_future, list_records, open_watch, select
from karpy.sim.api.wire.podcalls import added_binding, pod_part
from karpy.sim.api.wire.queries import flag
from karpy.sim.api.wire.requests import Request, Target, parse_accept
from karpy.sim.api.wire.views import View

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["Call"]

_NO_OBJECT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


@attrs.frozen(eq=False)
class Call:
    """One request to one resource; ``face`` is the resource as the client calls it."""

    server: ApiServer
    request: Request
    target: Target
    resource: Resource
    version: ResourceVersion
    warnings: list[str]
    face: Resource
    who: Identity
    tokens: Tokens

    @property
    def _view(self) -> View:
        include = self.request.query.get("includeObject", "Metadata")
        accept = parse_accept(self.request.accept)
        return View(self.resource, self.version, accept, include, new_events=self.face.key == newevents.KEY)

    def answer(self, body: bytes, code: int = 200) -> Answer:
        return Answer(code, body, JSON, tuple(self.warnings))

    def shown(self, record: Record, code: int = 200) -> Answer:
        return self.answer(self._view.single(record, self.server.clock.now()), code)

    def existing(self) -> Record:
        space = self.target.namespace if self.resource.namespaced else ""
        record = self.server.store.collection(self.resource).get(space, self.target.name)
        if record is None:
            raise status.not_found(self.resource, self.target.name)
        return record

    def _exists(self) -> bool:
        space = self.target.namespace if self.resource.namespaced else ""
        return self.server.store.collection(self.resource).get(space, self.target.name) is not None

    def options(self) -> WriteOptions:
        options = self.request.write_options(self.warnings)
        # under its other names nobody's ownership of an event is tracked
        return options if self.face is self.resource else attrs.evolve(options, manager="")

    def _is_watch(self) -> bool:
        return flag(self.request.query, "watch")

    def on_collection(self) -> Answer | WatchStream:
        match self.request.method:
            case "GET" if self._is_watch():
                return open_watch(self.server, self._view, self.target, self.request)
            case "GET" if "list" in self.resource.verbs:
                return self.answer(list_records(self.server, self._view, self.target, self.request))
            case "POST" if self.target.namespace or not self.resource.namespaced:
                return self._create()
            case "DELETE" if "deletecollection" in self.resource.verbs and (
                self.target.namespace or not self.resource.namespaced
            ):
                return self._delete_collection()
        raise status.method_not_allowed()

    def _create(self) -> Answer:
        if self.resource.key == ("", "bindings"):
            return added_binding(self)
        body = self.body()
        if self.resource.verbs == ("create",):
            return shown(
                review(self.resource, body, self.target.namespace, self.who, self.server.access, self.tokens), 201
            )
        record = self.server.writes.create(self.resource, self.version, body, self.target.namespace, self.options())
        return self.shown(record, 201)

    def body(self) -> Mapping[str, Any]:
        """The object that was sent, which must be of this resource's kind."""
        body = self.request.decoded(self.resource.kind, custom=self.resource.custom)
        if not isinstance(body, Mapping):
            raise self.request.unrecognized(self.resource.kind, _NO_OBJECT)
        metadata_of(self.face, self.version, body)
        check_kind(self.server.registry, self.face, self.version, body, self.request)
        return body if self.face is self.resource else self._core_event(body)

    def _core_event(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """An event of the newer group under the core names; who creates it owns its fields under the newer ones."""
        core: Mapping[str, Any] = newevents.as_core(event)
        if self.request.method != "POST":
            return core
        sent = {**event, "metadata": event.get("metadata") or {}}
        now = format_time(self.server.clock.now())
        owned = track_update(self.face, self.face.stored, None, sent, self.request.manager, now, "")
        return {**core, "metadata": owned["metadata"]}

    def _delete_collection(self) -> Answer:
        collection = self.server.store.collection(self.resource)
        records = select(collection, self.version, self.target, self.request.query)
        options = self.request.delete_options()
        for record in records:
            meta = record.object["metadata"]
            current = collection.get(meta.get("namespace", ""), meta["name"])
            if current is not None:
                self.server.deletion.delete(collection, current, options)
        metadata = {"resourceVersion": str(self.server.store.revision)}
        return self.answer(self._view.collection(records, self.server.clock.now(), metadata))

    def on_object(self) -> Answer | WatchStream:
        match self.request.method:
            case "GET" if self._is_watch():
                return open_watch(self.server, self._view, self.target, self.request)
            case "GET":
                check_future(self.server, self.request.query.get("resourceVersion", ""))
                return self.shown(self.existing())
            case "PUT":
                return self._replace()
            case "PATCH":
                return self._patch()
            case "DELETE" if not self.target.subresource:
                return self._delete()
        raise status.method_not_allowed()

    def _replace(self) -> Answer:
        body = self.body()
        meta = body.get("metadata") or {}
        check_place(self.target, meta)
        created = self.resource.key in CREATED_BY_PUT and not self.target.subresource and not self._exists()
        if created:
            self._may_create()
            record = self.server.writes.create(self.resource, self.version, body, self.target.namespace, self.options())
            return self.shown(record, 201)
        record = self.server.writes.update(
            self.resource, self.version, body, self.target.namespace, self.options(), self.target.subresource
        )
        return self.shown(record)

    def _patch(self) -> Answer:
        patch_type = self.request.patch_type
        body = self.request.decoded_patch()
        if self.face is not self.resource:
            body = newevents.as_core(body)
        if patch_type is PatchType.APPLY:
            metadata_of(self.face, self.version, body)
            check_applied(self.face, self.version, body, self.target)
        existed = self._exists()
        if patch_type is PatchType.APPLY and not existed:
            self._may_create()
        record = self.server.writes.patch(
            self.resource,
            self.version,
            self.target.name,
            body,
            patch_type,
            self.target.namespace,
            self.options(),
            self.target.subresource,
        )
        return self.shown(record, 200 if existed or patch_type is not PatchType.APPLY else 201)

    def _may_create(self) -> None:
        """A write that turns out to create its object needs the right to do so."""
        space = self.target.namespace if self.resource.namespaced else ""
        at = (self.resource.group, self.resource.plural, space, self.target.name)
        self.server.access.check(self.who, Action("create", *at))

    def _delete(self) -> Answer:
        options = self.request.delete_options()
        check_propagation(options)
        record = self.existing()
        gone = self.server.deletion.delete(self.server.store.collection(self.resource), record, options)
        meta = gone.object["metadata"]
        if "deletionTimestamp" in meta or self.resource.key in _SHOWN_WHEN_DELETED:
            return self.shown(gone)
        details = {"name": meta["name"]}
        if self.resource.group:
            details["group"] = self.resource.group
        details |= {"kind": self.resource.plural, "uid": meta["uid"]}
        return shown(status.success(details))

    def subresource(self) -> Answer:
        """Anything below an object but its status."""
        name = self.target.subresource
        if name == "scale" and self.version.scale is not None:
            return self._scale()
        if name in self.resource.subresources and not self.resource.custom:
            match name, self.request.method:
                case _, _ if self.resource.key == ("", "pods"):
                    return pod_part(self)
                case "token", "POST":
                    return shown(self._token(), 201)
                case "finalize", "PUT":
                    return self._finalize()
            raise status.method_not_allowed()
        raise status.no_resource()

    def _scale(self) -> Answer:
        at = (self.resource, self.version, self.target.name, self.target.namespace)
        match self.request.method:
            case "GET":
                scale = self.server.scales.scale(*at)
                as_table = self._view.is_table and not self.resource.custom
                return shown(scale_table(scale, self.server.clock.now()) if as_table else scale)
            case "PUT" | "PATCH" as method:
                kind = self.request.patch_type if method == "PATCH" else None
                body = self.request.decoded("Scale") if kind is None else self.request.decoded_patch()
                if kind is None:
                    check_part(self.server.registry, self.resource, body, "Scale", "autoscaling", self.request)
                    check_place(self.target, {"name": self.target.name, **(body.get("metadata") or {})})
                return shown(self.server.scales.write_scale(*at, body, kind, self.options()))
        raise status.method_not_allowed()

    def _token(self) -> dict[str, Any]:
        asked = self.request.decoded("TokenRequest") if self.request.body else {}
        return self.tokens.issue(self.existing(), asked)

    def _finalize(self) -> Answer:
        record = self.existing()
        collection = self.server.store.collection(self.resource)
        spec = self.body().get("spec") or {}
        finalizers = {**(record.object.get("spec") or {}), "finalizers": spec.get("finalizers") or []}
        changed = {**record.object, "metadata": dict(record.object["metadata"]), "spec": finalizers}
        record = self.server.deletion.settle(collection, self.server.store.put(collection, changed, record))
        return self.shown(record)


_SHOWN_WHEN_DELETED = frozenset(
    {("", "pods"), ("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")}
)
