from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceTypes, Offering, order_by_price
from karpy.cloud.overlays import Evaluation, Overlays, Validity
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay, read_overlay
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.testing import make_instance_type, make_nodepool, make_overlay, selector

DEVICE = "acme.com/device"
SMALL, LARGE = make_instance_type("small", price=1.0), make_instance_type("large", price=4.0)
TYPES = InstanceTypes([SMALL, LARGE])
SMALL_ONLY = [selector(labels.INSTANCE_TYPE, "In", "small")]
SPOT_ONLY = [selector(labels.CAPACITY_TYPE, "In", "spot")]
ON_DEMAND_ONLY = [selector(labels.CAPACITY_TYPE, "NotIn", "spot")]


def overlay(name: str, **spec: Any) -> NodeOverlay | InvalidOverlay:
    return read_overlay(name, make_overlay(name, **spec))


def pool(name: str = "default", **fields: Any) -> NodePool:
    return NodePool.from_dict(make_nodepool(name, **fields))


def evaluate(
    *overlays: NodeOverlay | InvalidOverlay,
    pools: Sequence[NodePool] = (),
    types: Mapping[str, InstanceTypes] | None = None,
) -> Evaluation:
    pools = pools or (pool(),)
    return Overlays().evaluate(overlays, pools, types or {each.name: TYPES for each in pools})


def prices(found: Evaluation, name: str = "small", pool: str = "default") -> list[float]:
    """Of spot and on-demand in the first zone."""
    instance_type = found.types[pool].by_name(name)
    assert instance_type is not None
    return [offering.price for offering in instance_type.offerings[:2]]


def capacity(found: Evaluation, name: str = "small", pool: str = "default") -> Mapping[str, int]:
    instance_type = found.types[pool].by_name(name)
    assert instance_type is not None
    return instance_type.capacity


def refused(found: Evaluation) -> dict[str, str]:
    """The overlays that do not count, each with the rival."""
    return {name: verdict.rival for name, verdict in found.verdicts.items() if verdict.validity is not Validity.VALID}


# What an overlay selects, and what it does there


@pytest.mark.core("CORE-736")
def test_a_price_is_that_of_each_offering_selected_and_of_no_other() -> None:
    found = evaluate(overlay("o", price="0.01", requirements=[*SMALL_ONLY, *SPOT_ONLY]))
    assert prices(found) == [0.01, 1.0]
    assert prices(found, "large") == [1.6, 4.0]
    assert refused(found) == {}


def test_an_adjustment_starts_from_the_price_of_each_offering() -> None:
    assert prices(evaluate(overlay("o", priceAdjustment="+50%"))) == pytest.approx([0.6, 1.5])
    assert prices(evaluate(overlay("o", priceAdjustment="-0.5"))) == pytest.approx([0.0, 0.5])


def test_capacity_is_the_types_whichever_of_its_offerings_were_selected() -> None:
    found = evaluate(overlay("o", capacity={DEVICE: "4"}, requirements=[*SMALL_ONLY, *SPOT_ONLY]))
    assert capacity(found)[DEVICE] == 4
    assert DEVICE not in capacity(found, "large")
    changed = found.types["default"].by_name("small")
    assert changed is not None
    assert changed.allocatable[DEVICE] == 4
    assert changed.offerings == SMALL.offerings


def test_an_overlay_needs_an_offering_to_select() -> None:
    nowhere = [selector(labels.ZONE, "In", "zone-x")]
    found = evaluate(overlay("o", capacity={DEVICE: "4"}, price="1", requirements=nowhere))
    assert found.types["default"] is TYPES


def test_sold_out_offerings_are_selected_like_others() -> None:
    gone = make_instance_type("small", offerings=[Offering("zone-a", "spot", 1.0, available=False)])
    found = evaluate(overlay("o", price="3", capacity={DEVICE: "1"}), types={"default": InstanceTypes([gone])})
    (changed,) = found.types["default"]
    assert (changed.offerings[0].price, changed.offerings[0].available, changed.capacity[DEVICE]) == (3.0, False, 1)


def test_a_key_that_a_type_does_not_define_selects_nothing_unless_asked_for_negatively() -> None:
    assert prices(evaluate(overlay("o", price="9", requirements=[selector("team", "Exists")]))) == [0.4, 1.0]
    assert prices(evaluate(overlay("o", price="9", requirements=[selector("team", "NotIn", "a")]))) == [9.0, 9.0]
    undefined = [selector(labels.WINDOWS_BUILD, "In", "10.0")]
    assert prices(evaluate(overlay("o", price="9", requirements=undefined))) == [0.4, 1.0]


