"""Gauges are read off the cluster when somebody asks, and go with what they are about."""

from __future__ import annotations

import pytest

from karpy import gauges
from karpy.gauges import node_gauges
from karpy.labels import ZONE
from karpy.metrics import Metric
from karpy.objects import kinds
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, apps, pool
from tests.karpy.sim.manifests import deployment


@pytest.fixture
def stage() -> Stage:
    return Stage()


def series(stage: Stage, metric: Metric) -> list[dict[str, str]]:
    """The labels of everything that is shown of a metric now."""
    found = [family for family in stage.metrics.registry.collect() if family.name == metric.name]
    return [dict(sample.labels) for family in found for sample in family.samples]


def value(stage: Stage, metric: Metric, **labels: str) -> float:
    """The one value of the series that have these labels."""
    (found,) = [
        sample.value
        for family in stage.metrics.registry.collect()
        for sample in family.samples
        if sample.name == metric.name and labels.items() <= sample.labels.items()
    ]
    return float(found)


@pytest.mark.core("CORE-719")
def test_a_node_has_gauges_while_it_is_there(stage: Stage) -> None:
    nodes = node_gauges(stage.operator.clouds.labels.well_known)
    assert series(stage, nodes.allocatable) == []
    stage.grown(apps("web", 2, cpu="500m"))
    (node,) = stage.nodes
    name = node["metadata"]["name"]
    shown = series(stage, nodes.allocatable)
    assert {(each["node_name"], each["managed"], each["nodepool"]) for each in shown} == {(name, "true", "default")}
    assert {each["zone"] for each in shown} == {node["metadata"]["labels"][ZONE]}
    assert {each["resource_type"] for each in shown} == {"cpu", "memory", "pods", "ephemeral_storage"}
    assert value(stage, nodes.total_pod_requests, node_name=name, resource_type="cpu") == 1.0
    assert value(stage, nodes.total_pod_requests, node_name=name, resource_type="pods") == 2
    capacity = value(stage, nodes.allocatable, node_name=name, resource_type="memory")
    capacity += value(stage, nodes.system_overhead, node_name=name, resource_type="memory")
    assert capacity == stage.operator.state.snapshot().nodes[0].capacity["memory"]
    assert 0 < value(stage, nodes.current_lifetime, node_name=name) < 60
    stage.scale("web", 0)
    assert stage.until(lambda: not stage.nodes)
    assert series(stage, nodes.allocatable) == series(stage, nodes.current_lifetime) == []


@pytest.mark.core("CORE-719")
def test_a_node_of_somebody_else_is_not_managed(stage: Stage) -> None:
    stage.world.cloud.add_machine("s-2x-amd64", "sim-1a", stage.api.get(stage.operator.clouds.kinds[0], "default"))
    stage.run(60)
    nodes = node_gauges(stage.operator.clouds.labels.well_known)
    assert {each["managed"] for each in series(stage, nodes.current_lifetime)} == {"false"}


@pytest.mark.core("CORE-719")
def test_utilization_is_what_pods_reserve_of_what_nodes_have(stage: Stage) -> None:
    stage.grown(apps("web", 2, cpu="500m"))
    (view,) = stage.operator.state.snapshot().nodes
    shown = value(stage, gauges.CLUSTER_UTILIZATION, resource_type="cpu")
    assert shown == pytest.approx(100 * 1000 / view.allocatable["cpu"])


@pytest.mark.core("CORE-719")
def test_a_pod_has_a_gauge_that_says_where_it_is(stage: Stage) -> None:
    stage.grown(apps("web", 1))
    (shown,) = series(stage, gauges.PODS_STATE)
    (node,) = stage.nodes
    labels = node["metadata"]["labels"]
    assert shown["owner"].startswith("/apis/apps/v1/namespaces/default/replicasets/web-")
    assert shown["node"] == node["metadata"]["name"]
    assert (shown["scheduled"], shown["ready"], shown["phase"]) == ("true", "true", "Running")
    assert (shown["nodepool"], shown["managed"], shown["zone"]) == ("default", "true", labels[ZONE])
    stage.scale("web", 0)
    stage.run(60)
    assert series(stage, gauges.PODS_STATE) == []


