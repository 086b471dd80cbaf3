"""Prices as AWS tells them, page by page, and what the book knows of them afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy_aws.pricing import (
    PriceBook,
    has_price_list,
    on_demand_requests,
    pricing_region,
    read_on_demand,
    read_spot,
    spot_request,
)
from karpy_aws.shippedprices import ShippedPrices, shipped_prices
from tests.karpy_aws.vectorworld import lines

HOUR = 3_600.0


def product(name: str, *prices: str, currency: str = "USD") -> str:
    terms = {
        f"T{index}": {"priceDimensions": {"D": {"pricePerUnit": {currency: price}}}}
        for index, price in enumerate(prices)
    }
    return json.dumps({"product": {"attributes": {"instanceType": name}}, "terms": {"OnDemand": terms}})


def entered(book: PriceBook, answers: dict[str, Any], region: str, *, isolated: bool, now: float) -> PriceBook:
    """The book after one round of asking, as a vector describes it."""
    if "onDemandError" not in answers and has_price_list(region, isolated=isolated):
        shared, metal = ([{"PriceList": page} for page in answers.get(kind, ())] for kind in ("shared", "metal"))
        book = book.with_on_demand(read_on_demand(shared, region), read_on_demand(metal, region), now)
    if "spotError" not in answers and not answers.get("skipSpot"):
        book = book.with_spot(read_spot([{"SpotPriceHistory": page} for page in answers.get("spot", ())]), now)
    return book


@pytest.mark.aws("AWS-148", "AWS-149", "AWS-150", "AWS-152", "AWS-153", "AWS-154")
def test_the_book_answers_as_karpenters_does(shared: Path) -> None:
    unlike: dict[str, Any] = {}
    for line in lines(shared, "prices.jsonl"):
        book = PriceBook(shipped=shipped_prices(line["region"]))
        for number, (answers, wanted) in enumerate(zip(line["rounds"], line["expect"]["rounds"], strict=True)):
            isolated = bool(line.get("isolatedVPC"))
            book = entered(book, answers, line["region"], isolated=isolated, now=float(number))
            found = [
                book.price(type_, zone[0] if zone else "", "spot" if zone else "on-demand")
                for type_, *zone in line["ask"]
            ]
            if found != wanted["prices"]:
                unlike[f"{line['name']} {number}"] = found, wanted["prices"]
    assert not unlike


@pytest.mark.aws("AWS-150", "AWS-151")
def test_shared_machines_bare_metal_and_both_spot_products_are_asked_for() -> None:
    shared, metal = on_demand_requests("eu-west-1")
    filters = {each["Field"]: each["Value"] for each in shared["Filters"]}
    assert filters["regionCode"] == "eu-west-1"
    assert filters["tenancy"] == "Shared"
    assert {"Field": "tenancy", "Type": "TERM_MATCH", "Value": "Dedicated"} in metal["Filters"]
    assert spot_request("2026-08-21T12:00:00Z")["ProductDescriptions"] == ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"]


@pytest.mark.parametrize(
    ("region", "asked_in"),
    [
        ("us-west-2", "us-east-1"),
        ("ap-east-1", "ap-south-1"),
        ("cn-north-1", "cn-northwest-1"),
        ("eu-west-3", "eu-central-1"),
    ],
)
def test_the_price_list_is_served_in_few_regions(region: str, asked_in: str) -> None:
    assert pricing_region(region) == asked_in


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)))
def test_what_is_no_price_is_passed_over(text: str) -> None:
    assert read_on_demand([{"PriceList": [text, product("m5.large", "0.1")]}], "us-west-2") == {"m5.large": 0.1}


@pytest.mark.parametrize("price", ["0", "-1", "nan", "inf", "", "1e12"])
def test_only_prices_that_could_be_paid_are_prices(price: str) -> None:
    assert read_on_demand([{"PriceList": [product("m5.large", price)]}], "us-west-2") == {}


@pytest.mark.aws("AWS-149")
def test_an_answer_without_prices_leaves_the_very_book() -> None:
    book = PriceBook().with_on_demand({"m5.large": 0.1}, {"m5.metal": 4.0}, now=0.0)
    assert book.with_on_demand({}, {"m5.metal": 5.0}, now=1.0) is book
    assert book.with_on_demand({"m5.large": 0.2}, {}, now=1.0) is book
    assert book.with_spot({}, now=1.0) is book


@pytest.mark.aws("AWS-148")
def test_a_region_has_prices_of_its_own_before_aws_is_asked() -> None:
    west, ireland = shipped_prices("us-west-2"), shipped_prices("eu-west-1")
    assert west.price("m5.large") == 0.096
    assert ireland.price("m5.large") == 0.107
    assert "m5.large" not in ireland.estimated


@pytest.mark.aws("AWS-148")
def test_a_type_without_a_price_there_is_as_much_dearer_as_others_are() -> None:
    mexico, common = shipped_prices("mx-central-1"), shipped_prices("us-east-1")
    some = min(mexico.estimated)
    assert mexico.price(some) == pytest.approx(common.prices[some] * 1.05, rel=0.01)


@pytest.mark.aws("AWS-148")
def test_dollars_do_not_stand_for_yuan() -> None:
    assert not shipped_prices("cn-north-1").prices


def test_an_unknown_region_gets_the_prices_of_the_common_one() -> None:
    assert shipped_prices("zz-new-1").price("m5.large") == shipped_prices("us-east-1").price("m5.large")


def test_the_age_of_prices_is_known() -> None:
    shipped = ShippedPrices(prices={"m5.large": 0.1}, since=100 * HOUR)
    book = PriceBook(shipped=shipped)
    assert book.age(now=103 * HOUR) == 3 * HOUR
    assert book.age(now=103 * HOUR, capacity_type="spot") == 3 * HOUR
    asked = book.with_on_demand({"m5.large": 0.2}, {"m5.metal": 4.0}, now=102 * HOUR)
    assert asked.age(now=103 * HOUR) == HOUR
    assert asked.age(now=103 * HOUR, capacity_type="spot") == 3 * HOUR
    assert PriceBook().age(now=0.0) is None


@pytest.mark.aws("AWS-153")
def test_spot_costs_the_shipped_price_until_it_is_known_and_then_what_each_zone_says() -> None:
    book = PriceBook(shipped=ShippedPrices(prices={"m5.large": 0.1}))
    assert book.price("m5.large", "us-west-2a", "spot") == 0.1
    known = book.with_spot({"m5.large": {"us-west-2a": 0.04}}, now=0.0)
    assert known.price("m5.large", "us-west-2a", "spot") == 0.04
    assert known.price("m5.large", "us-west-2b", "spot") is None
