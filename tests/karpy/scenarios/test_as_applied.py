from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.pod import Pod
from karpy.scenarios.as_applied import as_applied

Json = Mapping[str, Any]

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"note": "kept"}},
    "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
}


def workload(kind: str = "Deployment", name: str = "web", **spec: Any) -> dict[str, Any]:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE, **spec}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def pod(name: str = "alone", *, labels: Json | None = None, status: Json | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status or {}}


def pods(*objects: Json) -> list[Pod]:
    return [Pod.from_dict(obj) for obj in as_applied(objects) if obj["kind"] == "Pod"]


@pytest.mark.parametrize(
    ("kind", "spec", "names"),
    [
        ("Deployment", {"replicas": 2}, ["web-1", "web-2"]),
        ("Deployment", {}, ["web-1"]),
        ("Deployment", {"replicas": 0}, []),
        ("ReplicaSet", {"replicas": 2}, ["web-1", "web-2"]),
        ("StatefulSet", {"replicas": 2}, ["web-0", "web-1"]),
        ("Job", {}, ["web-1"]),
        ("Job", {"parallelism": 3, "completions": 2}, ["web-1", "web-2"]),
        ("Job", {"parallelism": 3, "suspend": True}, []),
    ],
)
def test_a_workload_has_the_pods_that_it_asks_for(kind: str, spec: Json, names: list[str]) -> None:
    found = pods(workload(kind, **spec))
    assert [each.metadata.name for each in found] == names
    for each in found:
        assert each.is_provisionable
        assert (each.metadata.namespace, each.metadata.labels) == ("default", {"app": "web"})
        assert each.metadata.annotations == {"note": "kept"}
        assert each.requests["cpu"] == 1000
        assert each.metadata.controller is not None
        assert each.metadata.controller.kind == ("ReplicaSet" if kind == "Deployment" else kind)


def test_pods_of_a_deployment_belong_together_by_its_replica_set() -> None:
    objects = as_applied([workload(replicas=2)])
    (between,) = (obj for obj in objects if obj["kind"] == "ReplicaSet")
    assert between["metadata"] == {"name": "web", "namespace": "default"}
    assert between["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert not [obj for obj in as_applied([workload(replicas=0)]) if obj["kind"] == "ReplicaSet"]


def test_every_kind_with_namespaces_is_in_the_default_one_unless_it_says_otherwise() -> None:
    given = [("v1", "Service"), ("v1", "PodTemplate"), ("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer")]
    found = as_applied({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}} for version, kind in given)
    assert [obj["metadata"]["namespace"] for obj in found] == ["default"] * len(given)
    assert (
        "namespace" not in as_applied([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}])[0]["metadata"]
    )


def test_completions_that_are_done_are_not_done_again() -> None:
    job = workload("Job", parallelism=5, completions=4)
    assert len(pods({**job, "status": {"succeeded": 3}})) == 1
    assert not pods({**job, "status": {"succeeded": 4, "completionTime": "2026-01-01T00:00:00Z"}})


def test_pods_that_are_there_are_not_doubled() -> None:
    running = pod("web-x", labels={"app": "web"}, status={"phase": "Running"}, nodeName="node-1")
    assert [each.metadata.name for each in pods(workload(replicas=2), running)] == ["web-x", "web-1"]


def test_finished_pods_and_those_of_other_namespaces_do_not_count() -> None:
    finished = pod("web-1", labels={"app": "web"}, status={"phase": "Succeeded"})
    elsewhere = pod("web-y", labels={"app": "web"}, status={"phase": "Running"}, nodeName="node-1")
    elsewhere["metadata"]["namespace"] = "other"
    found = pods(workload(replicas=1), finished, elsewhere)
    assert [each.metadata.name for each in found] == ["web-1", "web-y", "web-2"]


def test_a_replica_set_of_a_deployment_adds_nothing() -> None:
    made = workload("ReplicaSet", "web-5d4", replicas=2)
    made["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "web", "controller": True}]
    assert len(pods(workload(replicas=2), made)) == 2


def test_a_stateful_set_brings_the_claims_of_its_disks() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    objects = as_applied([workload("StatefulSet", replicas=1, volumeClaimTemplates=[claim])])
    (made,) = (obj for obj in objects if obj["kind"] == "PersistentVolumeClaim")
    assert made["metadata"] == {"name": "data-web-0", "namespace": "default"}
    assert made["spec"] == {"storageClassName": "fast"}
    (its,) = pods(workload("StatefulSet", replicas=1, volumeClaimTemplates=[claim]))
    assert its.spec.volumes[0].persistent_volume_claim is not None
    assert its.spec.volumes[0].persistent_volume_claim.claim_name == "data-web-0"


def test_a_pod_that_no_scheduler_has_looked_at_waits_for_a_node() -> None:
    (found,) = pods(pod())
    assert found.is_provisionable


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"nodeName": "node-1"}, {}),
        ({"schedulingGates": [{"name": "later"}]}, {}),
        ({}, {"phase": "Succeeded"}),
        ({}, {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
    ],
)
def test_other_pods_stay_as_they_are(spec: Json, status: Json) -> None:
    (found,) = pods(pod(status=status, **spec))
    assert not found.is_provisionable


def test_pods_have_namespaces_names_and_uids_of_their_own() -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "run-"}, "spec": {}}
    first, second = pods(bare, bare)
    assert (first.key, second.key) == ("default/run-1", "default/run-2")
    assert first.metadata.uid != second.metadata.uid


def test_what_is_of_the_cluster_gets_no_namespace() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    assert as_applied([node]) == (node,)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"replicas": "2"}, "spec.replicas: found '2' (accepted: a whole number, 0 or more)"),
        ({"replicas": -1}, "spec.replicas: found -1 (accepted: a whole number, 0 or more)"),
        ({"replicas": True}, "spec.replicas: found True (accepted"),
        ({"template": None}, "spec.template: found nothing (accepted: a pod template)"),
        ({"template": {}}, "spec.template.spec: found nothing (accepted: the spec of a pod)"),
        ({"selector": 3}, "spec.selector: found 3 (accepted: a label selector)"),
        ({"selector": {"matchLabels": 3}}, "spec.selector.matchLabels: found 3 (accepted: an object)"),
        ({"volumeClaimTemplates": [{}]}, "spec.volumeClaimTemplates[0].metadata.name: found nothing"),
    ],
)
def test_a_workload_that_cannot_be_read_is_named(spec: Json, text: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        as_applied([workload(**spec), workload(name="well")])
    assert str(refused.value).startswith(f"Deployment/default/web: {text}")


@pytest.mark.parametrize("value", [3, "x", [1], {"a": 1}, None, True])
@pytest.mark.parametrize("field", ["ownerReferences", "labels", "uid", "deletionTimestamp"])
def test_odd_metadata_is_left_to_the_reader(field: str, value: Any) -> None:
    odd = pod()
    odd["metadata"][field] = value
    assert len(as_applied([workload(replicas=1), odd])) >= 2
