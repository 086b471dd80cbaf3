from __future__ import annotations

from karpy.resources import CPU, MEMORY
from karpy.sim.scheduler.shape import Shapes
from tests.karpy.sim.scheduler.scenes import affinity, pod


def test_pods_that_differ_only_in_name_share_a_shape() -> None:
    shapes = Shapes()
    assert shapes.of(pod("a")) is shapes.of(pod("b"))
    assert shapes.of(pod("a")) is not shapes.of(pod("a", cpu="200m"))
    assert shapes.of(pod("a")) is not shapes.of(pod("a", namespace="other"))


def test_a_container_that_asks_for_nothing_counts_a_little_for_scores_only() -> None:
    container = {"name": "c", "image": "i"}
    shape = Shapes().of({"metadata": {"name": "a"}, "spec": {"containers": [container, container]}})
    assert (shape.scored_cpu, shape.scored_memory) == (200, 2 * 200 * 2**20)
    assert shape.requests == {"pods": 1}


def test_requests_are_summed_over_containers() -> None:
    shape = Shapes().of(pod(cpu="1500m", memory="1Gi"))
    assert (shape.requests[CPU], shape.requests[MEMORY]) == (1500, 2**30)


def test_only_affinity_that_names_nodes_in_every_alternative_pins_the_pod() -> None:
    def named(*names: str) -> dict[str, object]:
        return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}

    def shape_of(*terms: dict[str, object]) -> frozenset[str] | None:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        return Shapes().of(pod(affinity={"nodeAffinity": required})).node_names

    assert shape_of(named("n1"), named("n2")) == {"n1", "n2"}
    other = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    assert shape_of(named("n1"), other) is None


def test_a_pod_that_attracts_or_repels_has_terms() -> None:
    shapes = Shapes()
    assert not shapes.of(pod()).has_terms
    assert shapes.of(pod(affinity=affinity("x", "zone", anti=True, weight=3))).has_terms
    (wish,) = shapes.of(pod(affinity=affinity("x", "zone", anti=True, weight=3))).preferences
    assert wish.weight == -3
