"""The string formats that schemas of custom resources may ask for."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping

__all__ = ["fits_format"]

_HOST_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([zZ]|[+-]([01]\d|2[0-3]):?[0-5]\d)"
_DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_UNITS = "ns|us|µs|μs|ms|s|m|h|hours?|minutes?|seconds?|milliseconds?|microseconds?|nanoseconds?|d|days?|w|weeks?"
_UUID = r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _parses(read: Callable[[str], object]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return test


def _cidr(text: str) -> object:
    if "/" not in text:
        raise ValueError(text)
    return ipaddress.ip_network(text, strict=False)


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": _like(f"{_DATE}[tT ]{_TIME}"),
    "date": _like(_DATE),
    "duration": _like(rf"[+-]?(\d+(\.\d*)?|\.\d+)\s*({_UNITS})(\s*(\d+(\.\d*)?|\.\d+)\s*({_UNITS}))*|0"),
    "hostname": _like(rf"{_HOST_LABEL}(\.{_HOST_LABEL})*"),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_cidr),
    "mac": _like(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"),
    "uri": _like(r"[A-Za-z][A-Za-z0-9+.-]*:\S+|/\S*"),
    "email": _like(r"[^@\s<>]+@[^@\s<>]+"),
    "uuid": _like(_UUID % ("[0-9a-f]", "[0-9a-f]")),
    "uuid3": _like(_UUID % ("3", "[0-9a-f]")),
    "uuid4": _like(_UUID % ("4", "[89ab]")),
    "uuid5": _like(_UUID % ("5", "[89ab]")),
    "byte": _parses(lambda text: base64.b64decode(text, validate=True)),
}


def fits_format(text: str, name: str) -> bool:
    """Whether a string has a format; formats that are not known let everything through."""
    test = _FORMATS.get(name)
    return test is None or test(text)
