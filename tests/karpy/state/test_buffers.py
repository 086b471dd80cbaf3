from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.objects.capacitybuffer import CapacityBuffer
from karpy.objects.kinds import Kind
from karpy.objects.meta import to_wire
from karpy.objects.pod import Pod
from karpy.state.buffers import MOST_REPLICAS, BufferView, Resolved, Unresolved, WhyUnresolved, resolve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_buffer, make_pod_template, make_workload

CHUNK = {"cpu": "2", "memory": "1Gi"}


def replicas(target: dict[str, Any] | None = None, **spec: Any) -> int:
    refs = {"workload": "web"} if target is not None and target["kind"] != "PodTemplate" else {"template": "template"}
    found = resolve(CapacityBuffer.from_dict(make_buffer(**refs, **spec)), target or make_pod_template(requests=CHUNK))
    assert isinstance(found, Resolved), found
    return found.replicas


def failure(buffer: dict[str, Any], target: dict[str, Any] | None = None) -> Unresolved:
    found = resolve(CapacityBuffer.from_dict(buffer), target)
    assert isinstance(found, Unresolved)
    return found


def only(*objects: dict[str, Any]) -> BufferView:
    (view,) = Snapshot.from_objects(objects).buffers
    return view


# How many


@pytest.mark.core("CORE-454")
@pytest.mark.parametrize(
    ("scale", "spec", "expected"),
    [
        (10, {"percentage": 20}, 2),
        (10, {"percentage": 25}, 3),  # rounded up
        (1, {"percentage": 1}, 1),  # and so never nothing of something
        (10, {"percentage": 0}, 0),
        (0, {"percentage": 50}, 0),
        (10, {"percentage": 300}, 30),
        (10, {"percentage": 20, "replicas": 5}, 5),  # the most of both
        (100, {"percentage": 20, "replicas": 5}, 20),
        (100, {"percentage": 20, "limits": {"cpu": "7"}}, 3),  # 7 // 2
        (10, {"percentage": 20, "limits": {"cpu": "100"}}, 2),
        (10, {"replicas": 5, "limits": {"cpu": "100", "memory": "3Gi"}}, 3),  # the tightest limit
        (10, {"replicas": 5, "limits": {"nvidia.com/gpu": "1"}}, 5),  # of which the pods ask for nothing
        (10, {"limits": {"cpu": "5", "nvidia.com/gpu": "0"}}, 2),
        (10, {"limits": {"cpu": "1"}}, 0),
        (10, {}, 0),
    ],
)
def test_replicas_percentage_and_limits_combine(scale: int, spec: dict[str, Any], expected: int) -> None:
    assert replicas(make_workload(replicas=scale, requests=CHUNK), **spec) == expected


@pytest.mark.core("CORE-454")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": 3}, 3),
        ({"limits": {"cpu": "5"}}, 2),
        ({"replicas": 3, "limits": {"cpu": "5"}}, 2),
        ({"replicas": 3, "percentage": 500}, 3),  # there is nothing that it could be a share of
        ({"limits": {"pods": "4"}}, 4),
    ],
)
def test_a_template_has_no_scale(spec: dict[str, Any], expected: int) -> None:
    assert replicas(**spec) == expected


@pytest.mark.core("CORE-455")
def test_a_pod_counts_with_its_sidecars_and_init_containers() -> None:
    def container(cpu: str, **more: Any) -> dict[str, Any]:
        return {"name": cpu, "resources": {"requests": {"cpu": cpu}}, **more}

    sidecar = make_pod_template(
        requests={"cpu": "1"}, spec={"initContainers": [container("1", restartPolicy="Always")]}
    )
    assert replicas(sidecar, limits={"cpu": "10"}) == 5
    greedy_start = make_pod_template(requests={"cpu": "1"}, spec={"initContainers": [container("4")]})
    assert replicas(greedy_start, limits={"cpu": "10"}) == 2
    by_limit = make_pod_template(spec={"containers": [{"name": "a", "resources": {"limits": {"cpu": "3"}}}]})
    assert replicas(by_limit, limits={"cpu": "10"}) == 3


# Of what


@pytest.mark.core("CORE-456")
@pytest.mark.parametrize("kind", [kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.REPLICA_SET], ids=lambda kind: kind.kind)
def test_a_workload_gives_template_and_scale(kind: Kind) -> None:
    workload = make_workload(kind=kind, replicas=4, requests=CHUNK, labels={"app": "web"})
    view = only(workload, make_buffer(workload="web", kind=kind, percentage=50))
    assert isinstance(view.outcome, Resolved)
    assert view.outcome.pod_template is None
    assert [pod.metadata.labels for pod in view.pods] == [{"app": "web"}] * 2
    assert view.pods[0].requests["cpu"] == 2000


@pytest.mark.core("CORE-456")
def test_a_workload_that_does_not_say_how_many_has_one() -> None:
    assert replicas(make_workload(requests=CHUNK), percentage=100) == 1


@pytest.mark.core("CORE-456")
def test_a_template_is_told_by_name_and_generation() -> None:
    view = only(make_pod_template("chunk", generation=7), make_buffer(template="chunk", replicas=1))
    assert isinstance(view.outcome, Resolved)
    assert view.outcome.pod_template is not None
    assert (view.outcome.pod_template.name, view.outcome.pod_template.generation) == ("chunk", 7)


def test_an_object_of_the_name_in_another_namespace_is_another_object() -> None:
    view = only(make_pod_template("chunk", namespace="b"), make_buffer(template="chunk", replicas=1, namespace="a"))
    assert isinstance(view.outcome, Unresolved)


