"""What of a type can be had, and which of several choices is the next when one ran out."""

from __future__ import annotations

import attrs
import pytest

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes, compatible, offerings_for, order_by_price
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.status import CapacityReservation, PlacementGroup, Subnet
from karpy_aws.offerings import Conditions
from karpy_aws.pricing import PriceBook
from karpy_aws.unavailable import OfferingKey, Shortages, UnavailableOfferings
from tests.karpy_aws.sold import ON_DEMAND, PRICES, SETUP, SUBNETS, book, described, for_sale, market, offering

NOTHING = Shortages()
EVERYTHING = {(zone, kind) for zone in "abc" for kind in ("on-demand", "spot")}


def sold(
    shortages: Shortages = NOTHING, setup: NodeSetup = SETUP, shifted: frozenset[str] = frozenset()
) -> InstanceTypes:
    return book().instance_types(setup, market(conditions=Conditions(shortages=shortages, shifted_zones=shifted)))


def short(*keys: OfferingKey) -> Shortages:
    return Shortages(offerings=frozenset(keys))


def out(type_: str, kind: str, *zones: str) -> list[OfferingKey]:
    return [OfferingKey(kind, type_, f"us-west-2{zone}") for zone in zones]


def test_everything_can_be_had_while_nothing_is_short() -> None:
    assert for_sale(sold(), "m5.large") == EVERYTHING


@pytest.mark.aws("AWS-112", "AWS-142")
def test_zones_without_a_subnet_are_listed_and_cannot_be_had() -> None:
    types = sold(setup=NodeSetup(subnets=SUBNETS[:1]))
    assert for_sale(types, "m5.large") == {("a", "on-demand"), ("a", "spot")}
    (found,) = (each for each in types if each.name == "m5.large")
    assert len(found.offerings) == 6
    assert found.requirements[core.ZONE].values == {"us-west-2a"}


def test_subnets_whose_zone_id_is_not_known_are_in_the_zones_that_they_say() -> None:
    subnets = tuple(Subnet(each.id, each.zone) for each in SUBNETS)
    types = sold(setup=NodeSetup(subnets=subnets))
    assert for_sale(types, "m5.large") == EVERYTHING
    assert all(labels.ZONE_ID not in each.requirements for each in types)


# What is next when something ran out


@pytest.mark.aws("AWS-137")
def test_another_type_is_chosen_when_the_cheapest_ran_out() -> None:
    spot = Requirements([Requirement.in_(core.CAPACITY_TYPE, "spot")])
    assert compatible(order_by_price(sold(), spot), spot)[0].name == "c5.large"
    types = sold(short(*out("c5.large", "spot", "a", "b", "c")))
    assert compatible(order_by_price(types, spot), spot)[0].name == "m5.large"


@pytest.mark.aws("AWS-138")
def test_another_zone_is_chosen_when_one_ran_out() -> None:
    found = sold(short(*out("m5.large", "spot", "a", "b"))).by_name("m5.large")
    assert found is not None
    assert offerings_for(found, Requirements())[0].zone == "us-west-2c"


@pytest.mark.aws("AWS-139")
def test_smaller_machines_stay_when_the_large_ones_ran_out() -> None:
    types = sold(short(*out("m5.xlarge", "spot", "a", "b", "c"), *out("m5.xlarge", "on-demand", "a", "b", "c")))
    assert not for_sale(types, "m5.xlarge")
    assert for_sale(types, "m5.large") == EVERYTHING


@pytest.mark.aws("AWS-141")
def test_on_demand_is_left_when_there_is_no_spot_at_all() -> None:
    found = sold(Shortages(capacity_types=frozenset({"spot"}))).by_name("m5.large")
    assert found is not None
    assert {each.capacity_type for each in offerings_for(found, Requirements())} == {"on-demand"}


@pytest.mark.aws("AWS-140")
def test_what_is_over_can_be_had_again() -> None:
    memory, types = UnavailableOfferings(), book()
    memory.mark(out("m5.large", "spot", "a")[0], now=0.0)
    then, later = (
        types.instance_types(SETUP, market(conditions=Conditions(shortages=memory.at(now)))) for now in (1.0, 180.0)
    )
    assert for_sale(then, "m5.large") == EVERYTHING - {("a", "spot")}
    assert for_sale(later, "m5.large") == EVERYTHING


@pytest.mark.aws("AWS-144")
def test_a_zone_is_left_out_when_all_its_subnets_are_full() -> None:
    setup = NodeSetup(subnets=(*SUBNETS, Subnet("subnet-a2", "us-west-2a", "usw2-az1")))
    one, both = (Shortages(subnets=frozenset(full)) for full in (["subnet-a"], ["subnet-a", "subnet-a2"]))
    assert for_sale(sold(one, setup), "m5.large") == EVERYTHING
    assert {zone for zone, _ in for_sale(sold(both, setup), "m5.large")} == {"b", "c"}


