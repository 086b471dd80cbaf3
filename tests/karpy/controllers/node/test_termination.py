"""Nodes that are being deleted: kept free, drained in order, ended."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.clock import parse_time
from karpy.errors import NodeClaimNotFound
from karpy.metrics import NODES_DRAINED, NODES_LIFETIME_DURATION, NODES_TERMINATED, NODES_TERMINATION_DURATION
from karpy.objects import kinds
from tests.karpy.controllers.node.leaving import GRACE, STOPS_LATE, WISH, Leaving, budget, wishing
from tests.karpy.controllers.stage import (
    Stage,
    apps,
    conditions,
    intercept,
    pool,
    refusal,
    taint_keys,
    writes_condition,
)
from tests.karpy.sim.manifests import NODE_CLASS, pods, template, workload


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


def looks(stage: Stage, name: str) -> list[float]:
    """When the drain of this node is looked at, from now on."""
    times: list[float] = []

    def reconcile(real: Any, request: Any) -> Any:
        if request.name == name:
            times.append(stage.clock.now())
        return real(request)

    drains = next(each for each in stage.operator.controllers if each.name == "node.termination")
    intercept(drains, "reconcile", reconcile)
    return times


def test_the_end_of_an_evicted_pod_is_expected_while_others_like_it_stay() -> None:
    stage = Leaving()
    name = stage.grown(apps("ends", 5, "500m"), wishing("stays", 1, annotations=STOPS_LATE, **{GRACE: 8}))
    node = stage.nodes[0]["metadata"]["name"]
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.run(0.1)
    times = looks(stage, node)
    stage.until(lambda: len([pod for pod in pods(stage.world) if pod["spec"].get("nodeName") == node]) == 1)
    assert times == []
    stage.until_gone(name)
    assert times


def test_the_end_of_the_last_ordinary_pod_is_the_turn_of_critical_ones() -> None:
    stage = Stage()
    critical = apps("critical", 1, "500m", priorityClassName="system-cluster-critical")
    name = stage.grown(critical, apps("plain", 3, "500m"))
    ended: list[float] = []
    stage.world.subscribe(
        kinds.POD, lambda event: ended.append(stage.clock.now()) if event.type.value == "DELETED" else None
    )
    evicted = evictions(stage)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.until(lambda: "critical" in evicted)
    assert ended[2:] == [stage.clock.now()]


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


# In order


@pytest.mark.core("CORE-687")
def test_a_node_that_is_deleted_takes_its_claim_along() -> None:
    stage = Leaving()
    name = stage.grown()
    stage.api.delete(kinds.NODE, name)
    stage.run(1)
    assert "deletionTimestamp" in stage.api.get(kinds.NODE_CLAIM, name)["metadata"]
    stage.until_gone(name)
    assert not stage.cloud.machines or name not in [machine.claim for machine in stage.cloud.machines]


@pytest.mark.core("CORE-687")
def test_all_claims_of_a_node_go_with_it() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    twin = {**stage.api.get(kinds.NODE_CLAIM, name)}
    held = {"finalizers": [labels.TERMINATION_FINALIZER]}
    twin["metadata"] = {"name": "twin", "labels": twin["metadata"]["labels"], **held}
    status = twin.pop("status")
    stage.world.apply([twin])
    stage.api.patch(kinds.NODE_CLAIM, "twin", {"status": status}, subresource="status")
    stage.api.delete(kinds.NODE, name)
    stage.run(1)
    for claim in (name, "twin"):
        assert "deletionTimestamp" in stage.api.get(kinds.NODE_CLAIM, claim)["metadata"]
    stage.until_gone(name)
    stage.until_gone("twin")


def claimless(stage: Leaving, **node_labels: str) -> None:
    """A node ``n`` with karpy's finalizer, of which no claim knows."""
    stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "n")
    stage.run(10)
    patch = {"metadata": {"finalizers": [labels.TERMINATION_FINALIZER], "labels": node_labels}}
    stage.api.patch(kinds.NODE, "n", patch)
    stage.api.create(kinds.POD, {**BARE, "spec": {**BARE["spec"], "nodeName": "n"}}, "default")
    stage.run(5)
    stage.api.delete(kinds.NODE, "n")
    stage.run(60)


BARE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "bare", "labels": {"app": "bare"}},
    "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
}


