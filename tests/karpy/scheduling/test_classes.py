from __future__ import annotations

from typing import Any

from karpy.labels import CORE_LABELS
from karpy.objects.pod import Pod
from karpy.scheduling.admission import Refused
from karpy.scheduling.classes import PodClass, ReadPod, classify, read_pods
from karpy.state.snapshot import Snapshot, Storage
from karpy.testing import START, make_pod, selector


def read(*pods: dict[str, Any], storage: Storage | None = None) -> tuple[list[ReadPod], list[tuple[Pod, Refused]]]:
    return read_pods([Pod.from_dict(pod) for pod in pods], CORE_LABELS, {}, storage or Storage())


def classes(*pods: dict[str, Any], storage: Storage | None = None) -> list[PodClass]:
    return classify(read(*pods, storage=storage)[0], lambda _pod: ())


def names(found: list[PodClass]) -> list[list[str]]:
    return [[pod.metadata.name for pod in one.pods] for one in found]


def required(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    node_affinity = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": node_affinity}}}


def test_pods_that_ask_for_the_same_are_one_class() -> None:
    spec = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    pods = [make_pod(name, requests={"cpu": cpu}, spec=spec) for name, cpu in (("p", "1"), ("q", "1000m"))]
    assert names(classes(*pods)) == [["p", "q"]]


def test_what_does_not_concern_a_node_does_not_tell_pods_apart() -> None:
    assert (
        len(classes(make_pod("p", labels={"app": "a"}), make_pod("q", annotations={"x": "y"}, namespace="other"))) == 1
    )


def test_size_selectors_tolerations_and_affinity_do() -> None:
    pods = [
        make_pod("plain"),
        make_pod("large", requests={"cpu": "1"}),
        make_pod("picky", spec={"nodeSelector": {"a": "b"}}),
        make_pod("tough", spec={"tolerations": [{"operator": "Exists"}]}),
        make_pod("fond", spec=required([selector("a", "Exists")])),
    ]
    assert len(classes(*pods)) == 5


def test_classes_go_by_cpu_then_memory_then_age_then_uid() -> None:
    pods = [
        make_pod("young", created=START + 60),
        make_pod("b-old", spec={"nodeSelector": {"a": "b"}}),
        make_pod("a-old", spec={"nodeSelector": {"a": "c"}}),
        make_pod("memory", requests={"memory": "1Gi"}),
        make_pod("cpu", requests={"cpu": "1m"}),
    ]
    assert names(classes(*pods)) == [["cpu"], ["memory"], ["a-old"], ["b-old"], ["young"]]


def test_within_a_class_the_oldest_goes_first() -> None:
    assert names(classes(make_pod("a", created=START + 1), make_pod("z"), make_pod("y"))) == [["y", "z", "a"]]


def test_pods_that_cannot_be_looked_at_are_told_with_their_reason() -> None:
    fields = {"nodeSelectorTerms": [{"matchFields": [selector("metadata.name", "In", "n")]}]}
    by_field = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": fields}}}
    bad = [
        make_pod("a", spec=required([selector("x", "Near", "y")])),
        make_pod("b", spec=by_field),
        make_pod("c", spec={"nodeSelector": {"karpenter.sh/x": "y"}}),
    ]
    found, refused = read(*bad, make_pod("good"))
    assert [one.pod.metadata.name for one in found] == ["good"]
    reasons = {pod.metadata.name: why.reason for pod, why in refused}
    assert "unknown operator" in reasons["a"]
    assert "matchFields" in reasons["b"]
    assert "restricted" in reasons["c"]


def test_a_choice_among_nothing_is_refused_and_not_taken_for_the_absence_of_the_label() -> None:
    found, ((_pod, refused),) = read(make_pod(spec=required([selector("team", "In")])))
    assert found == []
    assert refused.reason == 'node affinity on "team" with operator In needs at least one value'


def on_disk(name: str, claim: str, **spec: Any) -> dict[str, Any]:
    disks = [{"name": "disk", "persistentVolumeClaim": {"claimName": claim}}]
    return make_pod(name, spec={"volumes": disks, **spec})


def disks(**hosts: str) -> Storage:
    """Bound claims, each to a volume that one host can reach."""
    objects: list[dict[str, Any]] = []
    for name, host in hosts.items():
        there = {"nodeSelectorTerms": [{"matchExpressions": [selector("kubernetes.io/hostname", "In", host)]}]}
        bound = {"pv.kubernetes.io/bind-completed": "yes"}
        claim = {"metadata": {"name": name, "namespace": "default", "annotations": bound}, "spec": {"volumeName": name}}
        volume = {"metadata": {"name": name}, "spec": {"nodeAffinity": {"required": there}}}
        objects.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim})
        objects.append({"apiVersion": "v1", "kind": "PersistentVolume", **volume})
    return Snapshot.from_objects(objects).storage


def test_pods_whose_volumes_are_elsewhere_are_told_apart() -> None:
    storage = disks(a="host-1", b="host-2", c="host-1")
    found = classes(*(on_disk(name, name) for name in "abc"), make_pod("none"), storage=storage)
    assert names(found) == [["a", "c"], ["b"], ["none"]]


def test_host_ports_tell_pods_apart() -> None:
    ports = [{"name": "main", "ports": [{"hostPort": 80}]}]
    assert len(classes(make_pod("p", spec={"containers": ports}), make_pod("q"))) == 2


def test_pods_that_different_terms_are_about_are_told_apart() -> None:
    found = classify(read(make_pod("p"), make_pod("q"))[0], lambda pod: pod.metadata.name)
    assert names(found) == [["p"], ["q"]]
