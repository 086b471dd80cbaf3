"""How a solve goes about it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from karpy.objects.podspec import TopologySpreadConstraint
from karpy.scheduling.packing import Packing

__all__ = ["Policy"]


@attrs.frozen(kw_only=True)
class Policy:
    """How a solve goes about it; see `karpy.scheduling.scheduler.solve`."""

    packing: Packing = Packing.THRIFTY
    to_the_letter: bool = False
    """Karpenter's packing as Karpenter has it, also where that only puts pods off until the next pass."""
    respect_preferences: bool = True
    strict_min_values: bool = True
    reserved_capacity: bool = True
    default_spread: Sequence[TopologySpreadConstraint] = ()
