"""Garbage as the collector of a real cluster finds it: dependents that come late, owners elsewhere, deletes with a condition."""

from __future__ import annotations

import pytest

from tests.karpy.sim.api.conftest import Client

MAPS = "/api/v1/namespaces/{}/configmaps"
DEFAULT = MAPS.format("default")


def make(rest: Client, name: str, owner: dict | None = None, space: str = "default", **meta: object) -> dict:
    owners = [] if owner is None else [reference(owner)]
    body = {"metadata": {"name": name, "ownerReferences": owners, **meta}}
    code, answer = rest("POST", MAPS.format(space), body)
    assert code == 201, answer
    found: dict = answer
    return found


def reference(owner: dict, **more: object) -> dict:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


def names(rest: Client, space: str = "default") -> list[str]:
    return [each["metadata"]["name"] for each in rest("GET", MAPS.format(space))[1]["items"]]


def test_a_dependent_that_comes_after_its_owner_went_goes_too(rest: Client) -> None:
    owner = make(rest, "owner")
    rest("DELETE", f"{DEFAULT}/owner")
    make(rest, "late", owner)
    assert names(rest) == []


def test_one_that_is_given_a_lost_owner_goes_too(rest: Client) -> None:
    owner = make(rest, "owner")
    rest("DELETE", f"{DEFAULT}/owner")
    make(rest, "free")
    patch = {"metadata": {"ownerReferences": [reference(owner)]}}
    rest("PATCH", f"{DEFAULT}/free", patch, media="application/merge-patch+json")
    assert names(rest) == []


def test_an_owner_in_another_namespace_is_none(rest: Client) -> None:
    rest("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    make(rest, "abroad", make(rest, "owner"), "other")
    assert names(rest, "other") == []


def test_what_is_cluster_wide_may_own_what_is_in_a_namespace(rest: Client) -> None:
    node = rest("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[1]
    make(rest, "kept", node)
    assert names(rest) == ["kept"]
    rest("DELETE", "/api/v1/nodes/n")
    assert names(rest) == []


def test_an_owner_with_a_second_life_is_another(rest: Client) -> None:
    first = make(rest, "owner")
    rest("DELETE", f"{DEFAULT}/owner")
    make(rest, "owner")
    make(rest, "late", first)
    assert names(rest) == ["owner"]


@pytest.mark.parametrize(("blocking", "left"), [(True, ["held", "owner"]), (False, ["held"])])
def test_in_the_foreground_only_blocking_dependents_are_waited_for(
    rest: Client, left: list[str], *, blocking: bool
) -> None:
    owner = make(rest, "owner")
    held = {"name": "held", "finalizers": ["a.b/c"], "ownerReferences": [reference(owner, blockOwnerDeletion=blocking)]}
    assert rest("POST", DEFAULT, {"metadata": held})[0] == 201
    rest("DELETE", f"{DEFAULT}/owner", propagationPolicy="Foreground")
    assert names(rest) == left
    rest("PATCH", f"{DEFAULT}/held", {"metadata": {"finalizers": None}}, media="application/merge-patch+json")
    assert names(rest) == []


def test_a_collection_is_deleted_by_selector_and_the_answer_shows_what_was(rest: Client) -> None:
    make(rest, "a", labels={"x": "1"})
    make(rest, "b", labels={"x": "2"})
    code, answer = rest("DELETE", DEFAULT, labelSelector="x=1", dryRun="All")
    assert (code, names(rest)) == (200, ["a", "b"])
    code, answer = rest("DELETE", DEFAULT, labelSelector="x=1")
    assert (code, answer["kind"], [each["metadata"]["name"] for each in answer["items"]]) == (
        200,
        "ConfigMapList",
        ["a"],
    )
    assert names(rest) == ["b"]


def test_an_empty_map_that_is_applied_is_no_claim_to_what_others_have_in_it(rest: Client) -> None:
    rest("POST", DEFAULT, {"metadata": {"name": "c"}, "data": {"a": "b"}})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}
    code, answer = rest("PATCH", f"{DEFAULT}/c", body, media="application/apply-patch+yaml", fieldManager="m")
    assert (code, answer["data"]) == (200, {"a": "b"})
