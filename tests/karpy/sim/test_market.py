from __future__ import annotations

from karpy.cloud.instancetype import current_price
from karpy.sim.generic import GenericModel
from karpy.sim.market import REMEMBERED_S, Market

KEY = ("c-1x-amd64", "sim-1a", "spot")


def market() -> Market:
    return Market({"generic": GenericModel().instance_types})


def is_shown_available(shop: Market, now: float) -> bool:
    instance_type = shop.catalog("generic", now).by_name(KEY[0])
    assert instance_type is not None
    return next(
        offering.available for offering in instance_type.offerings if (offering.zone, offering.capacity_type) == KEY[1:]
    )


def test_the_catalog_is_the_same_object_while_nothing_changes() -> None:
    shop = market()
    assert shop.catalog("generic", 0.0) is shop.catalog("generic", 1e9)


def test_a_shortage_is_not_seen_before_somebody_was_refused() -> None:
    shop = market()
    shop.sell_out(KEY)
    assert not shop.is_in_stock(KEY)
    assert is_shown_available(shop, 0.0)
    shop.remember_shortage(KEY, 0.0)
    assert not is_shown_available(shop, 0.0)


def test_a_remembered_shortage_is_forgotten_after_a_while() -> None:
    shop = market()
    shop.remember_shortage(KEY, 0.0)
    assert not is_shown_available(shop, REMEMBERED_S - 1)
    assert is_shown_available(shop, REMEMBERED_S)


def test_empty_words_stand_for_all_and_a_shortage_ends_by_the_same_words() -> None:
    shop = market()
    shop.sell_out(("", "sim-1a", ""))
    assert not shop.is_in_stock(KEY)
    assert shop.is_in_stock((KEY[0], "sim-1b", KEY[2]))
    shop.restock(("", "sim-1a", ""))
    assert shop.is_in_stock(KEY)


def test_a_new_price_is_in_the_next_catalog_and_other_types_are_shared() -> None:
    shop = market()
    before = shop.catalog("generic", 0.0)
    shop.set_price(KEY, 9.0)
    after = shop.catalog("generic", 0.0)
    assert after is not before
    changed = after.by_name(KEY[0])
    assert changed is not None
    assert current_price(changed, KEY[1], KEY[2]) == 9.0
    assert after.by_name("c-2x-amd64") is before.by_name("c-2x-amd64")