# Not at all


@pytest.mark.core("CORE-457")
def test_what_is_not_there_is_named() -> None:
    assert failure(make_buffer(template="lost", replicas=1)) == Unresolved(
        WhyUnresolved.POD_TEMPLATE_NOT_FOUND, 'PodTemplate "lost" not found'
    )
    assert failure(make_buffer(workload="lost", percentage=20)) == Unresolved(
        WhyUnresolved.SCALABLE_REF_NOT_FOUND, 'Deployment.apps "lost" not found'
    )


@pytest.mark.parametrize(
    ("buffer", "target", "message"),
    [
        (make_buffer(replicas=1), None, "neither podTemplateRef nor scalableRef is set"),
        (
            make_buffer("b", template="template", limits={"nvidia.com/gpu": "1"}),
            make_pod_template(requests=CHUNK),
            "CapacityBuffer/default/b: spec.limits: found nvidia.com/gpu, of which the pods ask for nothing",
        ),
        (
            make_buffer(template="template", replicas=1),
            make_pod_template(requests={"cpu": "lots"}),
            "PodTemplate/default/template: template.spec.cpu: 'lots' is not a quantity",
        ),
        (
            make_buffer(template="template", replicas=1),
            make_pod_template(spec={"containers": 1}),
            "PodTemplate/default/template: template.spec.containers",
        ),
        (
            make_buffer("b", template="template", replicas=2**31 - 1),
            make_pod_template(),
            f"CapacityBuffer/default/b: found a wish for 2147483647 pods (accepted: {MOST_REPLICAS} at most)",
        ),
    ],
)
def test_what_cannot_be_resolved_says_why(buffer: dict[str, Any], target: dict[str, Any] | None, message: str) -> None:
    found = failure(buffer, target)
    assert found.reason is WhyUnresolved.RESOLUTION_FAILED
    assert message in found.message


def test_a_buffer_that_cannot_be_read_stops_no_other() -> None:
    bad, good = make_buffer("bad", template="chunk", replicas=-1), make_buffer("good", template="chunk", replicas=1)
    views = {view.key: view for view in Snapshot.from_objects([make_pod_template("chunk"), bad, good]).buffers}
    refused = views["default/bad"].outcome
    assert isinstance(refused, Unresolved)
    assert refused.reason is WhyUnresolved.RESOLUTION_FAILED
    assert "spec.replicas: found -1" in refused.message
    assert len(views["default/good"].pods) == 1


def test_a_workload_that_cannot_be_read_is_the_business_of_its_buffers_alone() -> None:
    broken = make_workload("broken", spec={"containers": "none"})
    assert Snapshot.from_objects([broken, make_workload("fine")]).buffers == ()
    assert isinstance(only(broken, make_buffer(workload="broken", replicas=1)).outcome, Unresolved)


def test_buffers_of_others_and_buffers_that_go_are_left_alone() -> None:
    foreign = make_buffer("foreign", template="chunk", replicas=1, provisioningStrategy="other.example.com/strategy")
    going = make_buffer("going", template="chunk", replicas=1)
    going["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    unreadable = make_buffer("unreadable", replicas="x", provisioningStrategy="other.example.com/strategy")
    objects = [make_pod_template("chunk"), foreign, going, unreadable]
    assert Snapshot.from_objects(objects).buffers == ()


# Virtual pods

BOUND_TO_STORAGE = {
    "nodeName": "somewhere",
    "priority": 1000,
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": labels.ZONE}]}},
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "settings", "configMap": {"name": "settings"}},
    ],
}


def virtual(**spec: Any) -> Pod:
    template = make_pod_template("chunk", labels={"app": "web"}, spec=spec)
    return only(template, make_buffer("b", template="chunk", replicas=1)).pods[0]


@pytest.mark.core("CORE-461")
def test_virtual_pods_are_the_same_whenever_they_are_made() -> None:
    objects = [make_pod_template("chunk", requests=CHUNK), make_buffer("b", template="chunk", replicas=3)]
    first, second = only(*objects).pods, only(*objects).pods
    assert first == second
    assert [pod.key for pod in first] == [f"default/capacity-buffer-b-{number}" for number in (1, 2, 3)]
    assert [pod.metadata.uid for pod in first] == [f"default-b-uid-{number}" for number in (1, 2, 3)]
    assert {pod.metadata.created for pod in first} == {first[0].metadata.created}


@pytest.mark.core("CORE-461")
def test_claims_are_taken_off_and_what_decides_the_place_is_kept() -> None:
    pod = virtual(**BOUND_TO_STORAGE)
    assert [volume.name for volume in pod.spec.volumes] == ["settings"]
    assert pod.spec.node_name == ""
    wire = to_wire(pod.spec)
    assert wire["tolerations"] == BOUND_TO_STORAGE["tolerations"]
    assert wire["affinity"] == BOUND_TO_STORAGE["affinity"]


def test_a_virtual_pod_says_whose_it_is_and_waits_behind_everyone() -> None:
    pod = virtual(priority=1000)
    assert pod.metadata.labels == {"app": "web"}
    assert pod.metadata.annotations == {
        "karpenter.sh/capacity-buffer-fake-pod": "true",
        "karpenter.sh/capacity-buffer-name": "b",
        "karpenter.sh/capacity-buffer-namespace": "default",
    }
    assert pod.spec.priority == -2147483648
    assert pod.is_provisionable
