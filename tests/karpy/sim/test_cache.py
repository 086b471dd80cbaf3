from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.sim.apiserver import ApiServer
from karpy.sim.cache import ClusterCache, controller_of, key_of
from karpy.sim.clock import VirtualClock
from karpy.sim.loop import Loop
from tests.karpy.sim.manifests import bare_pod


class Setup:
    def __init__(self) -> None:
        clock = VirtualClock()
        self.api = ApiServer(clock)
        self.loop = Loop(self.api, clock)
        self.cache = ClusterCache(self.loop)

    def create(self, name: str, **metadata: Any) -> None:
        pod = bare_pod(name)
        self.api.create(kinds.POD, {**pod, "metadata": {**pod["metadata"], **metadata}}, "default")
        self.loop.run_ready()


def owner(uid: str, *, controller: bool = True) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": uid, "uid": uid, "controller": controller}


def names(pods: Any) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def test_pods_are_found_by_their_node_once_they_are_bound() -> None:
    it = Setup()
    it.create("a")
    assert names(it.cache.pods_on("node-1")) == []
    it.api.bind("a", "default", "node-1")
    it.loop.run_ready()
    assert names(it.cache.pods_on("node-1")) == ["a"]
    it.api.delete(kinds.POD, "a", "default", grace_period_s=0)
    it.loop.run_ready()
    assert names(it.cache.pods_on("node-1")) == []


def test_pods_are_found_by_their_controlling_owner_or_by_having_none() -> None:
    it = Setup()
    it.create("a", ownerReferences=[owner("one")])
    it.create("b", ownerReferences=[owner("one", controller=False)])
    it.create("c")
    assert names(it.cache.owned(kinds.POD, "one")) == ["a"]
    assert names(it.cache.orphans(kinds.POD, "default").members.values()) == ["b", "c"]
    assert names(it.cache.orphans(kinds.POD, "kube-system").members.values()) == []


def test_a_pod_that_changes_its_owner_moves() -> None:
    it = Setup()
    it.create("a", ownerReferences=[owner("one")])
    it.api.patch(kinds.POD, "a", {"metadata": {"ownerReferences": [owner("two")]}}, "default")
    it.loop.run_ready()
    assert names(it.cache.owned(kinds.POD, "one")) == []
    assert names(it.cache.owned(kinds.POD, "two")) == ["a"]


def test_objects_are_found_by_name_and_pods_by_namespace() -> None:
    it = Setup()
    it.create("a")
    found = it.cache.get(kinds.POD, "a", "default")
    assert found is not None
    assert key_of(found) == ("default", "a")
    assert controller_of(found) is None
    assert names(it.cache.pods_in("default")) == ["a"]
    assert names(it.cache.pods_in("kube-system")) == []
    assert it.cache.get(kinds.POD, "b", "default") is None
