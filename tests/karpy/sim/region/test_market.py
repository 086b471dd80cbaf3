from __future__ import annotations

import math

import pytest

from karpy.cloud.instancetype import InstanceTypes, Offering
from karpy.sim.generic import GenericModel
from karpy.sim.region.market import REMEMBERED_S, Market
from karpy.sim.region.prices import PriceChange, Prices, PriceWalk
from karpy.sim.region.where import Where

KEY = ("c-1x-amd64", "sim-1a", "spot")
LISTED = 0.0189


def market(prices: Prices | None = None) -> Market:
    return Market({"generic": GenericModel().instance_types}, prices)


def offering(shop: Market, at_s: float, key: tuple[str, str, str] = KEY) -> Offering:
    instance_type = shop.catalog("generic", at_s).by_name(key[0])
    assert instance_type is not None
    return next(each for each in instance_type.offerings if (each.zone, each.capacity_type) == key[1:])


def test_the_catalog_is_the_same_object_while_nothing_changes() -> None:
    shop = market()
    assert shop.catalog("generic", 0.0) is shop.catalog("generic", 1e9)
    assert shop.catalog("generic", 0.0) is not market().catalog("generic", 0.0)


def test_a_remembered_shortage_is_forgotten_after_a_while() -> None:
    shop = market()
    before = shop.catalog("generic", 0.0)
    assert offering(shop, 0.0).available
    shop.remember_shortage(KEY, 0.0)
    assert not offering(shop, REMEMBERED_S - 1).available
    assert offering(shop, REMEMBERED_S).available
    assert list(shop.catalog("generic", REMEMBERED_S)) == list(before)


def test_a_new_price_is_in_the_next_catalog_and_other_types_are_shared() -> None:
    shop = market()
    before = shop.catalog("generic", 0.0)
    shop.set_price(KEY, 9.0)
    after = shop.catalog("generic", 0.0)
    assert after is not before
    assert offering(shop, 0.0).price == 9.0
    assert [new.name for new, old in zip(after, before, strict=True) if new is not old] == [KEY[0]]


def test_a_price_that_changes_nothing_changes_no_catalog() -> None:
    shop = market()
    before = shop.catalog("generic", 0.0)
    shop.set_price(KEY, LISTED)
    shop.set_price(("unknown", "sim-1a", "spot"), 9.0)
    assert shop.catalog("generic", 0.0) is before


@pytest.mark.parametrize("hole", [0.0, math.nan, -1.0])
def test_a_hole_in_the_list_is_seen_and_charged_to_nobody(hole: float) -> None:
    shop = market()
    shop.set_price(KEY, hole)
    assert not offering(shop, 0.0).has_price
    assert shop.price("generic", KEY, 0.0) == pytest.approx(LISTED)
    assert shop.catalog("generic", 0.0) is shop.catalog("generic", 1.0)


def test_the_list_follows_changes_at_once_and_walks_when_prices_are_looked_up() -> None:
    walk = PriceWalk(every_s=300.0, listed_every_s=3600.0)
    shop = market(Prices(walk, [PriceChange(1000.0, 3.0, Where("m-*"))], seed=1))
    first = shop.catalog("generic", 0.0)
    assert shop.catalog("generic", 999.0) is first
    second = shop.catalog("generic", 1000.0)
    changed = {new.name for new, old in zip(second, first, strict=True) if new is not old}
    assert changed == {each.name for each in first if each.name.startswith("m-")}
    assert shop.catalog("generic", 3599.0) is second
    third = shop.catalog("generic", 3600.0)
    assert third is not second
    assert offering(shop, 3600.0).price != offering(market(), 0.0).price
    assert shop.price("generic", KEY, 3900.0) != shop.price("generic", KEY, 3600.0)


def test_what_is_not_sold_costs_nothing() -> None:
    assert market().price("generic", ("unknown", "sim-1a", "spot"), 0.0) == 0.0


def test_a_catalog_is_read_when_it_is_first_asked_for() -> None:
    read: list[str] = []

    def types() -> InstanceTypes:
        read.append("read")
        return GenericModel().instance_types()

    shop = Market({"generic": types})
    shop.remember_shortage(KEY, 0.0)
    assert read == []
    assert not offering(shop, 0.0).available
