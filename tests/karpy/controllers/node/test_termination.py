"""Nodes that are being deleted: kept free, drained in order, ended."""

from __future__ import annotations

from typing import Any

from karpy import labels
from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps, conditions, refusal, taint_keys
from tests.karpy.sim.manifests import pods


def other_autoscalers_machine(stage: Stage, *reached: str) -> None:
    """A node ``n`` with karpy's finalizer and taint, of a claim whose node class nobody here serves."""
    node_class = {"apiVersion": "sim.karpy.dev/v1", "kind": "SimNodeClass", "metadata": {"name": "default"}}
    instance = stage.cloud.add_machine("s-4x-amd64", "sim-1a", node_class, "n")
    stage.run(10)
    claim = {
        "apiVersion": kinds.NODE_CLAIM.api_version,
        "kind": kinds.NODE_CLAIM.kind,
        "metadata": {"name": "foreign", "finalizers": [labels.TERMINATION_FINALIZER]},
        "spec": {"nodeClassRef": {"group": "other.io", "kind": "OtherClass", "name": "x"}, "requirements": []},
    }
    stage.world.apply([claim])
    since = {"status": "True", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    said = [{"type": type_, "reason": type_, **since} for type_ in reached]
    status = {"status": {"providerID": instance.provider_id, "conditions": said}}
    stage.api.patch(kinds.NODE_CLAIM, "foreign", status, subresource="status")
    taint = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
    patch = {"metadata": {"finalizers": [labels.TERMINATION_FINALIZER]}, "spec": {"taints": [taint]}}
    stage.api.patch(kinds.NODE, "n", patch)


def test_machines_of_another_autoscaler_are_not_written_to() -> None:
    stage = Stage()
    other_autoscalers_machine(stage, "Launched", "Registered", "Initialized", "DisruptionReason")
    version = stage.api.get(kinds.NODE_CLAIM, "foreign")["metadata"]["resourceVersion"]
    stage.world.apply([apps("a", 1)])  # wakes whoever looks at everything
    stage.run(90)
    assert taint_keys(stage.api.get(kinds.NODE, "n")) == ["karpenter.sh/disrupted"]
    assert stage.api.get(kinds.NODE_CLAIM, "foreign")["metadata"]["resourceVersion"] == version


def test_machines_of_another_autoscaler_are_neither_drained_nor_let_go() -> None:
    stage = Stage()
    other_autoscalers_machine(stage, "Launched", "Registered", "Initialized")
    stage.api.delete(kinds.NODE, "n")
    stage.run(120)
    assert labels.TERMINATION_FINALIZER in stage.api.get(kinds.NODE, "n")["metadata"]["finalizers"]
    assert "deletionTimestamp" not in stage.api.get(kinds.NODE_CLAIM, "foreign")["metadata"]
    assert len(stage.cloud.machines) == 1


def evictions(stage: Stage) -> list[str]:
    """The app labels of evicted pods, in order, from now on."""
    evicted: list[str] = []

    def evict(real: Any, name: str, namespace: str, **more: Any) -> None:
        evicted.append(stage.api.get(kinds.POD, name, namespace)["metadata"]["labels"]["app"])
        real(name, namespace, **more)

    stage.kube.through("evict", evict)
    return evicted


def test_ordinary_pods_leave_before_critical_ones() -> None:
    stage = Stage()
    critical = apps("critical", 2, "500m", priorityClassName="system-cluster-critical")
    name = stage.grown(critical, apps("plain", 2, "500m"))
    evicted = evictions(stage)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.run(300)
    assert evicted == ["plain", "plain", "critical", "critical"]
    assert name not in stage.names(kinds.NODE_CLAIM)


def test_a_draining_node_is_tainted_before_the_first_eviction() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 2))
    tainted: list[bool] = []

    def evict(real: Any, pod: str, *rest: Any, **more: Any) -> None:
        tainted.append("karpenter.sh/disrupted" in taint_keys(stage.api.get(kinds.NODE, name)))
        real(pod, *rest, **more)

    stage.kube.through("evict", evict)
    stage.api.delete(kinds.NODE, name)
    stage.run(120)
    assert tainted == [True, True]


def test_a_pod_whose_eviction_fails_does_not_keep_the_others() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1), apps("b", 3, "500m"))

    def evict(real: Any, pod: str, *rest: Any, **more: Any) -> None:
        if pod.startswith("a-"):
            raise refusal(500)
        real(pod, *rest, **more)

    stage.kube.through("evict", evict)
    stage.api.delete(kinds.NODE, name)
    stage.run(180)
    left = [pod["metadata"]["labels"]["app"] for pod in pods(stage.world) if pod["spec"].get("nodeName") == name]
    assert left == ["a"]
    assert stage.running("b") == 3
    assert "FailedDraining" in [event["reason"] for event in stage.all(kinds.EVENT)]


def test_a_budget_that_allows_none_holds_the_node() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    budget = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 0}
    stage.world.apply(
        [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": budget}]
    )
    stage.run(5)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.run(300)
    assert (stage.running("a"), len(stage.cloud.machines) >= 1) == (1, True)
    assert conditions(stage.api.get(kinds.NODE_CLAIM, name))["Drained"] == "Unknown"
    stage.api.delete(kinds.POD_DISRUPTION_BUDGET, "b", "default")
    stage.until(lambda: name not in stage.names(kinds.NODE_CLAIM))


def test_a_pod_that_a_budget_holds_is_asked_for_less_and_less_often() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    budget = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 0}
    stage.world.apply(
        [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": budget}]
    )
    stage.run(5)
    evicted = evictions(stage)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.run(15)
    assert 3 <= len(evicted) <= 5
    before = len(evicted)
    stage.run(600)
    assert 9 <= len(evicted) - before <= 12


def test_a_pod_that_karpy_has_not_heard_of_yet_keeps_its_machine() -> None:
    """It was bound just before the taint came, and the watch is late."""
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.operator.state.pods_on = lambda _node: ()  # type: ignore[method-assign]
    budget = {"selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 0}
    stage.world.apply(
        [{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": budget}]
    )
    stage.run(5)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.run(120)
    assert stage.running("a") == 1
    assert name in stage.names(kinds.NODE)


def test_a_node_whose_instance_vanished_is_let_go() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    stage.cloud.vanish(stage.api.get(kinds.NODE, name)["spec"]["providerID"])
    stage.until(lambda: name not in stage.names(kinds.NODE_CLAIM))
    stage.until(lambda: stage.running("a") == 1)
    assert name not in stage.names(kinds.NODE)