@pytest.mark.core("CORE-736")
def test_an_overlay_may_be_about_one_pool_or_about_pools_of_a_label() -> None:
    pools = (pool("a", labels={"team": "red"}), pool("b", labels={"team": "blue"}))
    of_a = evaluate(overlay("o", price="9", requirements=[selector(labels.NODEPOOL, "In", "a")]), pools=pools)
    assert (prices(of_a, pool="a"), prices(of_a, pool="b")) == ([9.0, 9.0], [0.4, 1.0])
    of_blue = evaluate(overlay("o", price="9", requirements=[selector("team", "In", "blue")]), pools=pools)
    assert (prices(of_blue, pool="a"), prices(of_blue, pool="b")) == ([0.4, 1.0], [9.0, 9.0])


def test_a_label_of_the_pool_narrows_what_its_types_can_be() -> None:
    arm = make_instance_type("arm", arch="arm64")
    only_arm = [selector(labels.ARCH, "In", "arm64")]
    found = evaluate(
        overlay("o", price="9", requirements=only_arm),
        pools=(pool(labels={labels.ARCH: "amd64"}),),
        types={"default": InstanceTypes([arm])},
    )
    assert found.types["default"].by_name("arm") is arm


def test_requirements_of_the_pool_do_not_matter() -> None:
    narrow = pool(requirements=[selector("team", "In", "red")])
    assert prices(evaluate(overlay("o", price="9", requirements=[selector("team", "In", "red")]), pools=(narrow,))) == [
        0.4,
        1.0,
    ]


# Several of them


@pytest.mark.core("CORE-736")
def test_the_heaviest_counts_for_each_offering() -> None:
    found = evaluate(
        overlay("light", price="1", weight=1),
        overlay("heavy", price="7", weight=9, requirements=SPOT_ONLY),
        overlay("lightest", price="3"),
    )
    assert refused(found) == {}
    assert prices(found) == [7.0, 1.0]


@pytest.mark.core("CORE-736")
def test_the_heaviest_counts_for_each_resource() -> None:
    found = evaluate(
        overlay("heavy", capacity={DEVICE: "1"}, weight=2, requirements=SMALL_ONLY),
        overlay("light", capacity={DEVICE: "5", "acme.com/other": "5"}, weight=1),
    )
    assert refused(found) == {}
    assert (capacity(found)[DEVICE], capacity(found)["acme.com/other"]) == (1, 5)
    assert capacity(found, "large")[DEVICE] == 5


@pytest.mark.core("CORE-736")
def test_a_heavier_overlay_that_only_says_a_capacity_leaves_the_price_to_a_lighter_one() -> None:
    found = evaluate(overlay("heavy", capacity={DEVICE: "1"}, weight=2), overlay("light", price="3", weight=1))
    assert (prices(found), capacity(found)[DEVICE]) == ([3.0, 3.0], 1)


@pytest.mark.core("CORE-736")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"price": "1"}, {"price": "2"}),
        ({"price": "1"}, {"price": "1"}),
        ({"price": "1"}, {"priceAdjustment": "+1"}),
        ({"priceAdjustment": "+10%"}, {"priceAdjustment": "-10%"}),
        ({"capacity": {DEVICE: "1"}}, {"capacity": {DEVICE: "2"}}),
        ({"capacity": {DEVICE: "1"}}, {"capacity": {DEVICE: "1", "acme.com/other": "1"}}),
    ],
)
@pytest.mark.parametrize("weight", [None, 7])
def test_two_of_one_weight_that_set_the_same_conflict_even_if_to_the_same(
    first: dict[str, Any], second: dict[str, Any], weight: int | None
) -> None:
    found = evaluate(
        overlay("a", requirements=SMALL_ONLY, weight=weight, **first), overlay("b", weight=weight, **second)
    )
    assert refused(found) == {"a": "b"}  # the later in the alphabet goes first
    assert found.verdicts["a"].validity is Validity.CONFLICT


