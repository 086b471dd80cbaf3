"""Whatever stands in a field: an object is read, or refused in words that help; and it never stops the others.

One full object of each kind is built from the very types that it is decoded into, so that no field can be forgotten. Any part of
it is then replaced by any JSON, and it is taken through everything that reads it in production.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from karpy.cloud.instancetype import Catalog
from karpy.errors import InvalidObject, plain
from karpy.lifecycle.nodeclaim import next_step
from karpy.objects import kinds, nodeclaim, nodeoverlay, nodepool, provisioner
from karpy.objects.kinds import Kind
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodeoverlay import NodeOverlay
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.objects.provisioner import provisioner_to_pool
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.objects.workloads import (
    DaemonSet,
    Namespace,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from karpy.scheduling.constraints import constraints_of
from karpy.scheduling.scheduler import solve
from karpy.settings import Settings
from karpy.state.cluster import ClusterState
from karpy.testing import START, make_claim, make_instance_types, make_machine, make_node, make_nodepool, make_pod
from tests.karpy.disruption.deciding import next_command

Json = Any
Path = tuple[str | int, ...]

NAME = "fuzzed"
TIME = "2026-01-05T09:00:00Z"


class Reader(NamedTuple):
    """A kind: the types that its objects are decoded into, and how karpy reads one."""

    wire: type[Any]
    read: Any


READERS: Mapping[Kind, Reader] = {
    kinds.POD: Reader(Pod, Pod.from_dict),
    kinds.NODE: Reader(Node, Node.from_dict),
    kinds.NODE_CLAIM: Reader(nodeclaim._WireClaim, NodeClaim.from_dict),
    kinds.NODE_POOL: Reader(nodepool._WirePool, NodePool.from_dict),
    kinds.PROVISIONER: Reader(provisioner._Provisioner, provisioner_to_pool),
    kinds.DAEMON_SET: Reader(DaemonSet, DaemonSet.from_dict),
    kinds.POD_DISRUPTION_BUDGET: Reader(PodDisruptionBudget, PodDisruptionBudget.from_dict),
    kinds.NAMESPACE: Reader(Namespace, Namespace.from_dict),
    kinds.PERSISTENT_VOLUME_CLAIM: Reader(PersistentVolumeClaim, PersistentVolumeClaim.from_dict),
    kinds.PERSISTENT_VOLUME: Reader(PersistentVolume, PersistentVolume.from_dict),
    kinds.STORAGE_CLASS: Reader(StorageClass, StorageClass.from_dict),
    kinds.CSI_NODE: Reader(CSINode, CSINode.from_dict),
    kinds.VOLUME_ATTACHMENT: Reader(VolumeAttachment, VolumeAttachment.from_dict),
    kinds.NODE_OVERLAY: Reader(nodeoverlay._WireOverlay, NodeOverlay.from_dict),
    kinds.SERVICE: Reader(Service, Service.from_dict),
    kinds.REPLICATION_CONTROLLER: Reader(ReplicationController, ReplicationController.from_dict),
    kinds.REPLICA_SET: Reader(ReplicaSet, ReplicaSet.from_dict),
    kinds.STATEFUL_SET: Reader(StatefulSet, StatefulSet.from_dict),
}

# Texts that a field of this name can hold, where not any text will do.
TEXTS = {
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "startTime"), TIME),
    "lastPodEventTime": TIME,
    "operator": "In",
    "price": "1",
    "key": "team",
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "effect": "NoSchedule",
    "status": "True",
    "nodes": "10%",
    "schedule": "@daily",
    "duration": "1h",
    "consolidationPolicy": "WhenEmpty",
    **dict.fromkeys(("consolidateAfter", "expireAfter", "terminationGracePeriod"), "1h"),
    "claimName": NAME,
    "volumeName": NAME,
    "storageClassName": NAME,
    "name": NAME,
    "namespace": "default",
    "group": "test.karpy.dev",
    "kind": "TestNodeClass",
}
AMOUNTS = {"cpu": "1", "memory": "1Gi"}
DEVICE = "acme.com/device"


def full(form: inspect.Type, name: str = "") -> Json:
    """A value of this form with every field that it can have."""
    if isinstance(form, inspect.UnionType):
        return full(next(each for each in form.types if not isinstance(each, inspect.NoneType)), name)
    if isinstance(form, inspect.StructType):
        return {field.encode_name: full(field.type, field.encode_name) for field in form.fields}
    if isinstance(form, inspect.VarTupleType):
        return [full(form.item_type, "value" if name == "values" else name)]
    if isinstance(form, inspect.DictType):
        amounts = isinstance(form.value_type, inspect.UnionType)
        return dict(AMOUNTS) if amounts else {"team": full(form.value_type)}
    if isinstance(form, inspect.AnyType):
        return {"any": [1, "thing"]}
    if isinstance(form, inspect.BoolType):
        return True
    if isinstance(form, inspect.IntType | inspect.FloatType):
        return 1
    assert isinstance(form, inspect.StrType), form
    return TEXTS.get(name, "a")


@functools.cache
def _sample(kind: Kind) -> bytes:
    found = full(inspect.type_info(READERS[kind].wire))
    found = {"apiVersion": kind.api_version, "kind": kind.kind, **found}
    if not kind.namespaced:
        del found["metadata"]["namespace"]
    for exclusive in _EXCLUSIVE.get(kind, ()):
        _delete(found, exclusive)
    return json.dumps(found).encode()


# Fields that exclude others, or that would keep the object from being looked at at all.
_EXCLUSIVE: Mapping[Kind, tuple[Path, ...]] = {
    kinds.PROVISIONER: (("spec", "provider"), ("spec", "ttlSecondsAfterEmpty")),
    kinds.POD: (("metadata", "deletionTimestamp"), ("spec", "nodeName"), ("status", "nominatedNodeName")),
    kinds.NODE: (("metadata", "deletionTimestamp"),),
    kinds.NODE_POOL: (("metadata", "deletionTimestamp"), ("spec", "replicas")),
    kinds.PERSISTENT_VOLUME_CLAIM: (("metadata", "deletionTimestamp"),),
    kinds.PERSISTENT_VOLUME: (("metadata", "deletionTimestamp"),),
    kinds.NODE_OVERLAY: (("spec", "priceAdjustment"),),
}


def sample(kind: Kind) -> dict[str, Json]:
    """An object with every field that karpy knows, and which it can read."""
    found: dict[str, Json] = json.loads(_sample(kind))
    if kind == kinds.POD:
        found["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": TIME}
        ]
        found["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": NAME}}]
    if kind == kinds.NODE_OVERLAY:
        found["spec"]["capacity"] = {DEVICE: "1"}
    return found


def _delete(value: Json, path: Path) -> None:
    for step in path[:-1]:
        value = value[step]
    del value[path[-1]]


def paths(value: Json, path: Path = ()) -> Iterator[Path]:
    """Every place in a JSON value, the whole included."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in entries:
        yield from paths(inner, (*path, step))


