"""Whatever way the cluster came to be what it is, the state must show what it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import KubeError
from karpy.kube.client import ObjectList
from karpy.kube.watch import Reflector
from karpy.objects.kinds import Kind
from karpy.objects.lists import key_of, read_objects
from karpy.objects.meta import OwnerReference
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_claim, make_daemon_set, make_node, make_nodepool, make_overlay, make_pod

Json = dict[str, Any]

KINDS = {kind.kind: kind for kind in ClusterState.KINDS}
PROVIDER_IDS = ("", "test:///x", "test:///y")
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
            ]
        }
    }
}
NAMES = st.sampled_from(("a", "b"))


def _node(name: str, provider_id: str, cpu: str) -> Json:
    return make_node(name, provider_id=provider_id, room={"cpu": cpu})


def _claim(name: str, provider_id: str, reached: int, leaving: bool, pool: str) -> Json:
    claim = make_claim(name, reached=("Launched", "Registered", "Initialized")[:reached], pool=pool)
    claim["status"]["providerID"] = provider_id
    del claim["metadata"]["uid"]  # it may come back
    if leaving:
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return claim


def _pod(name: str, node: str, cpu: str, phase: str, owner: str, app: str) -> Json:
    return make_pod(
        name,
        node=node,
        requests={"cpu": cpu},
        labels={"app": app},
        owner=owner,
        spec=APART if app == "apart" else None,
        status={"phase": phase} if phase else None,
    )


def _plain(kind: str, name: str, **more: Any) -> Json:
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": {"name": name}, **more}


def _selecting(name: str, kind: str, app: str | None) -> Json:
    """A service or workload; ``app`` None is a selector that cannot be read, no text is none."""
    metadata = {"name": name, "namespace": "default"}
    labels: Any = {"app": app} if app else None
    selector = labels if kind == "Service" or not app else {"matchLabels": labels}
    return {"kind": kind, "metadata": metadata, "spec": {"selector": 3 if app is None else selector}}


CPU = st.sampled_from(("1", "2", "3", "4", "many"))  # the last cannot be read
MACHINES = st.one_of(
    st.builds(_node, NAMES, st.sampled_from(PROVIDER_IDS), CPU),
    st.builds(
        _claim,
        NAMES,
        st.sampled_from(PROVIDER_IDS),
        st.integers(0, 3),
        st.booleans(),
        st.sampled_from(("default", "other")),
    ),
    st.builds(
        _pod,
        st.sampled_from(("p", "q", "r")),
        st.sampled_from(("a", "b", "a", "b", "c", "")),
        CPU,
        st.sampled_from(("", "", "Failed")),
        st.sampled_from(("ReplicaSet", "DaemonSet")),
        st.sampled_from(("a", "apart")),
    ),
)
OBJECTS = st.one_of(
    MACHINES,
    MACHINES,
    st.builds(_plain, st.sampled_from(("PersistentVolumeClaim", "PodDisruptionBudget", "Namespace")), NAMES),
    st.builds(
        lambda name, count: _plain(
            "CSINode", name, spec={"drivers": [{"name": "disk", "allocatable": {"count": count}}]}
        ),
        NAMES,
        st.integers(0, 2),
    ),
    st.builds(lambda name, cpu: make_nodepool(name, limits={"cpu": cpu}), NAMES, CPU),
    st.builds(lambda name, price: make_overlay(name, price=price), NAMES, st.sampled_from(("1", "2", "cheap"))),
    st.builds(lambda name, cpu: make_daemon_set(name, requests={"cpu": cpu}), NAMES, CPU),
    st.builds(_selecting, NAMES, st.sampled_from(("Service", "ReplicaSet")), st.sampled_from(("x", "y", "", None))),
)
EVENTS = st.tuples(st.sampled_from(tuple(EventType)), OBJECTS, st.booleans(), st.booleans())


@given(st.lists(EVENTS, max_size=30))
def test_any_story_ends_in_the_state_of_its_last_page(story: list[tuple[EventType, Json, bool, bool]]) -> None:
    """Every picture taken on the way keeps showing its own page, and what is remembered from it never shows later."""
    state = ClusterState()
    last: dict[tuple[str, str], Json] = {}
    pictures = []
    for type_, obj, look, decoded in story:
        (found,) = read_objects(json.dumps(obj).encode())
        state.apply(WatchEvent(type_, KINDS[obj["kind"]], found.object if decoded else obj))
        key = (obj["kind"], obj["metadata"]["name"])
        if type_ is EventType.DELETED:
            last.pop(key, None)
        else:
            last[key] = obj
        if look:
            pictures.append((state.snapshot(), dict(last)))
    pictures.append((state.snapshot(), last))

    for snapshot, page in pictures:
        fresh = ClusterState()
        for key in sorted(page):
            fresh.apply(WatchEvent(EventType.ADDED, KINDS[key[0]], page[key]))
        assert _told(snapshot) == _told(fresh.snapshot())
    assert set(state.unreadable) == set(fresh.unreadable)


def _told(snapshot: Snapshot) -> Mapping[str, Any]:
    return {
        "leaving": [view.name for view in snapshot.nodes.leaving],
        "to place": sorted(pod.key for pod in snapshot.to_place),
        "budgets": [budget.metadata.name for budget in snapshot.budgets],
        "namespaces": dict(snapshot.namespaces),
        "volumes": (dict(snapshot.storage.claims), dict(snapshot.storage.limits)),
        "found": {view.name: snapshot.node(view.name) is not None for view in snapshot.nodes},
        "nodes": [_view(view) for view in snapshot.nodes],
        "pending": [pod.key for pod in snapshot.pending],
        "pools": [(pool.name, pool.limits) for pool in snapshot.pools],
        "invalid": sorted(pool.name for pool in snapshot.invalid_pools),
        "overlays": snapshot.overlays,
        "daemons": [daemon_set.metadata.name for daemon_set in snapshot.daemon_sets],
        "services": [snapshot.workloads.service_labels("default", {"app": app}) for app in "xy"],
        "daemon pods": dict(snapshot.daemon_pods),
        "assigned": dict(snapshot.assignments),
        "classes": dict(snapshot.node_classes),
        "disks": (dict(snapshot.storage.volumes), dict(snapshot.storage.classes)),
        "fleets": {
            pool: ([view.name for view in fleet.machines], fleet.held, fleet.counted, fleet.disrupted)
            for pool, fleet in snapshot.nodes.fleets.items()
        },
        "owners": [
            snapshot.workloads.selector_of("default", OwnerReference("ReplicaSet", name, "", "apps/v1"))
            for name in "ab"
        ],
    }


def _view(view: NodeView) -> tuple[Any, ...]:
    parts = (view.claim.name if view.claim else None, view.node.name if view.node else None)
    pods = sorted(view.pods, key=lambda pod: pod.key)
    decided = (view.marked_for_deletion, view.nominated_until, view.is_ending)
    amounts = (view.allocatable, view.used, view.daemon_used, view.available)
    around = (dict(view.pod_groups), sorted(pod.key for pod in view.keeping_apart))
    return (view.name, view.is_initialized, view.is_leaving, decided, parts, pods, amounts, around)


# By watches that lag behind each other, stammer, break, and are made good by lists


class Server:
    """What is there, by kind and key, and what was told of it to each watch and not asked for yet."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Kind, str], Json] = {}
        self.told: dict[Kind, list[WatchEvent]] = {}
        self.broken: set[Kind] = set()
        self.revision = 0

    def write(self, obj: Json) -> Json:
        """Create the object, or write it over the one of its name."""
        kind, key = KINDS[obj["kind"]], key_of(obj)
        self.revision += 1
        known = self.objects.get((kind, key))
        uid = known["metadata"]["uid"] if known is not None else f"uid-{self.revision}"
        obj = {**obj, "metadata": {**obj["metadata"], "uid": uid, "resourceVersion": str(self.revision)}}
        self.objects[kind, key] = obj
        self._tell(EventType.ADDED if known is None else EventType.MODIFIED, kind, obj)
        return obj

    def delete(self, obj: Json) -> None:
        kind = KINDS[obj["kind"]]
        known = self.objects.pop((kind, key_of(obj)), None)
        if known is not None:
            self.revision += 1
            last = {**known, "metadata": {**known["metadata"], "resourceVersion": str(self.revision)}}
            self._tell(EventType.DELETED, kind, last)

    def _tell(self, type_: EventType, kind: Kind, obj: Json) -> None:
        self.told.setdefault(kind, []).append(WatchEvent(type_, kind, obj))

    # As a client

    def list(self, kind: Kind) -> ObjectList:
        self.told[kind] = []
        return ObjectList(tuple(obj for (of, _), obj in self.objects.items() if of == kind), str(self.revision))

    def watch(self, kind: Kind, _resource_version: str) -> Line:
        return Line(self, kind)


