from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karpy.cloud.spotprice import SyntheticSpot

SHARES = st.floats(min_value=0.1, max_value=0.4)


@given(least=SHARES, spread_of_discounts=SHARES, zones=SHARES, family=st.text(max_size=8), zone=st.text(max_size=12))
def test_the_discount_stays_in_its_range_up_to_the_spread_of_zones(
    least: float, spread_of_discounts: float, zones: float, family: str, zone: str
) -> None:
    price = SyntheticSpot(least, spread_of_discounts, zones).price(100.0, family, zone)
    dearest = 100 * (1 - least) * (1 + zones / 2)
    cheapest = 100 * (1 - least - spread_of_discounts) * (1 - zones / 2)
    assert cheapest - 1e-6 <= price <= dearest + 1e-6


def test_without_a_spread_all_zones_of_a_family_cost_the_same() -> None:
    spot = SyntheticSpot(least_discount=0.4, discount_range=0.3, zone_spread=0.0)
    assert spot.price(1.0, "m5", "zone-a") == spot.price(1.0, "m5", "zone-b") != spot.price(1.0, "c5", "zone-a")
