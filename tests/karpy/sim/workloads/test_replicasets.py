from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.clock import parse_time
from karpy.objects import kinds
from karpy.sim.workloads.replicasets import deletion_order
from tests.karpy.sim.manifests import bare_pod, event_reasons, phases, pods, status, workload, world_with_nodes

NOW = parse_time("2026-01-05T10:30:00Z")


def pod(name: str, **given: Any) -> dict[str, Any]:
    ready, since = given.get("ready", True), given.get("since", "2026-01-05T09:00:00Z")
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": given.get("created", "2026-01-05T09:00:00Z"),
            "annotations": {labels.POD_DELETION_COST: given["cost"]} if "cost" in given else {},
        },
        "spec": {"nodeName": given.get("node", name)},
        "status": {
            "phase": given.get("phase", "Running"),
            "conditions": [condition],
            "containerStatuses": [{"name": "c", "restartCount": given.get("restarts", 0)}],
        },
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("a", node="", ready=False), pod("b", ready=False)),
        (pod("a", phase="Pending", ready=False), pod("b", ready=False)),
        (pod("a", ready=False, cost="100"), pod("b", cost="-5")),
        (pod("a", cost="-5"), pod("b", since="2026-01-05T10:00:00Z")),
        (pod("a", since="2026-01-05T10:00:00Z"), pod("b")),
        (pod("a", restarts=3), pod("b", created="2026-01-05T10:00:00Z")),
        (pod("a", created="2026-01-05T10:00:00Z"), pod("b")),
    ],
    ids=["without a node", "pending", "not ready", "cheaper", "ready for less long", "restarted", "younger"],
)
def test_what_can_be_spared_goes_first(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert [each["metadata"]["name"] for each in deletion_order([second, first], now=NOW)] == ["a", "b"]


def test_ages_of_one_order_of_magnitude_count_as_one() -> None:
    pods = [pod("b", since="2026-01-05T09:45:00Z"), pod("a", since="2026-01-05T09:30:00Z")]
    assert [each["metadata"]["name"] for each in deletion_order(pods, now=NOW)] == ["a", "b"]


def test_pods_of_other_sets_of_the_workload_make_a_node_fuller() -> None:
    pods = [pod("a", node="n1"), pod("b", node="n2")]
    assert [each["metadata"]["name"] for each in deletion_order(pods, {"n1": 1, "n2": 3}, NOW)] == ["b", "a"]


def test_of_equal_pods_those_on_the_fuller_node_go_first() -> None:
    crowd = [pod("a", node="n1"), pod("b", node="n2"), pod("c", node="n2")]
    assert deletion_order(crowd)[-1]["metadata"]["name"] == "a"


def test_it_keeps_so_many_pods() -> None:
    world = world_with_nodes(2)
    world.apply([workload(kinds.REPLICA_SET, "web", replicas=3)])
    world.run(10)
    assert phases(world) == {"Running": 3}
    assert status(world, kinds.REPLICA_SET, "web") == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "observedGeneration": 1,
    }
    assert event_reasons(world, "web") == ["SuccessfulCreate"] * 3
    world.api.delete(kinds.POD, pods(world)[0]["metadata"]["name"], "default", grace_period_s=0)
    world.run(10)
    assert phases(world) == {"Running": 3}


def test_scaling_down_ends_pods_and_scaling_to_none_leaves_a_bare_status() -> None:
    world = world_with_nodes(2)
    world.apply([workload(kinds.REPLICA_SET, "web", replicas=5)])
    world.run(10)
    world.api.patch(kinds.REPLICA_SET, "web", {"spec": {"replicas": 0}}, "default")
    world.run(10)
    assert pods(world) == []
    assert status(world, kinds.REPLICA_SET, "web") == {"replicas": 0, "observedGeneration": 2}


def test_a_pod_without_owner_that_fits_is_adopted() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("web")])
    world.run(5)
    world.apply([workload(kinds.REPLICA_SET, "web", replicas=2)])
    world.run(5)
    assert len(pods(world)) == 2
    (owner,) = world.api.get(kinds.POD, "web", "default")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("ReplicaSet", True)


def test_a_pod_whose_labels_do_not_fit_any_more_is_released_and_replaced() -> None:
    world = world_with_nodes(1)
    world.apply([workload(kinds.REPLICA_SET, "web", replicas=1)])
    world.run(5)
    name = pods(world)[0]["metadata"]["name"]
    world.api.patch(kinds.POD, name, {"metadata": {"labels": {"app": "debug"}}}, "default")
    world.run(5)
    assert len(pods(world)) == 2
    assert "ownerReferences" not in world.api.get(kinds.POD, name, "default")["metadata"]


def test_deleting_it_takes_its_pods_along() -> None:
    world = world_with_nodes(1)
    world.apply([workload(kinds.REPLICA_SET, "web", replicas=2)])
    world.run(5)
    world.api.delete(kinds.REPLICA_SET, "web", "default")
    world.run(5)
    assert pods(world) == []


def test_pods_count_as_available_only_after_their_minimum() -> None:
    world = world_with_nodes(1)
    world.apply([workload(kinds.REPLICA_SET, "web", replicas=1, minReadySeconds=30)])
    world.run(10)
    assert "availableReplicas" not in status(world, kinds.REPLICA_SET, "web")
    world.run(30)
    assert status(world, kinds.REPLICA_SET, "web")["availableReplicas"] == 1


def test_a_set_whose_pods_are_refused_says_why() -> None:
    world = world_with_nodes(1)
    bad = workload(kinds.REPLICA_SET, "web", replicas=1)
    bad["spec"]["template"]["spec"]["priorityClassName"] = "missing"
    world.apply([bad])
    world.run(1)
    (condition,) = status(world, kinds.REPLICA_SET, "web")["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ReplicaFailure", "True", "FailedCreate")
    assert "missing" in condition["message"]
    world.apply(
        [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "missing"}, "value": 1}]
    )
    world.run(60)
    assert "conditions" not in status(world, kinds.REPLICA_SET, "web")
