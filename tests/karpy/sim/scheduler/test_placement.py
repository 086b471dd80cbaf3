from __future__ import annotations

from tests.karpy.sim.scheduler.scenes import Scene, node, pod


def test_a_cluster_without_nodes_says_so() -> None:
    outcome = Scene().place(pod())
    assert (outcome.best, outcome.message) == ((), "no nodes available to schedule pods")


def test_a_pod_that_names_its_node_is_tried_there_alone() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    scene = Scene(node("n1"), node("n2"), node("n3"))
    pinned = pod(affinity={"nodeAffinity": required}, cpu="3")
    assert scene.best(pinned) == ("n2",)
    scene.holds("n2", pod(cpu="3"))
    assert scene.message(pinned) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_the_rules_that_refused_are_told() -> None:
    scene = Scene(node("n1", cpu="1"), node("n2", unschedulable=True))
    assert scene.place(pod(cpu="2")).plugins == {"NodeResourcesFit", "NodeUnschedulable"}


def test_of_many_nodes_only_a_share_is_compared_and_the_next_pod_starts_after_them() -> None:
    scene = Scene(*(node(f"n{i:03d}") for i in range(300)))
    first, second = scene.best(pod()), scene.best(pod())
    assert len(first) == len(second) == 144  # 48 % of 300
    assert not set(first) & set(second)
