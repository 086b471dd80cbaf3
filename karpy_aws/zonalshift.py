"""Zonal shift: traffic and machines that are to keep out of an impaired zone, as ARC tells of the cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from karpy_aws.times import moment

__all__ = ["ZonalShifts", "managed_resource_request", "read_zonal_shifts"]

_APPLIED: Final = "APPLIED"


@attrs.frozen
class ZonalShifts:
    """Zone id → when its shift ends, of the shifts that are applied."""

    until: Mapping[str, float] = attrs.field(factory=dict)

    def at(self, now: float) -> frozenset[str]:
        """The ids of the zones that nothing may be launched in now."""
        return frozenset(zone for zone, end in self.until.items() if now < end)


def managed_resource_request(cluster_arn: str) -> dict[str, Any]:
    """What GetManagedResource is asked for."""
    return {"resourceIdentifier": cluster_arn}


def read_zonal_shifts(answer: Mapping[str, Any]) -> ZonalShifts:
    """Read an answer of GetManagedResource. A shift that is not applied counts for nothing; AWS's own has no end that is known.

    Raises:
        InvalidObject: a shift whose end cannot be read.
    """
    until: dict[str, float] = {}
    for shift in (*(answer.get("zonalShifts") or ()), *(answer.get("autoshifts") or ())):
        if shift.get("appliedStatus") == _APPLIED and shift.get("awayFrom"):
            end = shift.get("expiryTime")
            ends = math.inf if end is None else moment(end, "zonalShifts.expiryTime")
            until[shift["awayFrom"]] = max(ends, until.get(shift["awayFrom"], ends))
    return ZonalShifts(until)
