"""The state of a large cluster: how fast events are taken in, as watches give them, and how soon the next picture is there."""

from __future__ import annotations

import gc
import json
import statistics
from collections.abc import Iterator
from typing import Any

from clusters import TIME, Cluster
from measure import Measure, duration, rate, seconds

from karpy.objects.kinds import NODE, NODE_CLAIM, POD, Kind
from karpy.objects.lists import read_objects
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.testing.builders import make_claim

LARGE = Cluster(5_000, 150_000)
COMING, NEWS, PICTURES = 500, 2_500, 200

Json = dict[str, Any]


def measures() -> Iterator[Measure]:
    state = filled()
    name = f"state: {LARGE.nodes:,} nodes and {LARGE.pods:,} pods"
    life, news, beats = list(lives()), list(statuses()), list(heartbeats())
    gc.collect()
    gc.freeze()  # a watch lets go of what it told; here it is kept, for the next run
    for what, events in (
        ("events of pods that come and go", life),
        ("status of pods that run", news),
        ("heartbeats of nodes", beats),
    ):
        yield rate(f"{name}, {what}", "events/s", len(events), lambda told=events: take_in(state, told))
    for what, events in (("pod", news), ("node", beats), ("claim", list(claims()))):
        yield duration(f"{name}, picture after a {what}'s event", lambda told=events: picture(state, told))


def filled() -> ClusterState:
    """A cluster, half of whose nodes have a claim."""
    state = ClusterState()
    for kind, page in LARGE.pages():
        for found in read_objects(page):
            state.apply(WatchEvent(EventType.ADDED, kind, found.object))
    take_in(state, list(claims()))
    assert len(state.snapshot().nodes) == LARGE.nodes
    return state


def take_in(state: ClusterState, events: list[WatchEvent]) -> None:
    for event in events:
        state.apply(event)


def picture(state: ClusterState, events: list[WatchEvent]) -> float:
    """Seconds from an event to what a decider first asks of the picture after it: the median of many."""
    state.snapshot()

    def look(event: WatchEvent) -> None:
        state.apply(event)
        assert state.snapshot().to_place == ()

    return statistics.median(seconds(lambda told=event: look(told)) for event in events[:PICTURES])


# What watches tell: each object parsed from JSON of its own


def lives() -> Iterator[WatchEvent]:
    """Pods from their creation to their end, those of a node one after the other, as in a rollout."""
    for number in range(COMING):
        up = json.loads(LARGE.pod(LARGE.pods + number))
        for version, (type_, obj) in enumerate(life(up)):
            obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(10**7 + version)}}
            yield told(type_, POD, obj)


def life(up: Json) -> Iterator[tuple[EventType, Json]]:
    """What becomes of a pod that is up at some time."""
    spec, status = up["spec"], up["status"]
    conditions = {condition["type"]: condition for condition in status["conditions"]}
    scheduled = conditions["PodScheduled"]
    not_ready = [{**each, "status": "False"} if "Ready" in name else each for name, each in conditions.items()]
    unplaced = {key: value for key, value in spec.items() if key != "nodeName"}
    waiting = {"phase": "Pending", "qosClass": status["qosClass"]}
    ends = {**up["metadata"], "deletionTimestamp": TIME % {"hour": 9, "minute": 0, "second": 0}}
    yield EventType.ADDED, {**up, "spec": unplaced, "status": waiting}
    yield EventType.MODIFIED, {**up, "status": {**waiting, "conditions": [scheduled]}}
    yield EventType.MODIFIED, {**up, "status": {**status, "phase": "Pending", "conditions": not_ready}}
    yield EventType.MODIFIED, up
    yield EventType.MODIFIED, {**up, "metadata": ends}
    yield EventType.MODIFIED, {**up, "metadata": ends, "status": {**status, "conditions": not_ready}}
    yield EventType.DELETED, {**up, "metadata": ends, "status": {**status, "conditions": not_ready}}


def statuses() -> Iterator[WatchEvent]:
    """Of pods all over the cluster: all of each pod is told, and next to nothing of it is new."""
    for number in range(NEWS):
        pod = json.loads(LARGE.pod(number * 47 % LARGE.pods))
        pod["status"]["containerStatuses"][0]["restartCount"] = 1
        yield told(EventType.MODIFIED, POD, pod)


def heartbeats() -> Iterator[WatchEvent]:
    for number in range(NEWS):
        node = json.loads(LARGE.node(number * 2))
        for condition in node["status"]["conditions"]:
            condition["lastHeartbeatTime"] = "2026-11-22T00:05:00Z"
        yield told(EventType.MODIFIED, NODE, node)


def claims() -> Iterator[WatchEvent]:
    for number in range(0, LARGE.nodes, 2):
        node = json.loads(LARGE.node(number))
        claim = make_claim(f"claim-{number:05d}")
        claim["status"] |= {"providerID": node["spec"]["providerID"], "nodeName": node["metadata"]["name"]}
        yield told(EventType.MODIFIED, NODE_CLAIM, claim)


def told(type_: EventType, kind: Kind, obj: Json) -> WatchEvent:
    return WatchEvent(type_, kind, json.loads(json.dumps(obj)))
