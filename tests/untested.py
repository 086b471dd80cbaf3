"""Numbers of the specifications that no test claims, each with the reason. They stand on the pages of `tests/conformance.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_BY_HAND: Final = "only Karpenter's own tables know it, EC2's API does not tell; a NodeOverlay adds it"
_LAUNCH: Final = "in work: launching"
_CLASSES: Final = "in work: what a node class comes to"
_PROVIDER: Final = "in work: the provider as a whole"

UNTESTED: Final[Mapping[str, str]] = {
    "AWS-037": "of the core: what a NodePool may ask for",
    "AWS-105": _BY_HAND,
    "AWS-107": _BY_HAND,
    **dict.fromkeys(("AWS-108", "AWS-109", "AWS-110"), _LAUNCH),
    **dict.fromkeys(("AWS-188", "AWS-192", "AWS-193", "AWS-196", "AWS-197", "AWS-198", "AWS-199", "AWS-200"), _LAUNCH),
    **dict.fromkeys(("AWS-201", "AWS-202", "AWS-203", "AWS-204", "AWS-205", "AWS-206", "AWS-207", "AWS-208"), _LAUNCH),
    **dict.fromkeys(("AWS-210", "AWS-211", "AWS-245", "AWS-248"), _LAUNCH),
    **dict.fromkeys(("AWS-063", "AWS-064", "AWS-074", "AWS-079", "AWS-080", "AWS-081", "AWS-083"), _CLASSES),
    **dict.fromkeys(("AWS-084", "AWS-085", "AWS-086", "AWS-241"), _CLASSES),
    **dict.fromkeys(
        ("AWS-125", "AWS-134", "AWS-155", "AWS-227", "AWS-231", "AWS-233", "AWS-234", "AWS-235"), _PROVIDER
    ),
    **dict.fromkeys(
        ("AWS-217", "AWS-218", "AWS-221", "AWS-222", "AWS-223", "AWS-224", "AWS-237", "AWS-242"), _PROVIDER
    ),
}
