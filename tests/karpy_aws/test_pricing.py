from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karpy_aws.pricing import SPOT


@given(
    price=st.floats(min_value=0.001, max_value=1_000),
    family=st.text(max_size=8),
    zone=st.text(max_size=12),
)
def test_spot_is_cheaper_but_not_free_and_depends_on_names_only(price: float, family: str, zone: str) -> None:
    spot = SPOT.price(price, family, zone)
    assert 0.25 * price < spot < 0.6 * price
    assert spot == SPOT.price(price, family, zone)


def test_zones_differ_a_little() -> None:
    prices = {SPOT.price(1.0, "m5", f"us-west-2{letter}") for letter in "abc"}
    assert len(prices) == 3
    assert max(prices) / min(prices) < 1.1
