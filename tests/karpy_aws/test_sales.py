"""What EC2 sells, as it was last told, and asked for again when it is time."""

from __future__ import annotations

from karpy.labels import ON_DEMAND
from karpy_aws.testing import World
from tests.karpy_aws.providerworld import POOL, Setup

HALF_A_DAY_S = 12 * 3600.0


def with_metal(world: World) -> World:
    """The price list has two parts, and counts only when both were read."""
    world.instance_types["m5.metal"] = {
        **world.instance_types["m5.large"],
        "InstanceType": "m5.metal",
        "BareMetal": True,
    }
    world.offerings["m5.metal"] = list(world.zones)
    world.on_demand_prices["m5.metal"] = 5.0
    return world


def price(setup: Setup, name: str = "m5.large") -> float:
    found = setup.provider.instance_types(POOL, setup.resolved()).by_name(name)
    assert found is not None
    return next(each.price for each in found.offerings if each.capacity_type == ON_DEMAND)


def test_prices_are_those_of_the_price_list() -> None:
    setup = Setup.of()
    with_metal(setup.world).on_demand_prices["m5.large"] = 0.123
    assert price(setup) == 0.123
    assert price(setup, "m5.metal") == 5.0
    (line,) = (entry for entry in setup.logged if entry["event"] == "updated on-demand pricing")
    assert line["instance-type-count"] == 4


def test_prices_are_read_again_twice_a_day() -> None:
    setup = Setup.of()
    with_metal(setup.world)
    price(setup)
    setup.world.on_demand_prices["m5.large"] = 0.5
    setup.clock.advance(HALF_A_DAY_S)
    setup.provider.list()
    assert price(setup) == 0.5


def test_a_part_of_the_list_is_no_list_and_shipped_prices_hold_until_there_is_one() -> None:
    setup = Setup.of()
    setup.world.on_demand_prices["m5.large"] = 0.5
    assert price(setup) == 0.096
    assert not [entry for entry in setup.logged if entry["event"] == "updated on-demand pricing"]


def test_where_no_price_list_can_be_reached_none_is_asked_for() -> None:
    setup = Setup.of(isolated_vpc=True, disable_dry_run=True)
    raw = Setup.of().resolved()
    assert setup.provider.instance_types(POOL, raw)
    setup.clock.advance(HALF_A_DAY_S)
    setup.provider.list()
    assert not setup.fake.requests("GetProducts")
    assert setup.fake.requests("DescribeSpotPriceHistory")


def test_a_new_type_is_sold_after_half_a_day() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    setup.world.instance_types["m5.2xlarge"] = {
        **setup.world.instance_types["m5.xlarge"],
        "InstanceType": "m5.2xlarge",
    }
    setup.world.offerings["m5.2xlarge"] = ["us-west-2a"]
    setup.clock.advance(HALF_A_DAY_S)
    setup.provider.list()
    assert setup.provider.instance_types(POOL, raw).by_name("m5.2xlarge") is not None


def test_an_empty_answer_takes_nothing_away() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    types = setup.provider.instance_types(POOL, raw)
    setup.world.instance_types.clear()
    setup.world.offerings.clear()
    setup.clock.advance(HALF_A_DAY_S)
    setup.provider.list()
    assert len(setup.provider.instance_types(POOL, raw)) == len(types)