@pytest.mark.core("CORE-719")
def test_a_pod_that_waits_shows_for_how_long(stage: Stage) -> None:
    stage.world.apply([apps("huge", 1, cpu="1000")])
    stage.run(30)
    assert (
        value(stage, gauges.PODS_UNBOUND_TIME) == value(stage, gauges.PODS_UNSTARTED_TIME) == pytest.approx(30, abs=2)
    )
    (shown,) = series(stage, gauges.PODS_STATE)
    assert (shown["scheduled"], shown["node"], shown["phase"]) == ("false", "", "Pending")
    stage.scale("huge", 0)
    stage.run(10)
    assert series(stage, gauges.PODS_UNBOUND_TIME) == series(stage, gauges.PODS_UNSTARTED_TIME) == []


@pytest.mark.core("CORE-719")
def test_how_long_a_pod_waited_is_observed_once(stage: Stage) -> None:
    stage.grown(deployment(replicas=2))
    stage.run(120)
    bound, started = "karpenter_pods_bound_duration_seconds", "karpenter_pods_startup_duration_seconds"
    registry = stage.metrics.registry
    assert registry.get_sample_value(f"{bound}_count") == registry.get_sample_value(f"{started}_count") == 2
    waited = (registry.get_sample_value(f"{bound}_sum") or 0) / 2
    assert 0 < waited < (registry.get_sample_value(started, {"quantile": "0"}) or 0) < 60
    assert series(stage, gauges.PODS_UNBOUND_TIME) == series(stage, gauges.PODS_UNSTARTED_TIME) == []


def test_a_pool_shows_what_it_may_have_has_costs_and_may_lose() -> None:
    limited = pool()
    limited["spec"]["limits"] = {"cpu": "100", "example.com/device": "3"}
    stage = Stage(limited)
    assert value(stage, gauges.NODEPOOLS_LIMIT, resource_type="cpu") == 100
    assert value(stage, gauges.NODEPOOLS_LIMIT, resource_type="example.com/device") == 3
    assert value(stage, gauges.NODEPOOLS_USAGE, resource_type="nodes") == 0
    assert value(stage, gauges.NODEPOOLS_COST, nodepool="default") == 0
    stage.grown()
    (view,) = stage.operator.state.snapshot().nodes
    assert value(stage, gauges.NODEPOOLS_USAGE, resource_type="cpu") == view.capacity["cpu"] / 1000
    assert value(stage, gauges.NODEPOOLS_USAGE, resource_type="nodes") == 1
    assert value(stage, gauges.NODEPOOLS_COST, nodepool="default") > 0
    for reason in ("Empty", "Underutilized", "Drifted"):
        assert value(stage, gauges.NODEPOOLS_ALLOWED_DISRUPTIONS, reason=reason) == 1
        assert value(stage, gauges.NODEPOOLS_CONSUMING_BUDGETS, reason=reason) == 0
    stage.api.delete(kinds.NODE_POOL, "default")
    stage.run(60)
    assert series(stage, gauges.NODEPOOLS_USAGE) == []


def test_gauges_of_objects_can_be_switched_off() -> None:
    stage = Stage(settings=Settings(cluster_state_observability=False))
    stage.grown()
    shown = {family.name for family in stage.metrics.registry.collect()}
    assert "karpenter_build_info" in shown
    assert not shown & {"karpenter_nodes_allocatable", "karpenter_pods_state", "karpenter_nodepools_usage"}
    assert not [name for name in shown if name.startswith("operator_")]


def test_what_nobody_asks_for_is_not_worked_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    real = stage.operator.state.pods
    monkeypatch.setattr(stage.operator.state, "pods", lambda: asked.append(None) or real())
    stage.grown()
    assert asked == []
    stage.metrics.text()
    assert len(asked) == 1
