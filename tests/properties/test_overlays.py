"""Overlays are evaluated as their rules say, word by word; and no price that is none wins a choice through them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, cheapest
from karpy.cloud.overlays import Overlays, Validity
from karpy.objects.nodeoverlay import NodeOverlay
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.testing import make_instance_type, make_nodepool, make_overlay, selector

DEVICE = "acme.com/device"
NAMES = st.sampled_from(("a", "b", "c", "d", "e"))
ASKED = st.lists(
    st.sampled_from(
        (
            selector(labels.INSTANCE_TYPE, "In", "t0", "t1"),
            selector(labels.INSTANCE_TYPE, "NotIn", "t0"),
            selector(labels.CAPACITY_TYPE, "In", "spot"),
            selector(labels.ZONE, "NotIn", "zone-a"),
            selector(labels.NODEPOOL, "In", "p"),
            selector("team", "In", "red"),
            selector("team", "DoesNotExist"),
            selector("size", "Gt", "1"),
        )
    ),
    max_size=2,
)
CHANGES = st.sampled_from(
    (
        {"price": "1"},
        {"price": "0"},
        {"priceAdjustment": "-50%"},
        {"priceAdjustment": "+1"},
        {"capacity": {DEVICE: "1"}},
        {"capacity": {DEVICE: "2", "acme.com/other": "1"}, "price": "3"},
        {},
    )
)
OFFERINGS = st.lists(
    st.builds(
        Offering,
        st.sampled_from(("zone-a", "zone-b")),
        st.sampled_from(("spot", "on-demand")),
        st.sampled_from((0.0, 1.0, 2.0, math.nan, -1.0, math.inf)),
        st.booleans(),
    ),
    max_size=3,
)


@st.composite
def overlays(draw: st.DrawFn) -> list[NodeOverlay]:
    found = [
        NodeOverlay.from_dict(
            make_overlay(name, requirements=draw(ASKED), weight=draw(st.sampled_from((None, 1, 2))), **draw(CHANGES))
        )
        for name in draw(st.lists(NAMES, unique=True, max_size=5))
    ]
    return found


@st.composite
def catalogs(draw: st.DrawFn) -> InstanceTypes:
    sizes = st.sampled_from((None, "1", "2"))
    return InstanceTypes(
        make_instance_type(f"t{number}", labels={"size": draw(sizes)}, offerings=draw(OFFERINGS))
        for number in range(draw(st.integers(0, 3)))
    )


POOLS = tuple(
    NodePool.from_dict(make_nodepool(name, labels=given))
    for name, given in (("p", {"team": "red"}), ("q", {}), ("r", {"team": "blue"}))
)


@given(overlays(), catalogs(), catalogs())
def test_evaluation_follows_the_rules(listed: list[NodeOverlay], one: InstanceTypes, two: InstanceTypes) -> None:
    types = {"p": one, "q": one, "r": two}
    found = Overlays().evaluate(listed, POOLS, types)
    valid, expected = by_the_rules(listed, types)
    assert {name for name, verdict in found.verdicts.items() if verdict.validity is Validity.VALID} == valid
    for name, base in types.items():
        for number, instance_type in enumerate(found.types[name]):
            amounts = {key: amount for key, amount in instance_type.capacity.items() if key.startswith("acme.com/")}
            told = [offering.price for offering in instance_type.offerings]
            prices, added = expected[name, number]
            assert told == pytest.approx(prices, nan_ok=True)
            assert amounts == added
            best = cheapest(instance_type, Requirements())
            priced = [o.price for o in instance_type.offerings if o.available and o.has_price]
            assert best is None or not priced or best.price == min(priced)
        assert len(found.types[name]) == len(base)


def by_the_rules(
    listed: list[NodeOverlay], types: Mapping[str, InstanceTypes]
) -> tuple[set[str], dict[tuple[str, int], Any]]:
    """The names of those that count; and by pool and number of the type its prices and added resources. Slow and plain."""
    setters: dict[tuple[object, ...], list[NodeOverlay]] = {}
    valid = set()
    for each in sorted(listed, key=lambda o: (o.weight, o.name), reverse=True):
        touched = list(touches(each, types))
        if any(rival.weight == each.weight for thing in touched for rival in setters.get(thing, ())):
            continue
        valid.add(each.name)
        for thing in touched:
            setters.setdefault(thing, []).append(each)
    result: dict[tuple[str, int], Any] = {}
    for name, base in types.items():
        for number, instance_type in enumerate(base):
            told = []
            for place, offering in enumerate(instance_type.offerings):
                setter = setters.get((name, number, "price", place), [None])[0]
                after = (
                    None
                    if setter is None or setter.price is None
                    else setter.price.of(offering.price if offering.has_price else None)
                )
                told.append(offering.price if after is None else after)
            amounts = {
                key: setters[name, number, "amount", key][0].capacity[key]
                for key in (DEVICE, "acme.com/other")
                if (name, number, "amount", key) in setters
            }
            result[name, number] = (told, amounts)
    return valid, result


def touches(each: NodeOverlay, types: Mapping[str, InstanceTypes]) -> Any:
    for held in POOLS:
        known = Requirements.from_labels({**held.labels, labels.NODEPOOL: held.name})
        for number, instance_type in enumerate(types[held.name]):
            selected = [
                place for place, o in enumerate(instance_type.offerings) if selects(each, known, instance_type, o)
            ]
            if each.price is not None:
                yield from ((held.name, number, "price", place) for place in selected)
            if selected:
                yield from ((held.name, number, "amount", key) for key in each.capacity)


def selects(each: NodeOverlay, known: Requirements, instance_type: InstanceType, offering: Offering) -> bool:
    if (instance_type.requirements & known).compatible(each.requirements) is not None:
        return False
    return offering.requirements.intersects(each.requirements) is None