def replaced(value: Json, path: Path, new: Json) -> Json:
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = replaced(value[path[0]], path[1:], new)
    return value


def renamed(value: Json, path: Path, key: str) -> Json:
    """The same with another key in the place of the last of the path."""
    if len(path) == 1:
        return {key if old == path[0] else old: inner for old, inner in value.items()}
    value = copy.copy(value)
    value[path[0]] = renamed(value[path[0]], path[1:], key)
    return value


def nested(depth: int) -> Json:
    value: Json = "bottom"
    for level in range(depth):
        value = [value] if level % 2 else {"deeper": value}
    return value


TEXT = st.text(st.characters(), max_size=6) | st.text("0123456789.-+eEkMGimnu%smh:TZ/", max_size=8)
ODD_TEXTS = (
    "",
    "\ud800",
    "a\ud800",
    "\0",
    "é",
    "١",
    "NaN",
    "-1",
    "0",
    "1e999",
    "9" * 5000,
    "x" * 70_000,
    "Never",
    "🦆" * 70,
)
ODD_NUMBERS = (
    0,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    2**64,
    10**400,
    0.0,
    -0.5,
    1e300,
    float("nan"),
    float("inf"),
    -float("inf"),
)
WORDS = (
    "Gt",
    "Lt",
    "NotIn",
    "Exists",
    "DoesNotExist",
    "In",
    "Equal",
    "Honor",
    "Ignore",
    "ScheduleAnyway",
    "Always",
    TIME,
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from((*ODD_TEXTS, *ODD_NUMBERS, *WORDS))
)
DEEP = st.sampled_from((30, 3_000, 100_000)).map(nested)
ANY = (
    SCALARS
    | st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2), max_leaves=4
    )
    | DEEP
)


@st.composite
def broken(draw: st.DrawFn, kind: Kind) -> Json:
    """The sample of a kind with one or two parts of it replaced, at any depth."""
    whole: Json = sample(kind)
    if kind == kinds.POD and draw(st.booleans()):
        whole["spec"]["nodeName"] = "machine"
    places = st.sampled_from([path for path in paths(whole) if path])
    first = draw(places)
    found = replaced(whole, first, draw(ANY))
    other = draw(st.none() | places)
    if other is not None and other[: len(first)] != first:
        is_key = isinstance(other[-1], str) and draw(st.booleans())
        found = renamed(found, other, draw(TEXT)) if is_key else replaced(found, other, draw(ANY))
    return found


