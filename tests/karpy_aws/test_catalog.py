"""What the shipped catalog promises of every type."""

from __future__ import annotations

from datetime import date
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes
from karpy.labels import CORE_LABELS
from karpy.requirements import Operator
from karpy_aws.catalog import SPOT, load_catalog
from karpy_aws.labels import AWS_LABELS


def test_it_has_the_breadth_of_ec2(types: InstanceTypes) -> None:
    families = {instance_type.name.partition(".")[0] for instance_type in types}
    assert len(types) > 700
    assert {"t3", "m5", "m6i", "m7g", "c5", "c6g", "r5", "r6i", "i3", "g4dn", "p4d", "inf2", "trn1"} <= families


def test_types_are_sorted_and_named_once(types: InstanceTypes) -> None:
    names = [instance_type.name for instance_type in types]
    assert names == sorted(set(names))


def test_every_well_known_label_is_defined_on_every_type(types: InstanceTypes) -> None:
    wanted = (CORE_LABELS | AWS_LABELS).well_known - {core.NODEPOOL}
    for instance_type in types:
        assert set(instance_type.requirements) == wanted, instance_type.name


def test_only_labels_that_may_not_apply_are_absent(types: InstanceTypes) -> None:
    always = {core.INSTANCE_TYPE, core.ARCH, core.OS, core.ZONE, core.REGION, core.CAPACITY_TYPE}
    for instance_type in types:
        for key in always:
            assert instance_type.requirements[key].operator is Operator.IN, (instance_type.name, key)


def test_every_price_is_positive_and_spot_is_below_on_demand(types: InstanceTypes) -> None:
    for instance_type in types:
        prices = {(offering.zone, offering.capacity_type): offering.price for offering in instance_type.offerings}
        assert prices, instance_type.name
        for (zone, kind), price in prices.items():
            assert price > 0
            if kind == core.SPOT:
                assert price < prices[zone, core.ON_DEMAND]


@pytest.mark.parametrize(
    ("name", "price"),
    [("m5.large", 0.096), ("m5.xlarge", 0.192), ("c5.large", 0.085), ("r5.large", 0.126), ("c6i.xlarge", 0.17)],
)
def test_prices_are_those_of_shared_tenancy(types: InstanceTypes, name: str, price: float) -> None:
    found = types.by_name(name)
    assert found is not None
    assert found.offerings[0].price == price


def test_a_price_that_was_told_from_its_family_says_so() -> None:
    catalog = load_catalog()
    assert 0 < len(catalog.derived_prices) < len(catalog.types) / 2
    assert set(catalog.derived_prices) <= set(catalog.prices)


def test_every_offering_lies_within_the_requirements_of_its_type(types: InstanceTypes) -> None:
    for instance_type in types:
        for offering in instance_type.offerings:
            assert instance_type.requirements.compatible(offering.requirements) is None


def test_every_type_has_room_for_pods(types: InstanceTypes) -> None:
    for instance_type in types:
        assert instance_type.max_pods >= 4
        assert 0 < instance_type.allocatable["cpu"] < instance_type.capacity["cpu"]
        assert 0 <= instance_type.allocatable["memory"] < instance_type.capacity["memory"]


def test_the_file_says_its_sources_dates_and_licence() -> None:
    catalog = load_catalog()
    assert "moto" in catalog.source
    assert "libcloud" in catalog.source
    assert "Apache-2.0" in catalog.licence
    assert date.fromisoformat(catalog.types_as_of) > date(2026, 1, 1)
    assert date.fromisoformat(catalog.prices_as_of) > date(2025, 1, 1)


def test_the_data_is_small_and_has_a_notice() -> None:
    folder = files("karpy_aws").joinpath("data")
    sizes = {item.name: len(item.read_bytes()) for item in folder.iterdir()}
    assert "synthetic" in folder.joinpath("NOTICE.md").read_text()
    assert sum(sizes.values()) < 200_000


@given(
    price=st.floats(min_value=0.001, max_value=1_000),
    family=st.text(max_size=8),
    zone=st.text(max_size=12),
)
def test_synthetic_spot_is_cheaper_but_not_free_and_depends_on_names_only(price: float, family: str, zone: str) -> None:
    spot = SPOT.price(price, family, zone)
    assert 0.25 * price < spot < 0.6 * price
    assert spot == SPOT.price(price, family, zone)


def test_synthetic_spot_differs_a_little_by_zone() -> None:
    prices = {SPOT.price(1.0, "m5", f"us-west-2{letter}") for letter in "abc"}
    assert len(prices) == 3
    assert max(prices) / min(prices) < 1.1
