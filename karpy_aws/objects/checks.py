"""Checks that several generations share; each raises `InvalidObject` with path, finding and what is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from karpy.errors import InvalidObject
from karpy.quantity import parse_units
from karpy_aws.objects.nodeclass import BlockDeviceMapping, MetadataOptions

VOLUME_BYTES: Final = (10**9, 64 * 10**12)
VOLUME_TYPES: Final = ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")


def one_of(path: str, value: Any, accepted: Iterable[str]) -> None:
    """Refuse a value that is set and not among ``accepted``."""
    choices = tuple(accepted)
    if value is not None and value not in choices:
        raise InvalidObject(f"{value!r} is not known", path=path, accepted=", ".join(choices))


def within(path: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise InvalidObject(f"{value} is out of range", path=path, accepted=f"an integer from {least} to {most}")


def matches(path: str, value: str, pattern: str) -> None:
    """Refuse a value that ``pattern`` does not match as a whole."""
    if not re.fullmatch(pattern, value):
        raise InvalidObject(f"{value!r} is malformed", path=path, accepted=f"what matches {pattern}")


def filled_map(path: str, given: Mapping[str, str]) -> None:
    """Refuse an empty key or value."""
    for key, value in given.items():
        if not key or not value:
            raise InvalidObject(f"{key!r}: {value!r} is empty", path=path, accepted="non-empty keys and values")


def check_metadata_options(path: str, options: MetadataOptions | None) -> None:
    if options is None:
        return
    one_of(f"{path}.httpEndpoint", options.http_endpoint, ("enabled", "disabled"))
    one_of(f"{path}.httpProtocolIPv6", options.http_protocol_ipv6, ("enabled", "disabled"))
    one_of(f"{path}.httpTokens", options.http_tokens, ("required", "optional"))
    within(f"{path}.httpPutResponseHopLimit", options.http_put_response_hop_limit, 1, 64)


def check_block_devices(path: str, devices: Iterable[BlockDeviceMapping]) -> None:
    """Each entry must name a device and say what it is; at most one is the root."""
    roots = 0
    for index, device in enumerate(devices):
        here = f"{path}[{index}]"
        if not device.device_name:
            raise InvalidObject("no device is named", path=f"{here}.deviceName", accepted="a name such as /dev/xvda")
        if device.ebs is None:
            raise InvalidObject("the volume is not described", path=f"{here}.ebs", accepted="an object")
        if device.ebs.volume_size is None and not device.ebs.snapshot_id:
            raise InvalidObject(
                "neither volumeSize nor snapshotID is set", path=f"{here}.ebs", accepted="at least one of the two"
            )
        if device.ebs.volume_size is not None:
            _check_volume_size(f"{here}.ebs.volumeSize", device.ebs.volume_size)
        one_of(f"{here}.ebs.volumeType", device.ebs.volume_type, VOLUME_TYPES)
        roots += device.root_volume
    if roots > 1:
        raise InvalidObject(f"{roots} entries are rootVolume", path=path, accepted="at most one")


def _check_volume_size(path: str, size: str | int) -> None:
    least, most = VOLUME_BYTES
    try:
        bytes_ = parse_units(size)
    except InvalidObject as error:
        raise error.at(path=path) from None
    if not least <= bytes_ <= most:
        raise InvalidObject(f"{size!r} is out of range", path=path, accepted="1G to 64T")
