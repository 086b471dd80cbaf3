"""Random histories of requests to the API server, against a small model of what Kubernetes documents.

The model knows nothing of the server's code: a table of objects, what each request does to it, and the garbage collector as a
loop until nothing changes. After every request the server must show what the model says, and a watch must have told it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from karpy.sim.api.wire.listing import WatchStream
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from tests.karpy.sim.api.conftest import Client

FOREGROUND, ORPHAN, HOLD = "foregroundDeletion", "orphan", "example.com/hold"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            key: {"type": "object", "additionalProperties": {"type": "integer"}}
                            for key in ("spec", "status")
                        },
                    }
                },
            }
        ],
    },
}
PATHS = {
    "Thing": "/apis/example.com/v1/things",
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "Pod": "/api/v1/namespaces/default/pods",
}
API_VERSIONS = {"Thing": "example.com/v1", "ConfigMap": "v1", "Pod": "v1"}

kinds = st.sampled_from(sorted(PATHS))
names = st.sampled_from(["a", "b", "c"])
specs = st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 2), max_size=2).map(lambda spec: {"z": 0, **spec})
"""Everybody sets z to the same, so that there is always somebody who owns something: otherwise ownership ceases to be tracked."""
writers = st.sampled_from(["m1", "m2"])
seldom = st.sampled_from([False, False, False, True])


@attrs.define
class Owner:
    uid: str
    blocking: bool


@attrs.define
class Thing:
    """What the model knows of one object; ``fields``: who owns each key of the spec of a Thing."""

    kind: str
    name: str
    uid: str
    spec: dict[str, int]
    finalizers: list[str]
    owners: list[Owner]
    generation: int
    grace: int | None = None
    labels: dict[str, str] = attrs.Factory(dict)
    status: dict[str, int] = attrs.Factory(dict)
    deleting: bool = False
    fields: dict[str, set[str]] = attrs.Factory(dict)

    @property
    def seen(self) -> tuple[Any, ...]:
        owners = sorted((owner.uid, owner.blocking) for owner in self.owners)
        state = (self.uid, self.generation, self.labels, sorted(self.finalizers), owners, self.deleting)
        return (*state, self.spec, self.status, {key: who for key, who in self.fields.items() if who})


class Model:
    """All objects, by kind and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Thing] = {}

    def living(self, uid: str) -> bool:
        return any(each.uid == uid for each in self.objects.values())

    def dependents(self, owner: Thing) -> Iterable[Thing]:
        return [each for each in self.objects.values() if any(ref.uid == owner.uid for ref in each.owners)]

    def mark(self, thing: Thing, policy: str = "", grace: int | None = None) -> None:
        """A request to delete, or the garbage collector's."""
        for name, chosen in ((FOREGROUND, "Foreground"), (ORPHAN, "Orphan")):
            if policy == chosen and name not in thing.finalizers:
                thing.finalizers.append(name)
            elif policy and policy != chosen and name in thing.finalizers:
                thing.finalizers.remove(name)
        wanted = 30 if grace is None else grace
        if not thing.deleting:
            thing.deleting = True
            thing.generation += thing.kind == "Thing"
            thing.grace = wanted if thing.kind == "Pod" else None
        elif thing.grace is not None:
            thing.grace = min(thing.grace, wanted)
        self.collect()

    def collect(self) -> None:
        """Let the garbage collector run until it has nothing to do."""
        while any(self._step(each) for each in list(self.objects.values())):
            pass

    def _step(self, thing: Thing) -> bool:
        if self.objects.get((thing.kind, thing.name)) is not thing:
            return False
        if thing.deleting and not thing.finalizers and not thing.grace:
            del self.objects[thing.kind, thing.name]
            return True
        if thing.deleting and ORPHAN in thing.finalizers:
            for each in self.dependents(thing):
                each.owners = [ref for ref in each.owners if ref.uid != thing.uid]
            thing.finalizers.remove(ORPHAN)
            return True
        if thing.deleting and FOREGROUND in thing.finalizers:
            return self._in_front(thing)
        return self._without_owner(thing)

    def _in_front(self, owner: Thing) -> bool:
        for each in self.dependents(owner):
            others = [ref for ref in each.owners if ref.uid != owner.uid and self.living(ref.uid)]
            if others:
                each.owners = others
                return True
            if not each.deleting:
                self.mark(each, "Foreground" if self.dependents(each) else "")
                return True
        if any(ref.uid == owner.uid and ref.blocking for each in self.dependents(owner) for ref in each.owners):
            return False
        owner.finalizers.remove(FOREGROUND)
        return True

    def _without_owner(self, thing: Thing) -> bool:
        there = [ref for ref in thing.owners if self.living(ref.uid)]
        if len(there) == len(thing.owners):
            return False
        if there:
            thing.owners = there
            return True
        if not thing.deleting:
            self.mark(thing)
            return True
        return False


