"""Kubernetes quantities: exact parsing and canonical printing.

A quantity is kept as an integer count of nano-units, the finest the API knows. Parsing follows
`apimachinery's resource.Quantity <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>`_:
what lies below a nano is rounded away from zero, binary quantities are capped at 2**63 - 1.
"""

from __future__ import annotations

import enum
import functools
import re

import attrs

from karpy.errors import InvalidObject, shown

__all__ = ["Format", "Quantity", "parse_milli", "parse_units"]

NANO = 10**9
MAX_INT64 = 2**63 - 1

_PARTS = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(|[eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIX_OF_DECIMAL = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SUFFIX_OF_BINARY = ["", *_BINARY]
_ACCEPTED = 'a quantity such as "100m", "1.5", "2Gi" or "1e3"'
_MAX_EXPONENT = 1_000  # far beyond any quantity; bounds the work that a hostile manifest can ask for
_MAX_DIGITS = 1_000
_MAX_BITS = 3_000  # fewer digits than _MAX_DIGITS
_FAST_DIGITS = 18  # so many decimal digits always fit 64 bits


class Format(enum.Enum):
    """The notation that a quantity was written in, and is printed in."""

    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"


@attrs.frozen(order=False)
class Quantity:
    """An exact amount and the notation it is printed in.

    >>> str(Quantity.parse("2048Mi")), str(Quantity.parse("1000m")), str(Quantity.parse("0.5"))
    ('2Gi', '1', '500m')
    """

    nanos: int
    format: Format = Format.DECIMAL_SI
    written: str | None = attrs.field(default=None, eq=False)
    """The text it was read from, where the API server prints that again instead of a canonical form."""

    @classmethod
    def parse(cls, text: str | float) -> Quantity:
        """Read the API's text form. JSON numbers are read by their shortest decimal form.

        Raises:
            InvalidObject: the API server would refuse it too.
        """
        if isinstance(text, str):
            return _parse(text)
        if isinstance(text, int) and text.bit_length() > _MAX_BITS:
            raise InvalidObject("an integer that long is out of range", accepted=_ACCEPTED)
        return _parse(str(text))

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero."""
        return _away_from_zero(self.nanos, NANO)

    @property
    def milli_value(self) -> int:
        """Thousandths, rounded away from zero."""
        return _away_from_zero(self.nanos, NANO // 1000)

    def __str__(self) -> str:
        if self.written is not None:
            return self.written
        # Binary suffixes cannot show a fraction, and below 1024 there is none to show.
        if self.format is Format.BINARY_SI and abs(self.nanos) >= 1024 * NANO and self.nanos % NANO == 0:
            return _print_binary(self.value)
        return _print_decimal(self.nanos, exponent_form=self.format is Format.DECIMAL_EXPONENT)


@functools.lru_cache(maxsize=65_536)
def _parse(text: str) -> Quantity:
    parts = _PARTS.fullmatch(text)
    if parts is None or not text:
        raise InvalidObject(f"{shown(text)} is not a quantity", accepted=_ACCEPTED)
    if len(text) > _MAX_DIGITS:
        raise InvalidObject(f"{shown(text)} is out of range", accepted=_ACCEPTED)
    sign, whole, fraction, suffix = parts[1], parts[2], parts[3] or "", parts[4]
    if suffix in _BINARY:
        return _binary(text, sign, whole, fraction, _BINARY[suffix])
    if suffix in _DECIMAL:
        return _decimal(text, sign, whole, fraction, _DECIMAL[suffix], Format.DECIMAL_SI)
    exponent = int(suffix[1:])
    if abs(exponent) > _MAX_EXPONENT:
        raise InvalidObject(f"{shown(text)} is out of range", accepted=_ACCEPTED)
    return _decimal(text, sign, whole, fraction, exponent, Format.DECIMAL_EXPONENT)


def _binary(text: str, sign: str, whole: str, fraction: str, power: int) -> Quantity:
    mantissa = int((whole + fraction) or "0")
    nanos = min(_away_from_zero(mantissa * NANO << power, 10 ** len(fraction)), MAX_INT64 * NANO)
    notation = Format.DECIMAL_SI if 0 < nanos < NANO else Format.BINARY_SI
    keep = not fraction and len(whole) + power * 3 // 10 < 15 and mantissa % 1024
    return Quantity(-nanos if sign == "-" else nanos, notation, text if keep else None)


def _decimal(text: str, sign: str, whole: str, fraction: str, exponent: int, notation: Format) -> Quantity:
    mantissa = int((whole + fraction) or "0")
    exponent -= len(fraction)
    power = exponent + 9
    nanos = mantissa * 10**power if power >= 0 else _away_from_zero(mantissa, 10**-power)
    # Kept as written when it is normal already: the exponent has a suffix and the mantissa no factor of 1000 to give away.
    normal = exponent % 3 == 0 and mantissa % 1000 and (whole.strip("0") or not fraction)
    keep = normal and len(whole + fraction) <= _FAST_DIGITS and power >= 0
    return Quantity(-nanos if sign == "-" else nanos, notation, text if keep else None)


def _away_from_zero(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount >= 0 else amount // divisor


def _print_binary(units: int) -> str:
    power = 0
    while units and units % 1024 == 0 and power < len(_SUFFIX_OF_BINARY) - 1:
        units //= 1024
        power += 1
    return f"{units}{_SUFFIX_OF_BINARY[power]}"


def _print_decimal(nanos: int, *, exponent_form: bool) -> str:
    if nanos == 0:
        return "0"
    mantissa, exponent = nanos, -9
    while mantissa % 1000 == 0 and (exponent_form or exponent < max(_SUFFIX_OF_DECIMAL)):
        mantissa //= 1000
        exponent += 3
    if exponent_form:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_SUFFIX_OF_DECIMAL[exponent]}"


@functools.lru_cache(maxsize=65_536)
def parse_units(text: str | float) -> int:
    """Whole units (bytes, counts) of a quantity, rounded up; what is beyond 64 bits counts as the most that they hold."""
    return _within_64_bits(Quantity.parse(text).value)


@functools.lru_cache(maxsize=65_536)
def parse_milli(text: str | float) -> int:
    """Thousandths (milli-CPU) of a quantity, rounded up; what is beyond 64 bits counts as the most that they hold."""
    return _within_64_bits(Quantity.parse(text).milli_value)


def _within_64_bits(amount: int) -> int:
    return max(-MAX_INT64 - 1, min(MAX_INT64, amount))
