"""The offerings of an instance type: each zone that has it, on demand and, where EC2 sells it so, as spot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from karpy import labels as core
from karpy.cloud.instancetype import Offering, Price
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.pricing import SPOT

__all__ = ["OfferingTable"]


@attrs.frozen
class OfferingTable:
    """Builds offerings of one region. The requirements of each (zone, capacity type) are made once and shared."""

    zone_ids: Mapping[str, str]
    """Zone name → zone id."""
    _requirements: Mapping[tuple[str, str], Requirements] = attrs.field(
        init=False, default=attrs.Factory(lambda self: _requirements(self.zone_ids), takes_self=True)
    )

    def offerings(
        self, family: str, zones: Iterable[str], usage_classes: Iterable[str], on_demand: Price
    ) -> tuple[Offering, ...]:
        """Offerings sorted by zone, then capacity type."""
        sold_as = [kind for kind in (core.ON_DEMAND, core.SPOT) if kind in set(usage_classes)]
        return tuple(
            Offering(
                zone,
                kind,
                on_demand if kind == core.ON_DEMAND else SPOT.price(on_demand, family, zone),
                requirements=self._requirements[zone, kind],
            )
            for zone in sorted(zones)
            for kind in sold_as
        )


def _requirements(zone_ids: Mapping[str, str]) -> dict[tuple[str, str], Requirements]:
    return {
        (zone, kind): Requirements(
            (
                Requirement.in_(core.ZONE, zone),
                Requirement.in_(core.CAPACITY_TYPE, kind),
                Requirement.in_(labels.ZONE_ID, zone_id),
            )
        )
        for zone, zone_id in zone_ids.items()
        for kind in (core.ON_DEMAND, core.SPOT)
    }