class Mirror:
    """What somebody knows who watches one kind."""

    def __init__(self, stream: WatchStream) -> None:
        self._stream = stream
        self.objects: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        for line in self._stream.lines():
            event = json.loads(line)
            name = event["object"]["metadata"]["name"]
            if event["type"] == "DELETED":
                del self.objects[name]
            else:
                assert (event["type"] == "ADDED") == (name not in self.objects)
                self.objects[name] = event["object"]
        return self.objects


class History(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.rest = Client(ApiServer(VirtualClock()))
        assert self.rest("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)[0] == 201
        self.model = Model()
        self.versions: dict[str, int] = {}
        self.mirrors = {kind: Mirror(self.rest.watch(path)) for kind, path in PATHS.items()}
        self.late: list[tuple[str, Mirror]] = []

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        code, answer = self.rest(method, path, body, **options)
        return code, answer

    def listed(self, kind: str) -> dict[str, Any]:
        items = self.rest("GET", PATHS[kind])[1]["items"]
        return {item["metadata"]["name"]: item for item in items}

    def refused(self, wanted: int, answered: tuple[int, Any], before: int) -> None:
        assert answered[0] == wanted, answered
        assert self.rest.server.store.revision == before

    # writes

    @rule(kind=kinds, name=names, spec=specs, hold=seldom, owner=st.integers(0, 5), blocking=st.booleans(), dry=seldom)
    def create(
        self, kind: str, name: str, spec: dict[str, int], hold: bool, owner: int, blocking: bool, dry: bool
    ) -> None:
        before = self.rest.server.store.revision
        owners = [Owner(each.uid, blocking) for each in self._owner(kind, owner)]
        meta: dict[str, Any] = {"name": name, "finalizers": [HOLD] if hold else []}
        by_uid = {each.uid: each for each in self.model.objects.values()}
        meta["ownerReferences"] = [
            {
                "apiVersion": API_VERSIONS[by_uid[each.uid].kind],
                "kind": by_uid[each.uid].kind,
                "name": by_uid[each.uid].name,
                "uid": each.uid,
                "blockOwnerDeletion": blocking,
            }
            for each in owners
        ]
        body: dict[str, Any] = {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": meta}
        if kind == "Thing":
            body["spec"] = spec
        elif kind == "Pod":
            body["spec"] = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
        answered = self.send("POST", PATHS[kind], body, dryRun="All") if dry else self.send("POST", PATHS[kind], body)
        if (kind, name) in self.model.objects:
            self.refused(409, answered, before)
            return
        assert answered[0] == 201, answered
        if dry:
            assert self.rest.server.store.revision == before
            return
        made = answered[1]["metadata"]
        known = dict(spec) if kind == "Thing" else {}
        fields = {key: {"tester"} for key in known}
        self.model.objects[kind, name] = Thing(
            kind, name, made["uid"], known, [HOLD] if hold else [], owners, int(kind == "Thing"), fields=fields
        )

    def _owner(self, kind: str, chosen: int) -> list[Thing]:
        """An owner that an object of this kind may have, or none: what is namespaced owns nothing outside."""
        possible = [
            each
            for each in self.model.objects.values()
            if not each.deleting and (kind != "Thing" or each.kind == "Thing")
        ]
        return possible[chosen : chosen + 1]

    @rule(name=names, spec=specs, version=st.sampled_from(["", "current", "stale"]), dry=seldom)
    def replace(self, name: str, spec: dict[str, int], version: str, dry: bool) -> None:
        path, before = f"{PATHS['Thing']}/{name}", self.rest.server.store.revision
        thing = self.model.objects.get(("Thing", name))
        found = self.rest("GET", path)[1].get("metadata", {})
        meta = {key: found[key] for key in ("labels", "finalizers", "ownerReferences") if key in found}
        meta |= {"name": name}
        if version:
            meta["resourceVersion"] = found.get("resourceVersion", "1") if version == "current" else "1"
        body = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": meta, "spec": spec}
        answered = self.send("PUT", path, body, dryRun="All") if dry else self.send("PUT", path, body)
        if thing is None:
            self.refused(404, answered, before)
        elif version == "stale":
            self.refused(409, answered, before)
        else:
            assert answered[0] == 200, answered
            if not dry:
                self._update_spec(thing, spec)

    def _update_spec(self, thing: Thing, spec: dict[str, int]) -> None:
        for key in thing.spec.keys() | spec.keys():
            if thing.spec.get(key) != spec.get(key):
                thing.fields[key] = {"tester"} if key in spec else set()
        thing.generation += thing.spec != spec
        thing.spec = dict(spec)

    @rule(kind=kinds, name=names, value=st.sampled_from([None, "1", "2"]))
    def label(self, kind: str, name: str, value: str | None) -> None:
        before = self.rest.server.store.revision
        patch = {"metadata": {"labels": {"l": value}}}
        answered = self.send("PATCH", f"{PATHS[kind]}/{name}", patch, media=MERGE)
        thing = self.model.objects.get((kind, name))
        if thing is None:
            self.refused(404, answered, before)
            return
        assert answered[0] == 200, answered
        if thing.labels.get("l") == value:
            assert self.rest.server.store.revision == before, "a write that changes nothing makes no new version"
        thing.labels = {} if value is None else {"l": value}

    @rule(name=names, key=st.sampled_from(["x", "y"]), value=st.integers(0, 2))
    def report(self, name: str, key: str, value: int) -> None:
        """The status is written apart, whatever else is sent along."""
        before = self.rest.server.store.revision
        patch = {"status": {key: value}, "spec": {"x": 99}}
        answered = self.send("PATCH", f"{PATHS['Thing']}/{name}/status", patch, media=MERGE)
        thing = self.model.objects.get(("Thing", name))
        if thing is None:
            self.refused(404, answered, before)
            return
        assert answered[0] == 200, answered
        thing.status[key] = value

    @rule(name=names, who=writers, spec=specs, force=seldom)
    def apply(self, name: str, who: str, spec: dict[str, int], force: bool) -> None:
        before = self.rest.server.store.revision
        body = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}
        options = {"force": "true"} if force else {}
        answered = self.send("PATCH", f"{PATHS['Thing']}/{name}", body, media=APPLY, fieldManager=who, **options)
        thing = self.model.objects.get(("Thing", name))
        if thing is None:
            assert answered[0] == 201, answered
            fields = {key: {who} for key in spec}
            self.model.objects["Thing", name] = Thing(
                "Thing", name, answered[1]["metadata"]["uid"], dict(spec), [], [], 1, fields=fields
            )
            return
        contested = {
            key for key, value in spec.items() if thing.fields.get(key, set()) - {who} and thing.spec.get(key) != value
        }
        if contested and not force:
            self.refused(409, answered, before)
            assert len(answered[1]["details"]["causes"]) >= len(contested)
            return
        assert answered[0] == 200, answered
        new = dict(thing.spec)
        for key, owners in thing.fields.items():
            if who in owners and key not in spec:
                owners.discard(who)
                if not owners:
                    new.pop(key, None)
        for key, value in spec.items():
            kept = thing.fields.get(key, set()) if thing.spec.get(key) == value else set()
            thing.fields[key] = {*kept, who}
            new[key] = value
        thing.generation += new != thing.spec
        thing.spec = new

    # deletion

    @rule(
        kind=kinds,
        name=names,
        policy=st.sampled_from(["", "Background", "Foreground", "Orphan"]),
        grace=st.sampled_from([None, None, 0, 10]),
        uid=st.sampled_from(["", "", "right", "wrong"]),
        version=st.sampled_from(["", "", "right", "wrong"]),
        dry=seldom,
    )
    def delete(self, kind: str, name: str, policy: str, grace: int | None, uid: str, version: str, dry: bool) -> None:
        before, path = self.rest.server.store.revision, f"{PATHS[kind]}/{name}"
        thing = self.model.objects.get((kind, name))
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {}}
        if policy:
            body["propagationPolicy"] = policy
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        if dry:
            body["dryRun"] = ["All"]
        if uid:
            body["preconditions"]["uid"] = thing.uid if uid == "right" and thing is not None else "none"
        if version:
            found = self.rest("GET", path)[1]
            right = found["metadata"].get("resourceVersion") if thing is not None else "1"
            body["preconditions"]["resourceVersion"] = right if version == "right" else "1"
        answered = self.send("DELETE", path, body)
        if thing is None:
            self.refused(404, answered, before)
        elif "wrong" in (uid, version):
            self.refused(409, answered, before)
        else:
            assert answered[0] == 200, answered
            if dry:
                assert self.rest.server.store.revision == before
            else:
                self.model.mark(thing, policy, grace)

    @rule(kind=kinds, name=names)
    def release(self, kind: str, name: str) -> None:
        """A controller takes its finalizer away; those of the garbage collector stay."""
        thing = self.model.objects.get((kind, name))
        if thing is None:
            return
        kept = [each for each in thing.finalizers if each != HOLD]
        answered = self.send("PATCH", f"{PATHS[kind]}/{name}", {"metadata": {"finalizers": kept or None}}, media=MERGE)
        assert answered[0] == 200, answered
        thing.finalizers = kept

    @precondition(lambda self: any(each.deleting for each in self.model.objects.values()))
    @rule(data=st.data())
    def hold_back(self, data: st.DataObject) -> None:
        """What is being deleted takes no new finalizers."""
        deleting = [each for each in self.model.objects.values() if each.deleting]
        thing = data.draw(st.sampled_from(deleting))
        before = self.rest.server.store.revision
        patch = {"metadata": {"finalizers": [*thing.finalizers, "example.com/more"]}}
        self.refused(422, self.send("PATCH", f"{PATHS[thing.kind]}/{thing.name}", patch, media=MERGE), before)

    @rule(kind=kinds)
    def watch_too(self, kind: str) -> None:
        """Somebody lists and watches from there on."""
        answer = self.rest("GET", PATHS[kind])[1]
        mirror = Mirror(self.rest.watch(PATHS[kind], resourceVersion=answer["metadata"]["resourceVersion"]))
        mirror.objects = {item["metadata"]["name"]: _typed(item, kind) for item in answer["items"]}
        self.late = [*self.late[-2:], (kind, mirror)]

    # what always holds

    @invariant()
    def the_server_shows_what_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        self.model.collect()
        for kind in PATHS:
            shown = {name: _seen(kind, item) for name, item in self.listed(kind).items()}
            expected = {name: each.seen for (of, name), each in self.model.objects.items() if of == kind}
            assert shown == expected

    @invariant()
    def who_watches_knows_what_a_list_says(self) -> None:
        if not hasattr(self, "model"):
            return
        for kind, mirror in (*self.mirrors.items(), *self.late):
            assert mirror.read() == {name: _typed(item, kind) for name, item in self.listed(kind).items()}

    @invariant()
    def versions_come_from_one_counter_and_only_grow(self) -> None:
        if not hasattr(self, "model"):
            return
        found = {
            item["metadata"]["uid"]: int(item["metadata"]["resourceVersion"])
            for kind in PATHS
            for item in self.listed(kind).values()
        }
        assert len(set(found.values())) == len(found)
        assert all(version >= self.versions.get(uid, 0) for uid, version in found.items())
        assert max(found.values(), default=0) <= self.rest.server.store.revision
        self.versions |= found


def _typed(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """An item of a list as a watch shows it: lists of built-in kinds do not repeat the kind."""
    return {**item, "kind": kind, "apiVersion": API_VERSIONS[kind]}


def _seen(kind: str, item: dict[str, Any]) -> tuple[Any, ...]:
    meta = item["metadata"]
    owners = sorted((ref["uid"], ref["blockOwnerDeletion"]) for ref in meta.get("ownerReferences", ()))
    state = (
        meta["uid"],
        meta.get("generation", 0),
        meta.get("labels", {}),
        sorted(meta.get("finalizers", ())),
        owners,
        "deletionTimestamp" in meta,
    )
    if kind != "Thing":
        return (*state, {}, {}, {})
    return (*state, item.get("spec", {}), item.get("status", {}), _owned(meta))


def _owned(meta: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in meta.get("managedFields", ()):
        for key in entry["fieldsV1"].get("f:spec", {}):
            if key != ".":
                found.setdefault(key.removeprefix("f:"), set()).add(entry["manager"])
    return found


TestHistories = History.TestCase
TestHistories.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
