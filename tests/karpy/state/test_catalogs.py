from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karpy import labels
from karpy.clock import SystemClock
from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import ProviderContext, RawNodeClass
from karpy.cloud.routing import Clouds
from karpy.errors import Throttled
from karpy.objects.nodeoverlay import InvalidOverlay
from karpy.objects.nodepool import NodePool
from karpy.settings import Settings
from karpy.sim.cloud import create_provider
from karpy.sim.generic import NODE_CLASS
from karpy.state.catalogs import current_types, gated, with_catalog
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    make_buffer,
    make_claim,
    make_node,
    make_overlay,
    make_pod_template,
    selector,
)
from tests.karpy.controllers.stage import pool
from tests.karpy.sim import manifests

ON = Settings(node_overlay=True)
CHEAP = make_overlay("cheap", price="0.001", requirements=[selector(labels.INSTANCE_TYPE, "In", "m-8x-amd64")])


class Cloud:
    """The made-up cloud, of which some pools cannot be told what it sells."""

    def __init__(self) -> None:
        self._real = create_provider(ProviderContext(clock=SystemClock()))
        self.down: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def instance_types(self, asking: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        if asking.name in self.down:
            raise Throttled("not now")
        return self._real.instance_types(asking, node_class)


class Setup:
    def __init__(self, *objects: Mapping[str, Any]) -> None:
        self.cloud = Cloud()
        self.clouds = Clouds([self.cloud])
        self.state = ClusterState.of([manifests.NODE_CLASS, *(objects or (pool(), CHEAP))], (NODE_CLASS,))

    def types(self, name: str = "default", settings: Settings = ON) -> InstanceTypes:
        return with_catalog(self.state.snapshot(), self.clouds, settings)[1].types[name]


def price(types: InstanceTypes, name: str = "m-8x-amd64") -> float:
    found = types.by_name(name)
    assert found is not None
    return found.offerings[0].price


def test_the_state_keeps_overlays_by_name_with_those_that_cannot_be_read() -> None:
    bad = make_overlay("bad", price="cheap")
    state = Setup(pool(), CHEAP, bad).state
    assert [overlay.name for overlay in state.snapshot().overlays] == ["bad", "cheap"]
    assert isinstance(state.overlay("bad"), InvalidOverlay)
    assert state.unreadable == {}


def test_overlays_count_only_behind_their_feature_gate() -> None:
    it = Setup()
    plain = price(it.types(settings=Settings()))
    assert plain > 0.1
    assert price(with_catalog(it.state.snapshot(), it.clouds)[1].types["default"]) == plain
    assert price(it.types()) == 0.001


def test_buffers_count_only_behind_their_feature_gate() -> None:
    objects = [pool(), make_pod_template("chunk"), make_buffer("spare", template="chunk", replicas=2)]
    snapshot, clouds = Snapshot.from_objects(objects), Clouds([])
    assert with_catalog(snapshot, clouds)[0].headroom == ()
    kept = with_catalog(snapshot, clouds, Settings(capacity_buffer=True))[0]
    assert len(kept.headroom) == 2


def test_a_snapshot_with_nothing_behind_closed_gates_stays_the_same_object() -> None:
    snapshot = Snapshot.from_objects([pool()])
    assert gated(snapshot, Settings()) is snapshot


def test_without_overlays_a_pool_has_the_catalog_of_its_cloud() -> None:
    it = Setup(pool())
    assert it.types() is it.types(settings=Settings())


def test_a_catalog_is_the_same_object_until_the_overlays_or_what_the_cloud_sells_changes() -> None:
    it = Setup()
    first = it.types()
    assert it.types() is first
    (found,) = (each for each in it.state.pools() if each.name == "default")
    assert current_types(it.state, found, it.clouds, ON) is first
    it.cloud.set_price("c-1x-amd64", "sim-1a", "spot", 0.5)
    assert it.types() is not first
    assert price(it.types()) == 0.001


@pytest.mark.core("CORE-736", "CORE-737")
def test_a_pool_whose_catalog_cannot_be_had_is_passed_over_and_comes_back() -> None:
    it = Setup(pool("a"), pool("b"), CHEAP)
    it.cloud.down.add("a")
    assert (len(it.types("a")), price(it.types("b"))) == (0, 0.001)
    it.cloud.down.clear()
    assert price(it.types("a")) == 0.001
    assert it.types("a") is it.types("b")


def test_a_claim_is_launched_from_what_it_was_planned_with() -> None:
    it = Setup()
    (found,) = it.state.pools()
    assert current_types(it.state, found, it.clouds, ON) is it.types()
    plain = current_types(it.state, found, it.clouds, Settings())
    assert plain is it.types(settings=Settings())


# Pools that are tried after a rest


def tried(limit: str | None = None) -> dict[str, Any]:
    made = pool()
    made["spec"]["limits"] = {} if limit is None else {"nodes": limit}
    made["status"] = {"conditions": [{"type": "Resting", "status": "Unknown", "message": "3 in a row failed"}]}
    return made


def machine(name: str, *, joined: bool) -> list[dict[str, Any]]:
    if not joined:
        return [make_claim(name, reached=("Launched",))]
    return [make_claim(name), make_node(name, labels={labels.NODEPOOL: "default"}, provider_id=f"test:///{name}")]


@pytest.mark.parametrize(("limit", "most"), [(None, 3), ("9", 3), ("2", 2)])
def test_a_pool_that_is_tried_may_have_one_machine_more(limit: str | None, most: int) -> None:
    setup = Setup(tried(limit), *machine("a", joined=True), *machine("b", joined=True))
    (found,) = with_catalog(setup.state.snapshot(), setup.clouds)[0].pools
    assert found.may_grow
    assert found.limits is not None
    assert dict(found.limits) == {"nodes": most}


def test_while_that_machine_is_on_its_way_the_pool_rests_on() -> None:
    setup = Setup(tried(), *machine("a", joined=True), *machine("b", joined=False))
    (found,) = with_catalog(setup.state.snapshot(), setup.clouds)[0].pools
    assert not found.may_grow
    assert found.rests_because == "3 in a row failed"
