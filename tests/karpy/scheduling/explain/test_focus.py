from __future__ import annotations

from typing import Any

from karpy import labels
from karpy.scheduling.aftermath import Aftermath
from karpy.scheduling.explain.focus import focused
from karpy.testing import make_daemon_set, make_node, make_pod
from tests.judge import plan_of

ZONE_A, ZONE_B = {labels.ZONE: "zone-a"}, {labels.ZONE: "zone-b"}


def focus(*objects: Any, spec: Any = None, cpu: str = "9") -> Aftermath:
    plan = plan_of(*objects, make_pod(requests={"cpu": cpu}, spec=spec, labels={"app": "x"}))
    assert plan.aftermath is not None
    return focused(plan.aftermath, plan.aftermath.pods["default/pod"])


def candidates(found: Aftermath) -> list[str]:
    return [view.name for view in found.snapshot.nodes]


def node(name: str, cpu: str = "4", pods: str = "9", **fields: Any) -> Any:
    return make_node(name, room={"cpu": cpu, "pods": pods}, **fields)


def about_x(key: str) -> Any:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def test_of_nodes_that_are_alike_to_the_pod_the_roomiest_stand_for_all() -> None:
    assert candidates(focus(node("a", "1"), node("b", "2"), node("c", "2", "5"), node("d", "1", "10"))) == ["b", "d"]


def test_nodes_differ_by_the_labels_that_the_pod_names_and_by_taints() -> None:
    nodes = [
        node("a", labels=ZONE_A),
        node("b", labels=ZONE_B),
        node("c", taints=[{"key": "x", "effect": "NoSchedule"}]),
    ]
    assert candidates(focus(*nodes)) == ["a", "c"]
    assert candidates(focus(*nodes, spec={"nodeSelector": {labels.ZONE: "zone-x"}})) == ["a", "b", "c"]


def test_room_is_counted_with_and_without_daemons_to_come() -> None:
    daemon = make_daemon_set(requests={"cpu": "2"}, spec={"nodeSelector": {"big": "yes"}})
    nodes = [node("a", "4", labels={"big": "yes"}), node("b", "3"), node("c", "1")]
    assert candidates(focus(*nodes, daemon)) == ["a", "b"]


def test_only_pods_that_matter_to_the_pod_are_counted() -> None:
    running = [make_pod("r", node="a", labels={"app": "x"}), make_pod("s", node="a"), make_pod("t", node="b")]
    nodes = [node("a", labels=ZONE_A), node("b", labels=ZONE_B), node("c", labels=ZONE_B)]
    found = focus(*nodes, *running, spec=about_x(labels.ZONE))
    assert [(view.name, [pod.key for pod in view.pods]) for view in found.counted.nodes] == [
        ("a", ["default/r"]),
        ("b", []),
    ]


def test_hosts_with_such_pods_on_them_are_kept_where_hosts_are_told_apart() -> None:
    running = make_pod("r", node="small", labels={"app": "x"})
    nodes = [node("big", "5"), node("small", "4"), node("smaller", "3")]
    assert candidates(focus(*nodes, running, spec=about_x(labels.HOSTNAME))) == ["big", "small"]


def test_a_pod_with_host_ports_is_tried_on_every_node() -> None:
    ports = {"containers": [{"name": "main", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "9"}}}]}
    assert candidates(focus(node("a", "1"), node("b", "2"), spec=ports)) == ["a", "b"]