@pytest.mark.core("CORE-687", "CORE-690")
def test_a_node_of_ours_without_a_claim_is_drained_and_let_go() -> None:
    stage = Leaving()
    claimless(stage, **{"sim.karpy.dev/simnodeclass": "default"})
    assert "n" not in stage.names(kinds.NODE)
    assert stage.told("Evicted", kinds.POD) == ["Evicted pod: Forceful Termination"]


@pytest.mark.core("CORE-687")
def test_a_node_that_is_not_ours_is_left_alone() -> None:
    stage = Leaving()
    claimless(stage)
    node = stage.api.get(kinds.NODE, "n")
    assert node["metadata"]["finalizers"] == [labels.TERMINATION_FINALIZER]
    assert "karpenter.sh/disrupted" not in taint_keys(node)
    assert stage.running("bare") == 1


@pytest.mark.core("CORE-688")
def test_many_nodes_go_side_by_side() -> None:
    small = {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["s-4x-amd64"]}
    stage = Leaving(pool(requirements=[small]))
    stage.world.apply([apps("a", 6)])
    stage.run(60)
    names = stage.names(kinds.NODE_CLAIM)
    assert len(names) >= 2
    for name in names:
        stage.api.delete(kinds.NODE, name)
    stage.run(3)
    for name in names:
        node = stage.api.get(kinds.NODE, name)
        assert node["metadata"]["labels"][labels.EXCLUDE_FROM_LOAD_BALANCERS] == "karpenter"
        assert "karpenter.sh/disrupted" in taint_keys(node)
    for name in names:
        stage.until_gone(name)


@pytest.mark.core("CORE-689")
def test_a_pod_that_tolerates_the_taint_is_not_waited_for() -> None:
    stage = Leaving()
    stays = {"key": "karpenter.sh/disrupted", "operator": "Exists"}
    name = stage.grown(apps("a", 1), apps("stays", 1, tolerations=[stays]))
    calls = stage.asked()
    stage.take(name)
    stage.until_gone(name)
    assert [app for _, app, _ in calls] == ["a"]


@pytest.mark.core("CORE-692")
def test_a_node_waits_for_all_its_pods() -> None:
    stage = Leaving()
    name = stage.grown(apps("quick", 1), wishing("slow", 1, annotations=STOPS_LATE, **{GRACE: 300}))
    stage.take(name)
    stage.run(290)
    assert stage.condition(name, "Drained") == ("Unknown", "Draining", "Draining")
    assert name in [machine.claim for machine in stage.cloud.machines if machine.terminating_since is None]
    assert stage.until_gone(name) < 30


@pytest.mark.core("CORE-694")
def test_a_pod_that_does_not_end_is_waited_for_one_minute_longer_than_it_was_given() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1, **{GRACE: 20}))
    pod = stage.pod("a")["metadata"]["name"]
    (machine,) = stage.cloud.machines
    machine.is_dead = True  # nobody answers there any more
    stage.take(name)
    took = stage.until(lambda: (stage.condition(name, "Drained") or "")[0] == "True")
    assert 20 + 60 < took < 20 + 65
    text = f"Not waiting any longer for pod default/{pod}, which should have ended long ago"
    assert text in stage.told("FailedDraining", kinds.NODE)


@pytest.mark.core("CORE-693")
def test_a_ready_node_is_drained_though_its_instance_is_said_to_be_gone() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.run(5)
    provider_id = stage.api.get(kinds.NODE, name)["spec"]["providerID"]

    def get(real: Any, asked: str) -> Any:
        if asked == provider_id:
            raise NodeClaimNotFound("no such machine")
        return real(asked)

    intercept(stage.cloud, "get", get)
    stage.take(name)
    stage.run(120)
    assert stage.running("a") == 1
    assert name in stage.names(kinds.NODE)


