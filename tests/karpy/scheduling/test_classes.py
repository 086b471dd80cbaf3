from __future__ import annotations

from typing import Any

from karpy.labels import CORE_LABELS
from karpy.objects.pod import Pod
from karpy.scheduling.classes import PodClass, classify, constraints_of
from karpy.taints import Toleration
from karpy.testing import START, make_pod, selector


def classes(*pods: dict[str, Any]) -> list[PodClass]:
    return classify([Pod.from_dict(pod) for pod in pods], CORE_LABELS)[0]


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
    found, refused = classify([Pod.from_dict(pod) for pod in (*bad, make_pod("good"))], CORE_LABELS)
    assert names(found) == [["good"]]
    reasons = {pod.metadata.name: reason for pod, reason in refused}
    assert "unknown operator" in reasons["a"]
    assert "matchFields" in reasons["b"]
    assert "restricted" in reasons["c"]


def test_selector_and_first_alternative_hold_together() -> None:
    spec = {"nodeSelector": {"team": "a"}, **required([selector("zone", "In", "x")], [selector("zone", "In", "y")])}
    constraints = constraints_of(Pod.from_dict(make_pod(spec=spec)).spec)
    assert constraints.requirements.labels() == {"team": "a", "zone": "x"}


def test_the_ladder_goes_through_the_alternatives_and_then_again_bearing_preferences() -> None:
    spec = required([selector("zone", "In", "x")], [selector("zone", "In", "y")])
    rungs = list(constraints_of(Pod.from_dict(make_pod(spec=spec)).spec).ladder())
    assert [rung.requirements.labels()["zone"] for rung in rungs] == ["x", "y", "x", "y"]
    bears = Toleration(operator="Exists", effect="PreferNoSchedule")
    assert [rung.tolerations for rung in rungs] == [(), (), (bears,), (bears,)]
