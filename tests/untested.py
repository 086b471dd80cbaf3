"""Numbers of the specifications that no test claims, each with the reason. They stand on the pages of `tests/conformance.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BY_HAND: Final = "only Karpenter's own tables know it, EC2's API does not tell; a NodeOverlay adds it"
_NO_METRICS: Final = "not there yet: metrics of what a cloud sells"

UNTESTED: Final[Mapping[str, str]] = {
    "AWS-037": "the API server takes any text; pods learn that no machine is sold so",
    "AWS-085": "what is tried out is a machine of usual tenancy; one of its own needs no other permission",
    "AWS-105": _BY_HAND,
    "AWS-107": _BY_HAND,
    "AWS-125": _NO_METRICS,
    "AWS-134": "offerings come from one table; prices and capacities from elsewhere are NodeOverlays",
    "AWS-231": "the core's: it ends what the provider lists and no claim names",
    "AWS-233": "not there yet: claim and node go on saying reserved after a reservation was withdrawn",
    "AWS-237": _NO_METRICS,
    "AWS-242": "not there yet: claims for machines of the time before there were any",
    "AWS-248": "the kubelet registers its node; karpy makes none",
}
