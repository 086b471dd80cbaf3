"""`Outlook`: what karpy would do in a cluster now, with everything that a report of it needs."""

from __future__ import annotations

import math

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, Offering, Price, cheapest
from karpy.disruption.survey import Survey
from karpy.requirements import Requirements
from karpy.scheduling.plan import Launch, Plan

__all__ = ["Outlook", "claim_requirements", "priced"]

_UNTIL_IT_IS_UP = (labels.HOSTNAME, labels.REGISTERED, labels.INITIALIZED)


@attrs.frozen(kw_only=True, eq=False)
class Outlook:
    """``plan`` and ``disruption`` are None where nobody asked."""

    name: str
    catalog: Catalog
    notes: tuple[str, ...] = ()
    plan: Plan | None = None
    disruption: Survey | None = None

    @property
    def bound(self) -> Price:
        """The least that machines for these pods can cost."""
        return self.plan.bound if self.plan is not None else 0.0

    @property
    def leaves_pods_waiting(self) -> bool:
        return self.plan is not None and bool(self.plan.unschedulable)

    @property
    def changes_something(self) -> bool:
        """Whether a machine would be launched or disrupted."""
        launches = self.plan is not None and bool(self.plan.launches)
        return launches or (self.disruption is not None and bool(self.disruption.next.commands))

    def offering(self, launch: Launch) -> Offering | None:
        """What the launch would buy first: the cheapest offering of its cheapest type."""
        types = self.catalog.types.get(launch.pool.name)
        found = types.by_name(launch.instance_types[0].name) if types is not None else None
        return None if found is None else cheapest(found, launch.requirements)


def claim_requirements(launch: Launch) -> Requirements:
    """What the launched node will be known to be, without what only holds once it is up."""
    return launch.requirements.without(*_UNTIL_IT_IS_UP)


def priced(price: Price) -> Price | None:
    """A price for JSON, which has no infinity."""
    return price if math.isfinite(price) else None
