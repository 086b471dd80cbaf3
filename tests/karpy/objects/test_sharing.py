from __future__ import annotations

import copy
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.meta import ObjectMeta
from karpy.objects.pod import Pod
from karpy.objects.podspec import PodSpec
from karpy.objects.sharing import Sharing
from karpy.testing import make_pod

VOLUMES = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "mine"}}]}


def pod(name: str, **more: Any) -> Pod:
    """A pod of one workload, each read from JSON of its own."""
    raw = make_pod(name, labels={"app": "a"}, annotations={"note": "b"}, requests={"cpu": "1"}, **more)
    raw["metadata"]["ownerReferences"][0].update(name="owner", uid="owner")
    return Pod.from_dict(copy.deepcopy(raw))


def test_pods_of_one_workload_share_all_but_name_and_place() -> None:
    sharing = Sharing()
    a, b = sharing.pod(pod("a", node="n")), sharing.pod(pod("b", node="m", spec=VOLUMES))
    assert (a, b) == (pod("a", node="n"), pod("b", node="m", spec=VOLUMES))
    assert a.spec.containers is b.spec.containers
    assert a.metadata.labels is b.metadata.labels
    assert a.metadata.annotations is b.metadata.annotations
    assert a.metadata.owner_references is b.metadata.owner_references
    assert a.requests is b.requests
    assert a.group is b.group


def test_what_differs_is_not_mixed_up() -> None:
    sharing = Sharing()
    raws = [
        make_pod("a"),
        make_pod("a", namespace="other"),
        make_pod("a", labels={"app": "x"}),
        make_pod("a", annotations={"app": "x"}),
        make_pod("a", requests={"cpu": "1"}),
        make_pod("a", requests={"cpu": 1}),
        make_pod("a", node="n"),
        make_pod("a", spec=VOLUMES),
        make_pod("a", owner="DaemonSet"),
        make_pod(
            "a", status={"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}, node="n"
        ),
    ]
    for raw in raws:
        plain = Pod.from_dict(raw)
        for _again in range(2):
            shared = sharing.pod(plain)
            assert shared == sharing.pod(raw) == plain
            assert (shared.requests, shared.group) == (Pod.from_dict(raw).requests, Pod.from_dict(raw).group)


def test_a_pod_whose_requests_cannot_be_read_is_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match="Pod/default/a: spec"):
        Sharing().pod(Pod.from_dict(make_pod("a", requests={"cpu": "x"})))


@pytest.mark.parametrize("place", ["metadata", "spec", "status"])
def test_text_that_is_none_is_refused_wherever_it_stands(place: str) -> None:
    raw = pod_with("\ud800", place)
    with pytest.raises(InvalidObject, match=place):
        Sharing().pod(raw)


def pod_with(text: str, place: str) -> dict[str, Any]:
    raw = make_pod("a", labels={"app": "a"})
    parts: dict[str, dict[str, Any]] = {
        "metadata": {"labels": {"app": text}},
        "spec": {"nodeName": text},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": text}]},
    }
    raw[place] = {**raw[place], **parts[place]}
    return raw


@pytest.mark.parametrize("oddity", [PodSpec(node_selector={"a": "\ud800"}), PodSpec(overhead={"cpu": 10**30})])
def test_what_cannot_be_written_down_is_not_shared(oddity: PodSpec) -> None:
    odd = Pod(ObjectMeta(name="a"), oddity)
    assert Sharing().pod(odd) is odd


def test_too_many_different_pods_are_forgotten_again() -> None:
    sharing = Sharing()
    for number in range(9_000):
        sharing.pod(pod("a", node=f"n{number}"))
    assert sharing.pod(pod("b", node="n0")) == pod("b", node="n0")
