"""A region of EC2: its answers read, its types built for a node class, asked for again, and asked for after a shortage."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec
from measure import Measure, duration, seconds

from karpy_aws.book import InstanceTypeBook, Market
from karpy_aws.catalog import load_catalog
from karpy_aws.descriptions import read_descriptions, read_zones
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.status import Subnet
from karpy_aws.offerings import Conditions
from karpy_aws.pricing import PriceBook
from karpy_aws.shippedprices import ShippedPrices
from karpy_aws.unavailable import OfferingKey, UnavailableOfferings

_TYPES = 1_250
_PAGE = 100
_ZONES = tuple(f"us-east-1{letter}" for letter in "abcdef")
_SETUP = NodeSetup(subnets=tuple(Subnet(f"subnet-{zone[-1]}", zone, f"use1-az{zone[-1]}") for zone in _ZONES))


def measures() -> Iterator[Measure]:
    answers = _answers()
    yield duration(f"EC2: {_TYPES} types from answers, first built", lambda: seconds(lambda: _first(answers)))
    yield Measure("EC2: the same, memory kept at the most", _peak_mb(answers), "MB", 1, "lower")
    book, prices, names = _first(answers)
    yield duration(
        "EC2: types asked for again", lambda: seconds(lambda: book.instance_types(_SETUP, Market(prices=prices)))
    )
    shortages, serial = UnavailableOfferings(), iter(names)

    def types_after_one_more() -> float:
        shortages.mark(OfferingKey("spot", next(serial), _ZONES[0]), 0.0)
        return seconds(lambda: book.instance_types(_SETUP, _market(prices, shortages)))

    yield duration("EC2: types after one more offering ran out", types_after_one_more)

    def types_after_a_subnet() -> float:
        shortages.mark_subnet(f"subnet-{next(letters)}", 0.0)
        return seconds(lambda: book.instance_types(_SETUP, _market(prices, shortages)))

    letters = iter("abcdef")
    yield duration("EC2: types after a zone ran out of addresses", types_after_a_subnet)


def _market(prices: PriceBook, shortages: UnavailableOfferings) -> Market:
    return Market(prices=prices, conditions=Conditions(shortages=shortages.at(0.0)))


def _first(answers: tuple[list[str], list[str], PriceBook]) -> tuple[InstanceTypeBook, PriceBook, list[str]]:
    types, offered, prices = answers
    book = InstanceTypeBook("us-east-1")
    described = read_descriptions(map(json.loads, types)).types
    book.update(types=described, zones=read_zones(map(json.loads, offered)))
    book.instance_types(_SETUP, Market(prices=prices))
    return book, prices, [each.instance_type for each in described]


def _peak_mb(answers: tuple[list[str], list[str], PriceBook]) -> float:
    tracemalloc.start()
    try:
        kept = _first(answers)
        return tracemalloc.get_traced_memory()[1] / 1e6 if kept else 0.0
    finally:
        tracemalloc.stop()


def _answers() -> tuple[list[str], list[str], PriceBook]:
    """Pages as EC2 gives them, made from the shipped catalog: types of it again under other names, in most of the zones."""
    known = load_catalog()
    entries: list[dict[str, Any]] = []
    for number in range(_TYPES):
        entry = msgspec.to_builtins(known.types[number % len(known.types)])
        repeated = number // len(known.types)
        entries.append({**entry, "InstanceType": f"{'y' * repeated}{entry['InstanceType']}"})
    offered = [
        {"InstanceType": entry["InstanceType"], "Location": zone}
        for number, entry in enumerate(entries)
        for index, zone in enumerate(_ZONES)
        if (number + index) % 5
    ]
    prices = {entry["InstanceType"]: 0.05 * entry["VCpuInfo"]["DefaultVCpus"] for entry in entries}
    return (
        [json.dumps({"InstanceTypes": entries[at : at + _PAGE]}) for at in range(0, len(entries), _PAGE)],
        [json.dumps({"InstanceTypeOfferings": offered[at : at + 1_000]}) for at in range(0, len(offered), 1_000)],
        PriceBook(shipped=ShippedPrices(prices=prices)),
    )