def test_a_node_that_cannot_be_written_of_is_counted_as_drained_once() -> None:
    stage, refused = Leaving(), list[str]()

    def patch(real: Any, kind: Any, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        if writes_condition(kind, body, "Drained") and len(refused) < 2:
            refused.append(name)
            raise refusal(409, "Conflict")
        return real(kind, name, body, *rest, **more)

    name = stage.grown(apps("a", 1))
    stage.kube.through("patch", patch)
    stage.take(name)
    stage.until_gone(name)
    assert refused == [name] * 2
    assert stage.counted(NODES_DRAINED, nodepool="default") == 1


@pytest.mark.core("CORE-700")
def test_what_became_of_a_node_is_measured() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    node = stage.api.get(kinds.NODE, name)
    created, start = parse_time(node["metadata"]["creationTimestamp"]), stage.take(name)
    stage.until(lambda: name not in stage.names(kinds.NODE))
    zone = node["metadata"]["labels"][labels.ZONE]
    assert stage.counted(NODES_DRAINED, nodepool="default") == 1
    assert stage.counted(NODES_TERMINATED, nodepool="default", zone=zone) == 1
    ((took, _),) = stage.metrics.told(NODES_TERMINATION_DURATION)
    ((lived, _),) = stage.metrics.told(NODES_LIFETIME_DURATION)
    assert took == pytest.approx(stage.clock.now() - start, abs=1)
    assert lived == pytest.approx(stage.clock.now() - created, abs=1)


def test_an_empty_node_ends_at_once() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.scale("a", 0)
    stage.run(5)
    stage.take(name)
    stage.run(0.1)
    said = [stage.condition(name, type_) for type_ in ("Drained", "VolumesDetached", "InstanceTerminating")]
    assert said == [("True", type_, "") for type_ in ("Drained", "VolumesDetached", "InstanceTerminating")]


@pytest.mark.core("CORE-666")
def test_a_claim_whose_machine_ends_is_as_ready_as_it_was() -> None:
    stage = Leaving()
    name = stage.grown()
    stage.take(name)
    stage.until(lambda: stage.condition(name, "InstanceTerminating") is not None)
    assert stage.condition(name, "Ready") == ("True", "Ready", "")


# Others go on


@pytest.mark.parametrize(
    "held",
    [
        [wishing("a", 2, annotations={WISH: "true"})],
        [wishing("a", 2, annotations={WISH: "5h"})],
        [apps("a", 2), budget("b", "a", maxUnavailable=0)],
        [apps("a", 2), budget("b", "a", minAvailable=2)],
        [apps("a", 2), budget("x", "a", maxUnavailable=1), budget("y", "a", maxUnavailable=1)],
    ],
    ids=["for ever", "for hours", "none may be missing", "all must be there", "two budgets"],
)
def test_nothing_is_launched_for_pods_that_cannot_leave(held: list[dict[str, Any]]) -> None:
    stage = Leaving()
    name = stage.grown(*held)
    stage.take(name)
    stage.run(3600)
    assert stage.names(kinds.NODE_CLAIM) == [name]
    assert len(stage.cloud.machines) == 1


def test_nothing_is_launched_for_a_pod_that_a_finalizer_holds() -> None:
    """It belongs to a StatefulSet, so that it comes back when it has gone; but that may be never."""
    stage = Leaving()
    name = stage.grown(
        workload(kinds.STATEFUL_SET, "db", {}, replicas=1, serviceName="db", template=template("db", "1"))
    )
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    stage.api.patch(kinds.POD, stage.pod("db")["metadata"]["name"], hold, "default")
    stage.api.patch(kinds.NODE, name, {"metadata": {"finalizers": [labels.TERMINATION_FINALIZER, "example.com/hold"]}})
    stage.take(name)
    stage.run(1800)
    launched = {machine.claim for machine in stage.cloud.machines}
    stage.run(1800)
    assert {machine.claim for machine in stage.cloud.machines} == launched
    assert len(launched) <= 1


def test_a_node_that_takes_ten_hours_keeps_nobody_else() -> None:
    one = pool()
    one["spec"]["disruption"]["budgets"] = [{"nodes": "2"}]  # it counts against budgets for as long as it is there
    stage = Leaving(one)
    slow = stage.grown(wishing("slow", 3, annotations=STOPS_LATE, **{GRACE: 36_000}))
    stage.take(slow)
    stage.run(60)
    stage.world.apply([apps("a", 2)])
    stage.run(60)
    others = [name for name in stage.names(kinds.NODE_CLAIM) if name != slow]
    assert stage.running("a") == 2
    stage.take(stage.pod_nodes("a")[0])
    assert stage.until(lambda: not set(others) <= set(stage.names(kinds.NODE_CLAIM))) < 60
    stage.until(lambda: stage.running("a") == 2)
    stage.scale("a", 0)
    moved = stage.until(lambda: any("DisruptionReason" in conditions(claim) for claim in stage.claims))
    assert moved < 300, "nodes that are too large go on being replaced"
    assert slow in stage.names(kinds.NODE)
    assert stage.until(lambda: slow not in stage.names(kinds.NODE), 40_000) <= 36_060
