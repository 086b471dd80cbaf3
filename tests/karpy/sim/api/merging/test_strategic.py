from __future__ import annotations

import pytest

from karpy.errors import KubeError
from karpy.sim.api.merging.strategic import strategic_merge


def _pod(*containers: dict) -> dict:
    return {"spec": {"containers": list(containers)}}


def test_containers_merge_by_name() -> None:
    merged = strategic_merge(_pod({"name": "a", "image": "1"}, {"name": "b"}), _pod({"name": "a", "image": "2"}))
    assert merged == _pod({"name": "a", "image": "2"}, {"name": "b"})


def test_new_elements_follow_the_element_that_the_patch_names_before_them() -> None:
    env = {"env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}
    patch = {"env": [{"name": "X", "value": "9"}, {"name": "Z", "value": "3"}]}
    assert [each["name"] for each in strategic_merge(env, patch)["env"]] == ["X", "Z", "Y"]


def test_an_element_can_be_deleted() -> None:
    assert strategic_merge(_pod({"name": "a"}, {"name": "b"}), _pod({"name": "b", "$patch": "delete"})) == _pod(
        {"name": "a"}
    )


def test_a_list_can_be_replaced() -> None:
    patch = _pod({"name": "c"}, {"$patch": "replace"})
    assert strategic_merge(_pod({"name": "a"}), patch) == _pod({"name": "c"})


def test_an_object_can_be_replaced_or_removed() -> None:
    target = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}, "x": 1}}
    assert strategic_merge(target, {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}})["spec"][
        "strategy"
    ] == {"type": "Recreate"}
    assert strategic_merge(target, {"spec": {"strategy": {"$patch": "delete"}}}) == {"spec": {"x": 1}}


def test_retained_keys_drop_the_others() -> None:
    target = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}
    assert strategic_merge(target, {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}) == {
        "strategy": {"type": "Recreate"}
    }


def test_the_order_of_elements_can_be_set() -> None:
    patch = {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [{"name": "c"}]}}
    assert strategic_merge(_pod({"name": "a"}), patch) == _pod({"name": "c"}, {"name": "a"})


def test_finalizers_are_a_set_and_new_values_come_first_as_with_the_real_server() -> None:
    target = {"metadata": {"finalizers": ["a", "b"]}}
    assert strategic_merge(target, {"metadata": {"finalizers": ["c"]}})["metadata"]["finalizers"] == ["c", "a", "b"]
    removed = strategic_merge(target, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})
    assert removed["metadata"]["finalizers"] == ["b"]


@pytest.mark.parametrize("name", ["tolerations", "taints", "command"])
def test_atomic_lists_are_replaced(name: str) -> None:
    assert strategic_merge({"spec": {name: [{"key": "a"}]}}, {"spec": {name: [{"key": "b"}]}}) == {
        "spec": {name: [{"key": "b"}]}
    }


def test_an_element_without_its_key_is_refused() -> None:
    with pytest.raises(KubeError) as refused:
        strategic_merge(_pod({"name": "a"}), _pod({"image": "x"}))
    assert refused.value.code == 500  # as on the real server
    assert refused.value.message == "map: map[image:x] does not contain declared merge key: name"
