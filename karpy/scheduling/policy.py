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
    one_by_one: bool = False
    """With Karpenter's packing: pods in Karpenter's order, not class by class."""
    leads: bool = True
    """A pod that others want to be near says where that is as soon as it has a place. Karpenter leaves it open where there is a
    choice, and puts the others off until the next pass."""
    respect_preferences: bool = True
    strict_min_values: bool = True
    reserved_capacity: bool = True
    default_spread: Sequence[TopologySpreadConstraint] = ()
