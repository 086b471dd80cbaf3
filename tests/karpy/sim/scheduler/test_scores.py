from __future__ import annotations

from tests.karpy.sim.scheduler.scenes import Scene, node, pod


def test_the_emptier_node_wins() -> None:
    scene = Scene(node("n1"), node("n2")).holds("n1", pod(cpu="1", memory="4Gi"))
    assert scene.best(pod(cpu="1", memory="4Gi")) == ("n2",)


def test_equal_nodes_tie() -> None:
    assert Scene(node("n1"), node("n2"), node("n3")).best(pod()) == ("n1", "n2", "n3")


def test_the_node_whose_cpu_and_memory_are_used_alike_wins() -> None:
    scene = Scene(node("n1", cpu="4", memory="4Gi"), node("n2", cpu="4", memory="4Gi"))
    scene.holds("n1", pod(app="y", cpu="2", memory="0")).holds("n2", pod(app="y", cpu="0", memory="2Gi"))
    assert scene.best(pod(cpu="0", memory="1Gi")) == ("n1",)


def test_taints_that_only_discourage_cost_score() -> None:
    scene = Scene(node("n1", taints=[{"key": "k", "effect": "PreferNoSchedule"}]), node("n2"))
    assert scene.best(pod()) == ("n2",)
    assert scene.best(pod(tolerations=[{"key": "k", "operator": "Exists"}])) == ("n1", "n2")


def test_preferred_node_affinity_adds_its_weights() -> None:
    def wish(weight: int, disk: str) -> dict[str, object]:
        expression = {"key": "disk", "operator": "In", "values": [disk]}
        return {"weight": weight, "preference": {"matchExpressions": [expression]}}

    scene = Scene(node("n1", labels={"disk": "hdd"}), node("n2", labels={"disk": "ssd"}))
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [wish(10, "hdd"), wish(30, "ssd")]}
    assert scene.best(pod(affinity={"nodeAffinity": preferred})) == ("n2",)
