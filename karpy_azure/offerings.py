"""The offerings of a size: each zone, on demand and, where Azure sells it so, as spot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import Offering, Price
from karpy.requirements import Requirement, Requirements
from karpy_azure import labels
from karpy_azure.pricing import SPOT

__all__ = ["OfferingTable"]

PRIORITIES: Final = {core.ON_DEMAND: "regular", core.SPOT: "spot"}
"""Capacity type → what AKS calls it."""


@attrs.frozen
class OfferingTable:
    """Builds offerings of one region. The requirements of each (zone, capacity type) are made once and shared."""

    zones: Sequence[str]
    _requirements: Mapping[tuple[str, str], Requirements] = attrs.field(
        init=False, default=attrs.Factory(lambda self: _requirements(self.zones), takes_self=True)
    )

    def offerings(self, series: str, on_demand: Price, *, spot: bool) -> tuple[Offering, ...]:
        """Offerings sorted by zone, then capacity type; ``spot`` says whether spot is sold at all."""
        sold_as = (core.ON_DEMAND, core.SPOT) if spot else (core.ON_DEMAND,)
        return tuple(
            Offering(
                zone,
                kind,
                on_demand if kind == core.ON_DEMAND else SPOT.price(on_demand, series, zone),
                requirements=self._requirements[zone, kind],
            )
            for zone in sorted(self.zones)
            for kind in sold_as
        )


def _requirements(zones: Sequence[str]) -> dict[tuple[str, str], Requirements]:
    return {
        (zone, kind): Requirements(
            (
                Requirement.in_(core.ZONE, zone),
                Requirement.in_(core.CAPACITY_TYPE, kind),
                Requirement.in_(labels.PLACEMENT_SCOPE, labels.ZONAL),
                Requirement.in_(labels.AKS_PRIORITY, priority),
                Requirement.in_(labels.AKS_SCALE_SET_PRIORITY, priority),
            )
        )
        for zone in zones
        for kind, priority in PRIORITIES.items()
    }
