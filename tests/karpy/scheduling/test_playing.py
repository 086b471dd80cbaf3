"""kube-scheduler on paper: which pods go where on machines that come up together, and who finds no place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.batch import Batch
from karpy.scheduling.ground import Ground
from karpy.scheduling.playing import Played, play, play_in_turn
from karpy.scheduling.policy import Policy
from karpy.scheduling.run import Run
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_node, make_pod

Json = dict[str, Any]
APART = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "apart"}}}


def nodes(*zones: str, cpu: str = "4") -> list[Json]:
    room = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return [
        make_node(f"n{number}", labels={labels.ZONE: zone, labels.HOSTNAME: f"n{number}"}, room=room)
        for number, zone in enumerate(zones)
    ]


def pods(name: str, count: int, cpu: str, **spec: Any) -> list[Json]:
    asked = {"cpu": cpu, "memory": "1Gi"}
    return [make_pod(f"{name}-{n}", requests=asked, labels={"app": name}, spec=spec) for n in range(count)]


def played(*objects: Json, in_turn: bool = False) -> Played:
    """The pods wait in the order in which they are given."""
    snapshot = Snapshot.from_objects(objects)
    catalog, policy = make_catalog(snapshot), Policy(respect_preferences=False)
    queue = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "Pod"]
    in_order = sorted(snapshot.pending, key=lambda pod: queue.index(pod.metadata.name))
    batch = Batch.read(snapshot, catalog, snapshot.pending, policy)
    run = Run(Ground(snapshot, catalog, policy, snapshot.pending), batch, policy)
    return (play_in_turn if in_turn else play)(run, snapshot.nodes, in_order)


def on(found: Played, app: str = "") -> dict[str, int]:
    """How many pods (of that app) went to which node."""
    counts = {view.name: sum(pod.metadata.name.startswith(app) for pod in there) for view, there in found.on.items()}
    return dict(sorted((name, count) for name, count in counts.items() if count))


def left(found: Played) -> Counter[str]:
    return Counter(pod.metadata.name.rpartition("-")[0] for pod in found.left)


def test_pods_go_where_most_is_free() -> None:
    found = played(*nodes("a", "a"), *pods("plain", 6, "500m"))
    assert on(found) == {"n0": 3, "n1": 3}
    assert not found.left


def test_a_large_machine_takes_more_than_a_small_one() -> None:
    small, large = nodes("a"), nodes("a", "a", cpu="16")[1:]
    found = played(*small, *large, *pods("plain", 10, "1"))
    assert on(found) == {"n0": 2, "n1": 8}


def test_who_can_go_to_one_machine_only_finds_it_full_of_others_who_came_before() -> None:
    here = {"nodeSelector": {labels.ZONE: "a"}}
    found = played(*nodes("a", "b"), *pods("plain", 6, "1"), *pods("bound", 1, "2", **here))
    assert left(found) == {"bound": 1}
    assert not played(*nodes("a", "b"), *pods("bound", 1, "2", **here), *pods("plain", 6, "1")).left


def test_large_pods_find_gaps_everywhere_and_room_nowhere() -> None:
    found = played(*nodes("a", "a"), *pods("plain", 4, "1"), *pods("large", 1, "3"))
    assert left(found) == {"large": 1}


def test_one_of_a_kind_on_each_host() -> None:
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}}
    found = played(*nodes("a", "a"), *pods("apart", 3, "1", **apart))
    assert on(found) == {"n0": 1, "n1": 1}
    assert left(found) == {"apart": 1}


def test_spread_over_zones_counts() -> None:
    term = {"maxSkew": 1, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread = [{**term, "labelSelector": {"matchLabels": {"app": "spread"}}}]
    found = played(*nodes("a", "a", "b"), *pods("spread", 5, "100m", topologySpreadConstraints=spread))
    assert on(found)["n2"] == 2
    assert not found.left


def test_who_wants_to_be_near_somebody_is_tried_again_once_he_is_there() -> None:
    near = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "leader"}}}
    beside = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}
    leads = {"nodeSelector": {labels.ZONE: "b"}}
    found = played(*nodes("a", "b"), *pods("follower", 2, "1", **beside), *pods("leader", 1, "1", **leads))
    assert on(found) == {"n1": 3}


def test_taints_keep_pods_away() -> None:
    tainted = make_node("t", taints=[{"key": "mine", "effect": "NoSchedule"}])
    found = played(*nodes("a"), tainted, *pods("plain", 5, "1"))
    assert on(found) == {"n0": 4}
    assert left(found) == {"plain": 1}


def test_a_host_port_is_had_once() -> None:
    ported = [make_pod(f"port-{n}", spec={"containers": [_with_port()]}) for n in range(3)]
    found = played(*nodes("a", "a"), *ported)
    assert left(found) == {"port": 1}


def _with_port() -> Json:
    return {"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}


@pytest.mark.parametrize("count", [3, 5, 9])
def test_one_after_another_the_first_machine_is_filled_before_the_next_is_up(count: int) -> None:
    found = played(*nodes("a", "a", "a"), *pods("plain", count, "1"), in_turn=True)
    assert list(on(found).values()) == [4] * (count // 4) + ([count % 4] if count % 4 else [])


def test_one_after_another_the_queue_counts() -> None:
    large_last = [*nodes("a", "a"), *pods("plain", 4, "1"), *pods("large", 1, "3")]
    assert not played(*large_last, in_turn=True).left
    two_large = [*nodes("a", "a"), *pods("plain", 2, "1"), *pods("large", 2, "3")]
    assert left(played(*two_large, in_turn=True)) == {"large": 1}


def test_the_same_pods_in_the_same_order_go_the_same_ways() -> None:
    objects = [*nodes("a", "b", "c"), *pods("x", 7, "300m"), *pods("y", 7, "700m")]

    def names(found: Played) -> Sequence[object]:
        return [(view.name, [pod.metadata.name for pod in there]) for view, there in found.on.items()]

    assert names(played(*objects)) == names(played(*objects))