class Line:
    """A watch that gives one event at a time."""

    def __init__(self, server: Server, kind: Kind) -> None:
        self._server = server
        self._kind = kind

    def poll(self) -> list[WatchEvent]:
        if self._kind in self._server.broken:
            self._server.broken.discard(self._kind)
            raise KubeError("too old", code=410, reason="Expired")
        waiting = self._server.told.get(self._kind, [])
        return [waiting.pop(0)] if waiting else []

    def stop(self) -> None: ...


class Follower:
    """A state that is fed by a reflector for each kind, and by a controller that takes in what it wrote itself."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.state = ClusterState()
        self.state.expect(ClusterState.KINDS)
        self.marked: set[str] = set()
        self.nominated: dict[str, float] = {}
        self.assigned: dict[str, str] = {}
        self._last: WatchEvent | None = None
        self._ended: set[str] = set()
        self.answers: list[Json] = []
        client: Any = server
        self.reflectors = {kind: Reflector(client, kind, self.take, self.state.retain) for kind in ClusterState.KINDS}

    def live(self, step: str, what: Any) -> None:
        """One step of the story; a picture is taken after each."""
        acts: dict[str, Callable[[], object]] = {
            "write": lambda: self.write(what),
            "delete": lambda: self.server.delete(what),
            "poll": lambda: self.reflectors[what].poll(),
            "break": lambda: self.server.broken.add(what),
            "stammer": self.stammer,
            "answer": lambda: self.answer(what),
            "decide": lambda: self.decide(*what),
        }
        acts[step]()
        self.forget()
        self.state.snapshot()

    def write(self, obj: Json) -> None:
        obj = self.server.write(obj)
        if obj["kind"] == "NodeClaim":
            self.answers.append(obj)

    def take(self, event: WatchEvent) -> None:
        self.state.apply(event)
        self._last = event
        if event.type is EventType.DELETED:
            self._ended.add(event.object["metadata"]["uid"])

    def stammer(self) -> None:
        """The last event comes once more."""
        if self._last is not None:
            self.state.apply(self._last)

    def answer(self, number: int) -> None:
        """The answer to some earlier write of a claim comes in, however late; of one that ended when that was told."""
        known = [obj for obj in self.answers if self._is_known_of(obj)]
        if known:
            self.state.apply(WatchEvent(EventType.MODIFIED, KINDS["NodeClaim"], known[number % len(known)]))

    def _is_known_of(self, obj: Json) -> bool:
        there = self.server.objects.get((KINDS["NodeClaim"], obj["metadata"]["name"]))
        uid = obj["metadata"]["uid"]
        return uid in self._ended or (there is not None and there["metadata"]["uid"] == uid)

    def decide(self, name: str, number: int) -> None:
        if self.state.claim(name) is None:
            return
        if number % 3 == 0:
            self.state.mark_for_deletion([name])
            self.marked.add(name)
        elif number % 3 == 1:
            self.state.unmark_for_deletion([name])
            self.marked.discard(name)
        else:
            self.state.nominate(name, (), until=float(number))
            self.nominated[name] = max(float(number), self.nominated.get(name, 0.0))

    def forget(self) -> None:
        """What was decided about claims ends with them."""
        self.marked = {name for name in self.marked if self.state.claim(name) is not None}
        self.nominated = {n: until for n, until in self.nominated.items() if self.state.claim(n) is not None}


MAINLY = st.sampled_from((KINDS["Pod"], KINDS["Node"], KINDS["NodeClaim"]))
STEPS = st.one_of(
    *(st.tuples(st.just("write"), objects) for objects in (MACHINES, MACHINES, OBJECTS)),
    st.tuples(st.just("delete"), OBJECTS),
    *(st.tuples(st.just("poll"), kinds) for kinds in (MAINLY, MAINLY, st.sampled_from(ClusterState.KINDS))),
    st.tuples(st.just("break"), MAINLY),
    st.tuples(st.just("stammer"), st.none()),
    st.tuples(st.just("answer"), st.integers(0, 9)),
    st.tuples(st.just("decide"), st.tuples(NAMES, st.integers(0, 9))),
)


@pytest.mark.core("CORE-476", "CORE-483")
@given(st.lists(STEPS, min_size=40, max_size=80))
def test_watches_that_lag_stammer_and_break_end_in_the_state_of_what_is_there(steps: list[tuple[str, Any]]) -> None:
    """A state that saw it all come and go is the one that was made anew of what is left: sums, sets and indexes too."""
    server = Server()
    follower = Follower(server)
    for step, what in steps:
        follower.live(step, what)
    while any(reflector.poll() for reflector in follower.reflectors.values()) or server.broken:
        follower.forget()
    follower.forget()

    state, fresh = follower.state, ClusterState()
    for kind, key in sorted(server.objects, key=lambda each: (each[0].kind, each[1])):
        fresh.apply(WatchEvent(EventType.ADDED, kind, server.objects[kind, key]))
    fresh.mark_for_deletion(follower.marked)
    for name, until in follower.nominated.items():
        fresh.nominate(name, (), until=until)
    assert state.is_synced
    assert _told(state.snapshot()) == _told(fresh.snapshot())
    assert set(state.unreadable) == set(fresh.unreadable)
    for kind in (KINDS["Node"], KINDS["NodeClaim"]):
        assert state.versions(kind) == fresh.versions(kind)
    for pool in ("default", "other", ""):
        assert state.held_by(pool) == fresh.held_by(pool)