@pytest.mark.core("CORE-736")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"price": "1", "requirements": SPOT_ONLY}, {"price": "2", "requirements": ON_DEMAND_ONLY}),
        ({"price": "1"}, {"capacity": {DEVICE: "1"}}),
        ({"capacity": {DEVICE: "1"}}, {"capacity": {"acme.com/other": "1"}}),
        ({"price": "1", "weight": 1}, {"price": "2", "weight": 2}),
        ({"price": "1"}, {"price": "2", "weight": 1}),
    ],
)
def test_overlays_that_set_different_things_or_have_different_weights_do_not(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert refused(evaluate(overlay("a", **first), overlay("b", **second))) == {}


def test_capacity_conflicts_by_type_though_the_offerings_differ() -> None:
    found = evaluate(
        overlay("a", capacity={DEVICE: "1"}, requirements=SPOT_ONLY),
        overlay("b", capacity={DEVICE: "2"}, requirements=ON_DEMAND_ONLY),
    )
    assert refused(found) == {"a": "b"}


def test_a_conflict_says_with_whom_and_about_what() -> None:
    found = evaluate(
        overlay("a", price="1", weight=7, requirements=SMALL_ONLY), overlay("b", price="2", weight=7)
    ).verdicts["a"]
    assert found.message == (
        'conflict with another overlay: "b", also of weight 7, sets the price of small (spot, zone-a), the price of small '
        '(on-demand, zone-a), the price of small (spot, zone-b) and 3 more (nodepool "default") as well'
    )
    found = evaluate(overlay("a", capacity={DEVICE: "1"}), overlay("b", capacity={DEVICE: "1"})).verdicts["a"]
    assert found.message == (
        f'conflict with another overlay: "b", also of no weight, sets {DEVICE} of small, {DEVICE} of large '
        '(nodepool "default") as well'
    )


@pytest.mark.core("CORE-736")
def test_one_that_conflicts_anywhere_counts_nowhere() -> None:
    pools = (pool("x"), pool("y"))
    found = evaluate(
        overlay("b", price="5", requirements=[selector(labels.NODEPOOL, "In", "y"), *SMALL_ONLY]),
        overlay("a", price="9", capacity={DEVICE: "1"}),
        pools=pools,
    )
    assert refused(found) == {"a": "b"}
    assert found.types["x"] is TYPES
    assert prices(found, "large", pool="y") == [1.6, 4.0]
    assert DEVICE not in capacity(found, "large", pool="y")


def test_one_that_was_rejected_is_nobodys_rival() -> None:
    found = evaluate(
        overlay("a", price="1", requirements=[selector(labels.INSTANCE_TYPE, "In", "large")]),
        overlay("b", price="2"),
        overlay("c", price="3", requirements=SMALL_ONLY),
    )
    assert refused(found) == {"b": "c"}
    assert (prices(found), prices(found, "large")) == ([3.0, 3.0], [1.0, 1.0])


def test_a_heavier_overlay_does_not_settle_a_conflict_below_it() -> None:
    found = evaluate(overlay("top", price="1", weight=9), overlay("a", price="2"), overlay("b", price="3"))
    assert refused(found) == {"a": "b"}


def test_one_that_cannot_be_read_gets_a_verdict_and_stops_nobody() -> None:
    found = evaluate(overlay("bad", price="cheap"), overlay("good", price="3"))
    assert found.verdicts["bad"].validity is Validity.UNREADABLE
    assert "spec.price" in found.verdicts["bad"].message
    assert prices(found) == [3.0, 3.0]


# Pools


@pytest.mark.core("CORE-736", "CORE-737")
def test_each_pool_has_its_own_catalog_and_one_without_any_does_not_stop_the_others() -> None:
    pools = (pool("a"), pool("b"))
    memory = Overlays()
    raised = (overlay("o", price="9", requirements=SMALL_ONLY),)
    broken = memory.evaluate(raised, pools, {"a": InstanceTypes(), "b": TYPES})
    assert len(broken.types["a"]) == 0
    assert prices(broken, pool="b") == [9.0, 9.0]
    assert prices(memory.evaluate(raised, pools, {"a": TYPES, "b": TYPES}), pool="a") == [9.0, 9.0]


# Nothing is changed in place, and little is made anew


@pytest.mark.core("CORE-736")
def test_the_clouds_own_types_stay_as_they_are_and_what_is_not_touched_is_shared() -> None:
    before = [attrs.asdict(each, recurse=False) for each in TYPES]
    found = evaluate(overlay("o", price="9", capacity={DEVICE: "1"}, requirements=[*SMALL_ONLY, *SPOT_ONLY]))
    assert [attrs.asdict(each, recurse=False) for each in TYPES] == before
    changed = found.types["default"].by_name("small")
    assert changed is not None
    assert found.types["default"].by_name("large") is LARGE
    assert changed.offerings[1] is SMALL.offerings[1]
    assert [offering.price_overlaid for offering in changed.offerings[:2]] == [True, False]
    assert changed.capacity_overlaid


def test_a_pool_that_no_overlay_is_about_keeps_its_own_catalog() -> None:
    assert evaluate().types["default"] is TYPES
    assert evaluate(overlay("o", price="9", requirements=[selector("team", "Exists")])).types["default"] is TYPES
    assert evaluate(overlay("o")).types["default"] is TYPES


def test_the_same_overlays_of_the_same_catalog_are_the_same_catalog() -> None:
    memory, pools = Overlays(), (pool("a"), pool("b"))
    types = {"a": TYPES, "b": TYPES}
    first = memory.evaluate((overlay("o", price="9"),), pools, types)
    again = memory.evaluate((overlay("o", price="9"),), pools, types)
    assert again.types["a"] is first.types["a"]
    # Pools of the same node class that do not differ in their overlays share the columns, too.
    assert first.types["a"] is first.types["b"]
    assert memory.evaluate((overlay("o", price="8"),), pools, types).types["a"] is not first.types["a"]
    fresh = InstanceTypes([SMALL, LARGE])
    assert (
        memory.evaluate((overlay("o", price="9"),), pools, {"a": fresh, "b": fresh}).types["a"] is not first.types["a"]
    )


@pytest.mark.core("CORE-737")
def test_what_one_pool_is_told_leaves_the_catalogs_of_others_alone_and_old_answers_are_forgotten() -> None:
    memory, pools = Overlays(), (pool("a"), pool("b"))
    types = {"a": TYPES, "b": TYPES}
    of_b = [selector(labels.NODEPOOL, "In", "b")]
    kept = overlay("kept", price="9", requirements=[selector(labels.NODEPOOL, "In", "a")])
    first = memory.evaluate((kept,), pools, types)
    for price in range(50):
        later = memory.evaluate((kept, overlay("other", price=str(price), requirements=of_b)), pools, types)
        assert later.types["a"] is first.types["a"]
    assert (len(memory._made), len(memory._selected)) == (2, 4)


def test_what_an_overlay_makes_free_is_the_cheapest() -> None:
    found = evaluate(
        overlay("o", priceAdjustment="-100%", requirements=[selector(labels.INSTANCE_TYPE, "In", "large")])
    )
    assert prices(found, "large") == [0.0, 0.0]
    assert [each.name for each in order_by_price(found.types["default"], Requirements())] == ["large", "small"]


# As recorded


@pytest.mark.core("CORE-736")
def test_overlays_fare_as_karpenter_was_seen_to_treat_them(shared: Path) -> None:
    """The conditions that Karpenter wrote, and that it wrote when the rival had gone."""
    lines = (shared / "data" / "vectors" / "lifecycle" / "11b-overlay-buffer.jsonl").read_text().splitlines()
    applied = [obj for obj in json.loads(lines[0])["objectsApplied"] if obj["kind"] == "NodeOverlay"]
    read = {obj["metadata"]["name"]: read_overlay(obj["metadata"]["name"], obj) for obj in applied}
    names = ("m-8x-amd64-linux", "c-4x-amd64-linux", "s-2x-amd64-linux")
    types = {"default": InstanceTypes(make_instance_type(name) for name in names)}

    def reasons() -> dict[str, str]:
        verdicts = evaluate(*read.values(), types=types).verdicts
        return {name: verdict.validity.value for name, verdict in verdicts.items()}

    recorded: dict[str, str] = {}
    for line in map(json.loads, lines[1:]):
        obj = line.get("object", {})
        if obj.get("kind") != "NodeOverlay":
            continue
        name = obj["metadata"]["name"]
        if line["type"] == "DELETED":
            assert reasons() == recorded
            del read[name], recorded[name]
        for condition in line.get("mergePatch", {}).get("status", {}).get("conditions", ()):
            if condition["type"] == "ValidationSucceeded":
                recorded[name] = condition["reason"]
    assert reasons() == recorded
    assert len(recorded) == 4


# Prices that are none


@pytest.mark.parametrize("price", [math.nan, math.inf, -1.0])
def test_an_adjustment_of_no_price_leaves_it_alone_and_a_price_mends_it(price: float) -> None:
    odd = InstanceTypes([make_instance_type("odd", offerings=[Offering("zone-a", "spot", price)])])
    assert evaluate(overlay("o", priceAdjustment="-1"), types={"default": odd}).types["default"] is odd
    (mended,) = evaluate(overlay("o", price="2"), types={"default": odd}).types["default"]
    assert mended.offerings[0].has_price
