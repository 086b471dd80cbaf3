from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from karpy.errors import InvalidObject
from karpy.quantity import Format, Quantity, parse_milli, parse_units
from tests.vectors import read


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("2048Mi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000k", "1M"),
        ("1e3", "1e3"),
        ("0.1Ki", "102400m"),
        ("0", "0"),
    ],
)
def test_quantities_print_in_their_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1.2.3", "abc", "1KB", "1 Gi", "--1", "1e", "१", "1e1.5", "1mi", "1e99999"]
)
def test_what_the_api_server_refuses_is_refused(text: str) -> None:
    with pytest.raises(InvalidObject):
        Quantity.parse(text)


def test_the_refusal_says_what_is_accepted() -> None:
    with pytest.raises(InvalidObject) as caught:
        Quantity.parse("4GB")
    assert str(caught.value) == '\'4GB\' is not a quantity (accepted: a quantity such as "100m", "1.5", "2Gi" or "1e3")'


def test_parts_below_the_unit_are_rounded_up() -> None:
    assert parse_units("100m") == 1
    assert parse_units("1.000000001") == 2
    assert parse_milli("0.0001") == 1
    assert Quantity.parse("0.1n").nanos == 1


def test_numbers_of_json_are_read_as_they_are_written() -> None:
    assert parse_units(4) == 4
    assert parse_milli(0.1) == 100
    assert parse_milli(1e-3) == 1


def test_binary_quantities_stop_at_the_largest_64_bit_number() -> None:
    assert parse_units("100Ei") == 2**63 - 1


def test_equal_amounts_in_one_notation_are_equal_values() -> None:
    assert Quantity.parse("1000m") == Quantity.parse("1")
    assert Quantity.parse("1Ki") != Quantity.parse("1024")  # they print differently
    assert Quantity.parse("1Ki").format is Format.BINARY_SI


def test_quantities_agree_with_the_api_machinery(shared: Path) -> None:
    differences = [text for line in read(shared, "algebra/quantities.jsonl") for text in _compare(line)]
    assert not differences


# Where the reference is wrong, its own exact value is the measure: reason → whether it explains the difference in a field.
DELIBERATE: dict[str, Callable[[str, Fraction, str], bool]] = {
    "it rounds large negative decimals up, or to numbers that wrapped around at 64 bits": lambda field, exact, there: (
        exact < 0 and field != "canonical" and abs(int(there) - exact * (1000 if field == "milliValue" else 1)) >= 1
    ),
    "it prints decimal amounts from 1000E on without their suffix": lambda field, exact, there: (
        exact >= 10**21 and field == "canonical" and Fraction(there) != exact
    ),
}


def _compare(line: dict[str, object]) -> list[str]:
    text, expect = str(line["input"]), line["expect"]
    assert isinstance(expect, dict)
    try:
        found = Quantity.parse(text)
    except InvalidObject:
        return [f"{text!r} is accepted there"] if expect["ok"] else []
    if not expect["ok"]:
        return [f"{text!r} is refused there"]
    exact = Fraction(found.nanos, 10**9)
    told = {"canonical": str(found), "value": str(found.value), "milliValue": str(found.milli_value)}
    differences = [
        f"{text!r}: {field} is {ours}, there {expect[field]}"
        for field, ours in told.items()
        if expect[field] is not None
        and ours != expect[field]
        and not any(explains(field, exact, str(expect[field])) for explains in DELIBERATE.values())
    ]
    if expect["exact"] is not None and exact != Fraction(str(expect["exact"])):
        differences.append(f"{text!r} is {exact}, there {expect['exact']}")
    return differences
