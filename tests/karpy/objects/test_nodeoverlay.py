from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay, PriceChange, read_overlay
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.testing import make_overlay, selector

FAMILY = "example.com/family"


def overlay(**spec: Any) -> NodeOverlay:
    return NodeOverlay.from_dict(make_overlay("o", **spec))


def test_an_overlay_is_read() -> None:
    read = overlay(
        requirements=[selector(FAMILY, "In", "m"), selector("beta.kubernetes.io/arch", "NotIn", "arm64")],
        price="0.25",
        capacity={"example.com/device": "4", "hugepages-2Mi": "1Gi"},
        weight=7,
    )
    assert read.requirements == Requirements(
        [Requirement.in_(FAMILY, "m"), Requirement.not_in("kubernetes.io/arch", "arm64")]
    )
    assert read.price == PriceChange.parse_price("0.25")
    assert read.capacity == Resources({"example.com/device": 4, "hugepages-2Mi": 2**30})
    assert read.weight == 7
    assert overlay(requirements=[]).weight == 0


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize("price", ["0", "1", "0.25", "00.5"])
def test_a_price_is_a_plain_number(price: str) -> None:
    assert overlay(price=price).price == PriceChange.parse_price(price)


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize("price", ["-1", "+1", "1%", "", "1.", ".5", "1e3", "NaN", "inf", " 1", "٣", "9" * 400])
def test_a_price_with_a_sign_or_anything_else_is_refused(price: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        overlay(price=price)
    assert caught.value.path == "spec.price"
    assert str(caught.value).startswith("NodeOverlay/o: spec.price: ")
    assert caught.value.accepted


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize("change", ["+0.5", "-1", "-.5", "+10%", "+.5%", "+1000%", "-10%", "-99.9%", "-100%"])
def test_an_adjustment_has_a_sign(change: str) -> None:
    assert overlay(priceAdjustment=change).price == PriceChange.parse_adjustment(change)


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize("change", ["0.5", "10%", "-101%", "-100.1%", "+-1", "++1", "+", "%", "", "+1 %", "+nan"])
def test_an_adjustment_without_a_sign_or_of_more_than_all_is_refused(change: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        overlay(priceAdjustment=change)
    assert caught.value.path == "spec.priceAdjustment"
    assert caught.value.accepted


@pytest.mark.core("CORE-735")
def test_a_price_and_an_adjustment_exclude_each_other() -> None:
    with pytest.raises(InvalidObject, match="price '1' and priceAdjustment '\\+1'") as caught:
        overlay(price="1", priceAdjustment="+1")
    assert (caught.value.path, caught.value.accepted) == ("spec", "one of them")


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", "pods"])
def test_resources_that_the_cloud_knows_are_refused(name: str) -> None:
    with pytest.raises(InvalidObject, match=name) as caught:
        overlay(capacity={name: "1"})
    assert caught.value.path == "spec.capacity"


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"capacity": {"a/b": "-1"}}, "spec.capacity.a/b"),
        ({"capacity": {"a/b": "many"}}, "spec.capacity.a/b"),
        ({"weight": 0}, "spec.weight"),
        ({"weight": 10_001}, "spec.weight"),
        ({"weight": "1"}, "spec.weight"),
        ({"price": 1}, "spec.price"),
        ({"requirements": None}, "spec.requirements"),
        ({"requirements": [selector(FAMILY, "Exists")] * 101}, "spec.requirements"),
        ({"requirements": [selector("", "Exists")]}, "spec.requirements[0].key"),
        ({"requirements": [selector("a b", "Exists")]}, "spec.requirements[0].key"),
        ({"requirements": [selector("a/" + "x" * 64, "Exists")]}, "spec.requirements[0].key"),
        ({"requirements": [selector("karpenter.sh/colour", "Exists")]}, "spec.requirements[0].key"),
        ({"requirements": [selector("kubernetes.io/hostname", "Exists")]}, "spec.requirements[0].key"),
        ({"requirements": [selector(FAMILY, "Is", "m")]}, "spec.requirements[0].operator"),
        ({"requirements": [selector(FAMILY, "In", "ok", "not ok")]}, "spec.requirements[0].values[1]"),
        ({"requirements": [selector(FAMILY, "In", "x" * 64)]}, "spec.requirements[0].values[0]"),
        ({"requirements": [selector(FAMILY, "Gt", "five")]}, "spec.requirements[0].values"),
        ({"requirements": [selector(FAMILY, "Gt", "5", "6")]}, "spec.requirements[0].values"),
        ({"requirements": [selector(FAMILY, "Lte", "-5")]}, "spec.requirements[0].values[0]"),
        ({"requirements": [selector(FAMILY, "Exists"), selector(FAMILY, "Gt", "+5.0")]}, "spec.requirements[1].values"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        overlay(**spec)
    assert caught.value.path.startswith(path)


@pytest.mark.core("CORE-735")
@pytest.mark.parametrize("operator", ["In", "NotIn"])
def test_in_and_not_in_need_values(operator: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        overlay(requirements=[selector(FAMILY, operator)])
    assert (caught.value.path, caught.value.accepted) == ("spec.requirements[0].values", "at least one value")


@pytest.mark.core("CORE-735")
def test_pools_and_other_well_known_labels_may_be_asked_for() -> None:
    asked = [selector("karpenter.sh/nodepool", "In", "a"), selector("karpenter.sh/capacity-type", "In", "spot")]
    assert set(overlay(requirements=asked).requirements) == {"karpenter.sh/nodepool", "karpenter.sh/capacity-type"}


@pytest.mark.core("CORE-735")
def test_overlays_go_by_weight_and_then_from_the_end_of_the_alphabet() -> None:
    read = [NodeOverlay.from_dict(make_overlay(name, weight=weight)) for name, weight in _WEIGHTS]
    assert [each.name for each in sorted(read, key=lambda each: each.order)] == ["c", "z", "b", "y", "a"]


_WEIGHTS = (("a", None), ("b", 5), ("c", 10), ("y", None), ("z", 5))


def test_status_does_not_make_an_overlay_another_one() -> None:
    raw = make_overlay("o", price="1")
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    later = {**raw, "metadata": {**raw["metadata"], "resourceVersion": "9"}, "status": {"conditions": [condition]}}
    assert NodeOverlay.from_dict(raw) == NodeOverlay.from_dict(later)
    assert hash(NodeOverlay.from_dict(raw)) == hash(NodeOverlay.from_dict(later))


def test_one_that_cannot_be_read_is_a_value_too() -> None:
    found = read_overlay("o", make_overlay("o", price="cheap"))
    assert isinstance(found, InvalidOverlay)
    assert found.problem.startswith("NodeOverlay/o: spec.price: 'cheap' is not a price")
    assert isinstance(read_overlay("o", make_overlay("o", price="1")), NodeOverlay)


ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.sampled_from(("1", "+1%", "In"))
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = st.sampled_from(("requirements", "price", "priceAdjustment", "capacity", "weight"))
ENTRIES = st.fixed_dictionaries({}, optional={"key": ANYTHING, "operator": ANYTHING, "values": ANYTHING})


@given(st.dictionaries(FIELDS, ANYTHING), st.lists(ENTRIES, max_size=2), ANYTHING)
def test_whatever_is_written_it_is_an_overlay_or_says_why_not(spec: Any, entries: Any, status: Any) -> None:
    for body in (spec, {**spec, "requirements": entries}, status):
        found = read_overlay("o", {"kind": "NodeOverlay", "metadata": {"name": "o"}, "spec": body, "status": status})
        assert isinstance(found, NodeOverlay) or found.problem.startswith("NodeOverlay/o: ")


# What becomes of a price


@pytest.mark.core("CORE-747")
@pytest.mark.parametrize(
    ("change", "price", "after"),
    [
        ("+0.5", 2.0, 2.5),
        ("-0.5", 2.0, 1.5),
        ("-5", 2.0, 0.0),
        ("+10%", 2.0, 2.2),
        ("-10%", 2.0, 1.8),
        ("-100%", 2.0, 0.0),
        ("+150%", 2.0, 5.0),
        ("+0%", 2.0, 2.0),
        ("-0.5%", 200.0, 199.0),
        ("+10%", 0.0, 0.0),
    ],
)
def test_an_adjustment_moves_a_price_and_never_below_zero(change: str, price: float, after: float) -> None:
    assert PriceChange.parse_adjustment(change).of(price) == pytest.approx(after)


@pytest.mark.core("CORE-747")
def test_a_price_stands_in_the_place_of_any_other_and_of_none() -> None:
    for before in (2.0, 0.0, None):
        assert PriceChange.parse_price("0.3").of(before) == 0.3


@pytest.mark.parametrize("change", ["+1", "-1", "+10%", "-100%"])
def test_where_there_is_no_price_an_adjustment_makes_none(change: str) -> None:
    assert PriceChange.parse_adjustment(change).of(None) is None


PRICES = st.one_of(st.none(), st.floats(0, allow_infinity=False), st.floats(0, 1000))
CHANGES = st.one_of(
    st.floats(0, allow_infinity=False, allow_nan=False).map(lambda x: PriceChange.parse_price(f"{x:.20f}")),
    st.floats(-1e308, 1e308).map(lambda x: PriceChange.parse_adjustment(f"{x:+.20f}")),
    st.floats(-99, 1e308).map(lambda x: PriceChange.parse_adjustment(f"{x:+.2f}%")),
)


@given(CHANGES, PRICES)
def test_no_change_makes_a_negative_price_or_one_that_is_no_number(change: PriceChange, price: float | None) -> None:
    after = change.of(price)
    assert after is None or after >= 0


def test_a_change_prints_as_it_is_written() -> None:
    texts = [str(PriceChange.parse_adjustment(text)) for text in ("+0.5", "-1", "+10%", "-100%")]
    assert texts == ["+0.5", "-1", "+10%", "-100%"]
    assert str(PriceChange.parse_price("0.25")) == "0.25"
