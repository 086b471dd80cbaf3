from __future__ import annotations

from karpy.resources import CPU, PODS
from karpy.sim.scheduler.nodes import Nodes, PlacedPod
from karpy.sim.scheduler.shape import Shapes
from tests.karpy.sim.scheduler.scenes import affinity, node, pod

KEY = ("default", "a")


def test_a_placed_pod_takes_room_until_it_is_forgotten() -> None:
    nodes, shape = Nodes(), Shapes().of(pod(cpu="500m"))
    nodes.describe(node("n1"))
    nodes.place(PlacedPod(KEY, shape, "n1"))
    picture = nodes.get("n1")
    assert picture is not None
    assert (picture.requested[CPU], picture.requested[PODS]) == (500, 1)
    nodes.forget(KEY)
    assert (picture.requested[CPU], picture.requested[PODS]) == (0, 0)
    assert nodes.forget(KEY) is None


def test_placing_again_counts_once_and_a_move_counts_at_the_new_place() -> None:
    nodes, shape = Nodes(), Shapes().of(pod(cpu="500m"))
    nodes.describe(node("n1"))
    nodes.describe(node("n2"))
    assert nodes.place(PlacedPod(KEY, shape, "n1"))
    assert not nodes.place(PlacedPod(KEY, shape, "n1"))
    assert nodes.place(PlacedPod(KEY, shape, "n2"))
    first, second = nodes.get("n1"), nodes.get("n2")
    assert first is not None
    assert second is not None
    assert (first.requested[CPU], second.requested[CPU]) == (0, 500)


def test_pods_may_be_known_before_their_node() -> None:
    nodes = Nodes()
    nodes.place(PlacedPod(KEY, Shapes().of(pod(cpu="500m")), "n1"))
    assert len(nodes) == 0
    nodes.describe(node("n1"))
    picture = nodes.get("n1")
    assert picture is not None
    assert picture.requested[CPU] == 500


def test_a_node_that_leaves_and_returns_still_holds_its_pods() -> None:
    nodes = Nodes()
    nodes.describe(node("n1"))
    nodes.place(PlacedPod(KEY, Shapes().of(pod(cpu="500m")), "n1"))
    nodes.remove("n1")
    assert len(nodes) == 0
    nodes.describe(node("n1"))
    picture = nodes.get("n1")
    assert picture is not None
    assert list(picture.pods) == [KEY]


def test_only_what_decides_placement_counts_as_a_change_of_a_node() -> None:
    nodes, described = Nodes(), node("n1")
    assert nodes.describe(described)
    conditions = {**described["status"], "conditions": [{"type": "Ready", "status": "True"}]}
    assert not nodes.describe({**described, "status": conditions})
    assert nodes.describe({**described, "spec": {"unschedulable": True}})


def test_counts_of_selected_pods_stay_true_while_pods_come_and_go() -> None:
    nodes, shapes = Nodes(), Shapes()
    nodes.describe(node("n1"))
    selects = lambda labels: labels.get("app") == "x"  # noqa: E731
    counts = nodes.count(selects, "default")
    nodes.place(PlacedPod(KEY, shapes.of(pod(app="x")), "n1"))
    nodes.place(PlacedPod(("default", "b"), shapes.of(pod(app="y")), "n1"))
    nodes.place(PlacedPod(("other", "c"), shapes.of(pod(app="x", namespace="other")), "n1"))
    assert counts["n1"] == 1
    nodes.place(PlacedPod(KEY, shapes.of(pod(app="x")), "n1", is_deleting=True))
    assert not counts
    assert nodes.count(selects, "default") is counts


def test_nodes_with_pods_that_attract_or_repel_are_known() -> None:
    nodes, shapes = Nodes(), Shapes()
    nodes.describe(node("n1"))
    nodes.place(PlacedPod(KEY, shapes.of(pod(affinity=affinity("x", "zone"))), "n1"))
    assert list(nodes.with_terms) == ["n1"]
    nodes.forget(KEY)
    assert not nodes.with_terms


def test_every_change_raises_the_generation() -> None:
    nodes, shape = Nodes(), Shapes().of(pod())
    seen = [nodes.generation]
    for change in (
        lambda: nodes.describe(node("n1")),
        lambda: nodes.place(PlacedPod(KEY, shape, "n1")),
        lambda: nodes.forget(KEY),
        lambda: nodes.remove("n1"),
    ):
        change()
        seen.append(nodes.generation)
    assert seen == sorted(set(seen))
