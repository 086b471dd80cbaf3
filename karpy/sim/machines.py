"""The machines of the simulated cloud, and what they cost.

A machine is billed at its offering's price from launch until its end is asked for. The bill is kept as sums, so that asking for
it costs the same after a day as after a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from karpy.cloud.instancetype import InstanceType, Offering, Price
from karpy.cloud.provider import Instance
from karpy.sim.region.where import OfferingKey
from karpy.taints import Taint

__all__ = ["Bill", "Machine", "Machines"]


HOUR_S = 3600.0


@attrs.define(eq=False, kw_only=True)
class Machine:
    """One machine. Times are seconds since the epoch; infinity is never."""

    serial: int
    model: str
    """The name of the cloud model that sells it."""
    provider_id: str
    node_name: str
    claim: str
    instance_type: InstanceType
    offering: Offering
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    price: Price
    created: float
    joins_at: float
    """When its kubelet creates the Node."""
    ready_at: float
    image_id: str = ""
    terminating_since: float | None = None
    gone_at: float | None = None
    is_paid: bool = True
    lag_s: float = 0.0
    """What the cloud's API tells of it is so old."""
    is_dead: bool = False
    """It runs and costs, but its kubelet does not answer any more."""
    joins: bool = True
    """Whether its kubelet ever registers."""
    memory_factor: float = 1.0
    """How much of the memory that its type promises is there."""
    late_resources_s: Mapping[str, float] = attrs.field(factory=dict)
    """Seconds after joining until an extended resource appears."""
    dies_at: float | None = None
    """When its kubelet falls silent."""
    taken_at: float | None = None
    """When the cloud takes it away or stops it, as it has announced."""
    returns_at: float | None = None
    """When a kubelet that fell silent answers again."""

    @property
    def offering_key(self) -> OfferingKey:
        return self.instance_type.name, self.offering.zone, self.offering.capacity_type

    @property
    def runs_kubelet(self) -> bool:
        return self.terminating_since is None and not self.is_dead

    def is_gone(self, now: float) -> bool:
        return self.gone_at is not None and self.gone_at <= now

    def is_forgotten(self, now: float) -> bool:
        """Whether the cloud's API has nothing to tell of it any more either."""
        return self.gone_at is not None and self.gone_at + self.lag_s <= now

    def seen(self, now: float) -> Instance | None:
        """What the cloud's API tells of it, which is how it was some seconds ago; None before it has heard of it."""
        then = now - self.lag_s
        if self.created > then or self.is_gone(then):
            return None
        instance = self.instance()
        if self.terminating_since is not None and self.terminating_since > then:
            return attrs.evolve(instance, is_terminating=False)
        return instance

    def instance(self) -> Instance:
        """How it is."""
        return Instance(
            provider_id=self.provider_id,
            claim=self.claim,
            labels=self.labels,
            capacity=self.instance_type.capacity,
            allocatable=self.instance_type.allocatable,
            image_id=self.image_id,
            is_terminating=self.terminating_since is not None,
            created=self.created,
        )


class Machines:
    """The machines there are, by provider id; those that are gone drop out when the cloud's API has forgotten them."""

    def __init__(self) -> None:
        self._by_id: dict[str, Machine] = {}
        self._by_claim: dict[str, Machine] = {}

    def __iter__(self) -> Iterator[Machine]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, machine: Machine) -> None:
        self._by_id[machine.provider_id] = machine
        self._by_claim[machine.claim] = machine

    def get(self, provider_id: str, now: float) -> Machine | None:
        """The machine, as long as it exists."""
        machine = self.remembered(provider_id, now)
        return None if machine is None or machine.is_gone(now) else machine

    def remembered(self, provider_id: str, now: float) -> Machine | None:
        """The machine, as long as the cloud's API may tell of it."""
        machine = self._by_id.get(provider_id)
        if machine is not None and machine.is_forgotten(now):
            self._drop(machine)
            return None
        return machine

    def of_claim(self, claim: str, now: float) -> Machine | None:
        """The machine that was launched for a claim and is not on its way out."""
        machine = self._by_claim.get(claim)
        if machine is None or machine.is_gone(now) or machine.terminating_since is not None:
            return None
        return machine

    def prune(self, now: float) -> None:
        for machine in [machine for machine in self if machine.is_forgotten(now)]:
            self._drop(machine)

    def _drop(self, machine: Machine) -> None:
        self._by_id.pop(machine.provider_id, None)
        if self._by_claim.get(machine.claim) is machine:
            del self._by_claim[machine.claim]


class Bill:
    """Dollars: what was spent until the last change, and how much is spent per hour since."""

    def __init__(self, now: float) -> None:
        self._settled = 0.0
        self._since = now
        self.per_hour: Price = 0.0

    def change(self, by: Price, now: float) -> None:
        """The hourly rate changes at ``now``."""
        self._settled = self.total(now)
        self._since = now
        self.per_hour = max(
            round(self.per_hour + by, 9), 0.0
        )  # prices have fewer digits; what is beyond is float residue

    def total(self, until: float) -> float:
        """Dollars spent until a time that is not before the last change."""
        return self._settled + self.per_hour * max(until - self._since, 0.0) / HOUR_S
