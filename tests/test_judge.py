"""The judge itself is judged: a broken plan must not pass."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import Catalog
from karpy.scheduling.plan import Launch, Nomination, Plan, PricedType
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_daemon_set, make_machine, make_node, make_nodepool, make_pod, selector
from tests.judge import violations


@pytest.fixture
def cluster() -> tuple[Snapshot, Catalog]:
    taint = {"key": "gpu", "effect": "NoSchedule"}
    small = make_node("small", room={"cpu": "1", "pods": "9"})
    objects = [
        make_nodepool(limits={"cpu": "4"}),
        make_pod("p", requests={"cpu": "3"}),
        small,
        make_node("t", taints=[taint]),
    ]
    snapshot = Snapshot.from_objects(objects)
    return snapshot, make_catalog(snapshot)


def judge(cluster: tuple[Snapshot, Catalog], plan: Plan) -> list[str]:
    return violations(plan, *cluster, cluster[0].to_place)


def launch(cluster: tuple[Snapshot, Catalog]) -> Launch:
    (found,) = solve(cluster[0].without(["small", "t"]), cluster[1]).launches
    return found


def test_a_sound_plan_passes(cluster: tuple[Snapshot, Catalog]) -> None:
    assert judge(cluster, Plan(version=1, launches=(launch(cluster),))) == []


def test_a_forgotten_pod_is_missed(cluster: tuple[Snapshot, Catalog]) -> None:
    assert any("accounted" in text for text in judge(cluster, Plan(version=1)))


@pytest.mark.parametrize(("name", "price"), [("c2", 0.04), ("c16", 0.32), ("c4", 0.01)])
def test_a_type_too_small_too_large_for_the_limit_or_at_a_wrong_price_is_found(
    cluster: tuple[Snapshot, Catalog], name: str, price: float
) -> None:
    wrong = attrs.evolve(launch(cluster), instance_types=(PricedType(name, price),))
    assert judge(cluster, Plan(version=1, launches=(wrong,)))


@pytest.mark.parametrize("node", ["small", "t", "nowhere"])
def test_a_node_that_cannot_take_the_pod_is_found(cluster: tuple[Snapshot, Catalog], node: str) -> None:
    assert judge(cluster, Plan(version=1, nominations=(Nomination(node, ("default/p",), ("p-uid",)),)))


# Nodes that are there


def on(node: str, *names: str, uids: tuple[str, ...] | None = None) -> Nomination:
    return Nomination(node, tuple(f"default/{name}" for name in names), uids or tuple(f"{name}-uid" for name in names))


def told(objects: list[dict[str, Any]], *nominations: Nomination) -> list[str]:
    snapshot = Snapshot.from_objects(objects)
    return violations(Plan(version=1, nominations=nominations), snapshot, make_catalog(snapshot), snapshot.to_place)


ROOM = {"cpu": "2", "memory": "4Gi", "pods": "3"}


def pods(*names: str, **pod: Any) -> list[dict[str, Any]]:
    return [make_pod(name, requests={"cpu": "1"}, **pod) for name in names]


def test_room_that_is_given_out_twice_is_found() -> None:
    objects = [make_node("n", room=ROOM), *pods(*"pqr")]
    assert told([make_node("n", room=ROOM), *pods(*"pq")], on("n", "p", "q")) == []
    assert told(objects, on("n", "p", "q", "r"))
    assert told(objects, on("n", "p", "q"), on("n", "r"))  # as two nominations each would fit


def test_room_that_running_pods_hold_is_not_free() -> None:
    assert told([make_node("n", room=ROOM), *pods("r", node="n"), *pods("p")], on("n", "p")) == []
    assert told([make_node("n", room=ROOM), *pods("r", "s", node="n"), *pods("p")], on("n", "p"))


@pytest.mark.parametrize(
    ("where", "running", "sound"),
    [
        ({}, 0, False),  # it is still to come
        ({}, 1, False),  # it is there, and takes what it takes
        ({"nodeSelector": {"team": "x"}}, 0, True),
        ({"nodeSelector": {"team": "y"}}, 0, False),
    ],
)
def test_room_that_daemons_need_is_not_free(where: dict[str, Any], running: int, sound: bool) -> None:
    node = make_node("n", room=ROOM, labels={"team": "y"})
    daemon = make_daemon_set(requests={"cpu": "1"}, spec=where)
    there = [make_pod("d", node="n", owner="DaemonSet", requests={"cpu": "1"})][:running]
    assert told([node, daemon, *there, *pods("p")], on("n", "p")) == []
    assert (told([node, daemon, *there, *pods(*"pq")], on("n", "p", "q")) == []) is sound


def test_a_node_that_is_leaving_is_found() -> None:
    claim, node = make_machine("m", metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"})
    assert told([claim, node, *pods("p")], on("m", "p"))


@pytest.mark.parametrize(
    "affinity",
    [
        {"nodeSelectorTerms": []},
        {"nodeSelectorTerms": [{}]},
        {"nodeSelectorTerms": [{"matchExpressions": [selector("team", "In", "a"), selector("team", "NotIn", "a")]}]},
        {"nodeSelectorTerms": [{"matchExpressions": [selector("rank", "Gt", "3")]}]},
        {"nodeSelectorTerms": [{"matchExpressions": [selector("tier", "Exists")]}]},
    ],
)
def test_an_affinity_that_the_node_does_not_meet_is_found(affinity: dict[str, Any]) -> None:
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}}
    node = make_node("n", labels={"team": "a", "rank": "3"})
    assert any("may not run" in text for text in told([node, *pods("p", spec=spec)], on("n", "p")))


def test_another_pod_of_the_same_name_is_found() -> None:
    assert told([make_node("n"), *pods("p")], on("n", "p", uids=("of-before",)))


def test_a_pod_that_has_two_places_is_found() -> None:
    assert told([make_node("n"), make_node("m"), *pods("p")], on("n", "p"), on("m", "p"))


def test_a_pod_that_nobody_asked_about_is_found() -> None:
    assert told([make_node("n"), *pods("p")], on("n", "p", "stranger"))


# The judge is independent

VALUES = {"karpy.scheduling.plan"}


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("judge*.py")), ids=lambda path: path.stem)
def test_no_rule_of_the_judge_leans_on_the_solver(path: Path) -> None:
    imports = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom | ast.Import)]
    modules = {node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert {module for module in modules if module.startswith("karpy.scheduling")} <= VALUES