@pytest.mark.aws("AWS-135")
def test_nothing_is_launched_in_a_zone_that_is_shifted_away_from() -> None:
    types = sold(shifted=frozenset({"usw2-az2"}))
    assert {zone for zone, _ in for_sale(types, "m5.large")} == {"a", "c"}


# Prices


@pytest.mark.aws("AWS-133")
def test_what_has_no_price_cannot_be_had_unless_an_overlay_gives_it_one() -> None:
    prices = attrs.evolve(PRICES, spot={})
    without = book().instance_types(SETUP, market(prices=prices))
    priced = book().instance_types(SETUP, market(prices=prices, priced_elsewhere=frozenset({"m5.large"})))
    assert {kind for _, kind in for_sale(without, "m5.large")} == {"on-demand"}
    assert for_sale(priced, "m5.large") == EVERYTHING
    found = priced.by_name("m5.large")
    assert found is not None
    assert not offering(found, "us-west-2a", "spot").has_price


# Reservations


def reserved(left: int, *, state: str = "active", prices: PriceBook = PRICES, sells: bool = True) -> InstanceTypes:
    kind = "capacity-block" if state == "expiring" else "default"
    reservation = CapacityReservation("cr-1", "m5.large", "us-west-2a", "111122223333", "targeted", kind, state=state)
    setup = attrs.evolve(SETUP, reservations=(reservation,), sells_reserved=sells)
    return book().instance_types(setup, market(prices=prices, conditions=Conditions(reserved={"cr-1": left})))


def test_a_reservation_is_an_offering_of_its_own_that_is_preferred_to_all_others() -> None:
    found = reserved(2).by_name("m5.large")
    assert found is not None
    best = offerings_for(found, Requirements())[0]
    assert (best.capacity_type, best.zone, best.reservation_id) == ("reserved", "us-west-2a", "cr-1")
    assert best.reservation_capacity == 2
    assert best.price == pytest.approx(ON_DEMAND["m5.large"] / 1e7)
    assert found.requirements[labels.CAPACITY_RESERVATION_ID].single() == "cr-1"


def test_it_is_preferred_even_where_the_type_has_no_price() -> None:
    found = reserved(2, prices=PriceBook()).by_name("m5.large")
    assert found is not None
    assert offerings_for(found, Requirements())[0].reservation_id == "cr-1"


@pytest.mark.parametrize(("left", "state"), [(0, "active"), (2, "expiring")])
@pytest.mark.aws("AWS-136")
def test_it_cannot_be_had_when_nothing_is_left_or_it_is_about_to_end(left: int, state: str) -> None:
    assert ("a", "reserved") not in for_sale(reserved(left, state=state), "m5.large")


@pytest.mark.aws("AWS-069")
def test_it_is_not_offered_while_the_gate_is_shut() -> None:
    found = reserved(2, sells=False).by_name("m5.large")
    assert found is not None
    assert {each.capacity_type for each in found.offerings} == {"on-demand", "spot"}


def test_who_asks_for_a_reservation_gets_nothing_else() -> None:
    found = reserved(2).by_name("m5.large")
    assert found is not None
    wanted = Requirements([Requirement.in_(labels.CAPACITY_RESERVATION_ID, "cr-1")])
    assert {each.capacity_type for each in offerings_for(found, wanted)} == {"reserved"}


# Placement groups


def test_each_partition_of_a_group_is_an_offering() -> None:
    group = PlacementGroup("pg-1", strategy="partition", partition_count=3)
    setup = attrs.evolve(SETUP, placement_group=group)
    marked = OfferingKey("spot", "m5.large", "us-west-2a", "pg-1", 2)
    found = sold(short(marked), setup).by_name("m5.large")
    assert found is not None
    there = {
        each.requirements[labels.PLACEMENT_GROUP_PARTITION].single(): each.available
        for each in found.offerings
        if (each.zone, each.capacity_type) == ("us-west-2a", "spot")
    }
    assert there == {"1": True, "2": False, "3": True}
    assert found.requirements[labels.PLACEMENT_GROUP_ID].single() == "pg-1"


def test_types_share_the_requirements_of_their_offerings() -> None:
    first, second = book((described("m5.large"), described("c5.large"))).instance_types(SETUP, market())
    assert all(a.requirements is b.requirements for a, b in zip(first.offerings, second.offerings, strict=True))
