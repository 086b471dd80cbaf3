from __future__ import annotations

import contextlib
import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from karpy.errors import InvalidObject
from karpy.quantity import Format, Quantity
from karpy.resources import Resources, format_amount, parse_amount

SUFFIXES = {"": 1, "m": Fraction(1, 1000), "u": Fraction(1, 10**6), "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
DIGITS = st.integers(0, 10**6)
VECTORS = st.dictionaries(st.sampled_from(("cpu", "memory", "pods", "x/y")), st.integers(0, 50)).map(Resources)


@given(st.integers(-(10**30), 10**30), st.sampled_from(Format))
def test_what_is_printed_is_read_back_as_the_same_amount(nanos: int, notation: Format) -> None:
    found = Quantity.parse(str(Quantity(nanos, notation)))
    if not (notation is Format.BINARY_SI and abs(nanos) > (2**63 - 1) * 10**9):  # binary amounts stop at 64 bits
        assert found.nanos == nanos


@given(DIGITS, DIGITS, st.sampled_from([*SUFFIXES, *BINARY]))
def test_amounts_are_exact_and_rounded_up(whole: int, fraction: int, suffix: str) -> None:
    factor = {**SUFFIXES, **BINARY}[suffix]
    exact = Fraction(f"{whole}.{fraction}") * factor
    found = Quantity.parse(f"{whole}.{fraction}{suffix}")
    assert found.nanos == math.ceil(exact * 10**9)
    assert found.value == math.ceil(exact)
    assert found.milli_value == math.ceil(exact * 1000)


@given(st.integers(0, 10**15), st.sampled_from(("cpu", "memory", "pods", "hugepages-2Mi", "nvidia.com/gpu")))
def test_amounts_of_resources_survive_the_api(amount: int, name: str) -> None:
    assert parse_amount(name, format_amount(name, amount)) == amount


@given(VECTORS, VECTORS, VECTORS)
def test_vectors_add_and_compare_as_vectors_do(a: Resources, b: Resources, c: Resources) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert {name: amount for name, amount in ((a + b) - b).items() if amount} == {n: m for n, m in a.items() if m}
    assert a.fits_in(a + b)
    assert a.fits_in(a.maximum(b))
    assert b.fits_in(a.maximum(b))
    assert not a.fits_in(b) or (a + c).fits_in(b + c)


SIGNS = st.sampled_from(("", "+", "-"))
NUMBERS = st.one_of(
    st.integers(0, 10**20).map(str),
    st.tuples(st.integers(0, 10**9), st.text("0123456789", max_size=12)).map(lambda parts: f"{parts[0]}.{parts[1]}"),
    st.text("0123456789", min_size=1, max_size=12).map(lambda digits: f".{digits}"),
)
POWERS = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
    **{f"{letter}{exponent}": exponent for letter in "eE" for exponent in range(-12, 13)},
}
SUFFIXES_OF_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@given(SIGNS, NUMBERS, st.sampled_from([*POWERS, *SUFFIXES_OF_BINARY]))
def test_every_form_is_read_exactly_and_printed_so_that_it_is_read_again(sign: str, number: str, suffix: str) -> None:
    exact = Fraction(f"{sign}{number}") * (
        Fraction(10) ** POWERS[suffix] if suffix in POWERS else 2 ** SUFFIXES_OF_BINARY[suffix]
    )
    away = math.ceil(abs(exact) * 10**9)  # below a nano nothing is kept, and nothing is lost
    if suffix in SUFFIXES_OF_BINARY:
        away = min(away, (2**63 - 1) * 10**9)
    found = Quantity.parse(f"{sign}{number}{suffix}")
    assert found.nanos == (-away if exact < 0 else away)
    again = Quantity.parse(str(found))
    assert again.nanos == found.nanos
    assert str(again) == str(found)


@given(st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_of_json_never_exceed_64_bits(number: float) -> None:
    for name in ("cpu", "memory"):
        with contextlib.suppress(InvalidObject):
            assert -(2**63) <= parse_amount(name, number) < 2**63
