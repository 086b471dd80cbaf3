from __future__ import annotations

import json
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.lists import Found, key_of, read_objects
from karpy.objects.node import Node
from karpy.objects.pod import Pod
from karpy.testing import make_node, make_nodepool, make_pod


def read(document: Any) -> list[Found]:
    return list(read_objects(json.dumps(document).encode()))


def without_kind(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}


def test_a_list_of_one_kind_says_once_what_it_holds() -> None:
    pods = [without_kind(make_pod("a")), without_kind(make_pod("b"))]
    found = read({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": pods})
    assert [(each.group, each.kind, each.object.key) for each in found] == [
        ("", "Pod", "default/a"),
        ("", "Pod", "default/b"),
    ]
    assert found[0].object == Pod.from_dict(make_pod("a"))


def test_it_does_not_matter_where_the_kind_stands() -> None:
    (found,) = read({"items": [without_kind(make_node("n"))], "metadata": {}, "apiVersion": "v1", "kind": "NodeList"})
    assert found.object == Node.from_dict(make_node("n"))


def test_kubectls_list_may_hold_objects_of_all_kinds() -> None:
    objects = [make_pod("p"), make_nodepool("default"), {"apiVersion": "v1", "kind": "List", "items": [make_node("n")]}]
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=4).encode()
    assert [(each.group, each.kind, type(each.object)) for each in read_objects(document)] == [
        ("", "Pod", Pod),
        ("karpenter.sh", "NodePool", dict),
        ("", "Node", Node),
    ]


def test_an_object_may_stand_by_itself() -> None:
    assert [each.object for each in read(make_pod("p"))] == [Pod.from_dict(make_pod("p"))]


def test_a_list_may_be_empty() -> None:
    assert read({"kind": "PodList", "apiVersion": "v1", "items": []}) == []


def test_what_cannot_be_decoded_is_given_raw_and_does_not_stop_the_others() -> None:
    bad = without_kind(make_pod("bad", spec={"tolerations": "none"}))
    pods = [without_kind(make_pod("a")), bad, without_kind(make_pod("b"))]
    found = read({"kind": "PodList", "apiVersion": "v1", "items": pods})
    assert [isinstance(each.object, Pod) for each in found] == [True, False, True]
    assert found[1].object == {**bad, "kind": "Pod", "apiVersion": "v1"}
    with pytest.raises(InvalidObject, match=r"Pod/default/bad: spec\.tolerations"):
        Pod.from_dict(found[1].object)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"kind": 7}',
        b'{"kind":"PodList","apiVersion":"v1","items":[{]}',
        b'{"kind":"PodList","apiVersion":"v1","items":7}',
        b'{"kind":"PodList","apiVersion":"v1","items":[7]}',
        b'{"kind":"List","apiVersion":"v1","items":[7]}',
    ],
)
def test_what_is_no_object_is_refused(document: bytes) -> None:
    with pytest.raises(InvalidObject):
        list(read_objects(document))


def test_an_object_is_known_by_namespace_and_name_read_or_not() -> None:
    assert key_of(make_pod("p")) == key_of(Pod.from_dict(make_pod("p"))) == "default/p"
    assert key_of(make_node("n")) == key_of(Node.from_dict(make_node("n"))) == "n"


@pytest.mark.parametrize(
    "obj",
    [{}, 7, {"metadata": None}, {"metadata": {"name": ""}}, {"metadata": {"name": 7}}, Pod.from_dict({"metadata": {}})],
)
def test_an_object_without_a_name_is_nobody(obj: Any) -> None:
    assert key_of(obj) == ""