def objects_around() -> list[tuple[Kind, Json]]:
    machines = [make_machine("machine", instance_type="c4"), make_machine("of-fuzzed", pool=NAME, instance_type="c4")]
    return [
        *((kinds.NODE_CLAIM, claim) for claim, _node in machines),
        *((kinds.NODE, node) for _claim, node in machines),
        *(
            (kind, sample(kind))
            for kind in READERS
            if kind not in (kinds.NODE_POOL, kinds.PROVISIONER, kinds.DAEMON_SET)
        ),
        (kinds.NODE_POOL, make_nodepool()),
        (kinds.NODE, make_node("plain")),
        (kinds.POD, make_pod("runs", node="plain", requests=AMOUNTS)),
        (kinds.POD, make_pod("waits", requests={"cpu": "6"})),
        (kinds.NODE_CLAIM, make_claim("coming", reached=("Launched",), instance_type="c4")),
        (kinds.POD, {**sample(kinds.POD), "metadata": {"name": "with-a-disk", "namespace": "default"}}),
    ]


AROUND = objects_around()
TYPES = make_instance_types()


def state_with(*more: tuple[Kind, Json]) -> ClusterState:
    state = ClusterState()
    for kind, obj in (*AROUND, *more):
        state.apply(WatchEvent(EventType.ADDED, kind, obj))
    return state


def decide(state: ClusterState) -> tuple[set[str], set[str]]:
    """Ask everything that decides; returns the pods that get a place, and those that get none."""
    snapshot = state.snapshot()
    catalog = Catalog({pool.name: TYPES for pool in snapshot.pools})
    plan = solve(snapshot, catalog)
    str(plan.launches), str(plan.unschedulable)
    next_command(snapshot, catalog, now=START)
    for view in snapshot.nodes:
        if view.claim is not None:
            next_step(
                view.claim,
                () if view.node is None else (view.node,),
                snapshot.pool(view.pool),
                now=START,
                settings=Settings(),
            )
    placed = {pod for part in (*plan.launches, *plan.nominations) for pod in part.pods}
    return placed, {pod for part in plan.unschedulable for pod in part.pods}


def test_every_kind_that_the_state_takes_in_is_put_to_the_test() -> None:
    assert set(READERS) == set(ClusterState.KINDS)


@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.kind)
def test_the_samples_hold_every_field_and_can_be_read(kind: Kind) -> None:
    READERS[kind].read(sample(kind))
    state = state_with((kind, sample(kind)))
    assert state.unreadable == {}
    assert state.invalid_pools() == ()
    placed, waiting = decide(state)
    assert "default/waits" in placed | waiting


def told(error: InvalidObject) -> None:
    """A complaint names the field, what was found and what is accepted, and fits on a screen."""
    assert error.path, error
    assert error.accepted, error
    assert error.problem, error
    assert str(error).isprintable(), ascii(str(error))
    assert len(str(error)) < 1_000, error


@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.kind)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_object_is_read_or_refused_and_never_stops_the_others(kind: Kind, data: st.DataObject) -> None:
    raw = data.draw(broken(kind))
    try:
        read = READERS[kind].read(raw)
        if isinstance(read, Pod):
            read.requests  # noqa: B018
            constraints_of(read)
    except InvalidObject as error:
        told(error)
    with contextlib.suppress(InvalidObject, RecursionError, UnicodeError):  # the last two: no JSON can be made of it
        READERS[kind].wire.from_dict(msgspec.json.encode(raw))

    state = state_with((kind, raw))
    for (of, key), error in state.unreadable.items():
        assert of == kind
        assert error.object_name == (f"{kind.kind}/{plain(key)}" if key else f"{kind.kind} without a name")
        told(error)
    for pool in state.invalid_pools():
        told(pool.error)
    placed, waiting = decide(state)
    known = {pod.key for pod in state.snapshot().pending}
    assert placed | waiting == known
    if state.unreadable or state.invalid_pools():
        assert "default/waits" in placed


@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.kind)
def test_null_in_an_optional_field_counts_as_absent(kind: Kind) -> None:
    whole = sample(kind)
    for path in paths(whole):
        if (
            path and isinstance(path[-1], str) and path[-1] not in ("team", "any", DEVICE, *AMOUNTS)
        ):  # an entry of a map is no field
            bare = copy.deepcopy(whole)
            _delete(bare, path)
            assert outcome(kind, replaced(whole, path, None)) == outcome(kind, bare)


def outcome(kind: Kind, raw: Json) -> Any:
    """What is read, or the path of what cannot be."""
    try:
        return READERS[kind].read(raw)
    except InvalidObject as error:
        return error.path
