"""Whatever the weather, the books of the cloud are right, and what it answers is what a provider may answer."""

from __future__ import annotations

import random

import pytest

from karpy.errors import NodeClaimNotFound, ProviderError, Throttled
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.resources import CPU
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud
from karpy.sim.forecast import forecast
from karpy.sim.generic import GenericModel
from karpy.sim.weather import Hazard, Quota, Weather, Where
from tests.karpy.sim.manifests import NODE_CLASS

LASTS_S = 900.0


class Customer:
    """Launches, looks and deletes by chance, and checks the books after every step."""

    def __init__(self, seed: int, weather: Weather | None = None) -> None:
        drawn = forecast(seed, LASTS_S, zones=("sim-1a", "sim-1?"), instance_types=("c-*", "s-4x-*|m-*"))
        self.weather = weather or drawn
        self.clock = VirtualClock()
        self.cloud = SimCloud((GenericModel(),), self.clock, seed, weather=self.weather)
        self.dice = random.Random(seed)
        self.known: list[str] = []
        self.transcript: list[str] = []
        self.spent = 0.0
        self.throttled = 0

    def live(self, seconds: float) -> None:
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            try:
                self.transcript.append(self.act())
            except ProviderError as error:
                self.transcript.append(f"{type(error).__name__} {error}")
                self.throttled += isinstance(error, Throttled)
            self.check()
            self.clock.advance(self.dice.choice([0.0, 0.5, 5.0, 40.0]))

    def act(self) -> str:
        match self.dice.randrange(6):
            case 0 | 1:
                claim = NodeClaim(name=f"claim-{self.dice.randrange(60)}")
                types = self.dice.sample(list(self.cloud.instance_types(NodePool(name="p"), NODE_CLASS)), 5)
                instance = self.cloud.create(claim, NODE_CLASS, types)
                assert instance.claim == claim.name
                self.known.append(instance.provider_id)
                return repr(instance)
            case 2 if self.known:
                return repr(self.cloud.get(self.dice.choice(self.known)))
            case 3 if self.known:
                self.cloud.delete(self.dice.choice(self.known))
                return "deleted"
            case 4:
                for notice in self.cloud.messages():
                    self.cloud.acknowledge(notice)
                    self.transcript.append(repr(notice))
                return "read"
        return repr(self.cloud.list())

    def check(self) -> None:
        paid = [machine for machine in self.cloud.machines if machine.is_paid]
        assert self.cloud.cost_per_hour() == pytest.approx(sum(machine.price for machine in paid), abs=1e-6)
        assert all(machine.price > 0 for machine in paid)
        assert self.throttled == self.cloud.throttled.total()
        spent = self.cloud.cost()
        assert spent >= self.spent - 1e-9
        self.spent = spent
        self.transcript.append(f"{spent:.9f} {len(paid)}")


@pytest.mark.parametrize("seed", range(40))
def test_the_books_are_right_and_the_end_of_the_storm_is_calm(seed: int) -> None:
    customer = Customer(seed)
    customer.live(LASTS_S)
    customer.clock.advance(300.0)
    cloud = customer.cloud
    assert {seen.provider_id for seen in cloud.list()} == {machine.provider_id for machine in cloud.machines}
    for machine in cloud.machines:
        cloud.delete(machine.provider_id)
    customer.clock.advance(60.0)
    assert cloud.list() == cloud.machines == ()
    assert cloud.cost_per_hour() == 0.0
    choices = cloud.instance_types(NodePool(name="p"), NODE_CLASS)
    assert cloud.create(NodeClaim(name="afterwards"), NODE_CLASS, choices).claim == "afterwards"
    with pytest.raises(NodeClaimNotFound):
        cloud.get("sim:///sim-1a/i-99999999")


@pytest.mark.parametrize("seed", range(10))
def test_a_storm_is_the_same_each_time(seed: int) -> None:
    first, second = Customer(seed), Customer(seed)
    for customer in (first, second):
        customer.live(LASTS_S)
    assert first.transcript == second.transcript


@pytest.mark.parametrize("seed", range(10))
def test_no_quota_is_ever_exceeded(seed: int) -> None:
    spot, region = Quota(Where("c-*", capacity_type="spot"), vcpus=16), Quota(machines=12)
    customer = Customer(
        seed, Weather(quotas=(spot, region), hazards=(Hazard("interruption", 2.0), Hazard("stop", 2.0)))
    )
    refused = 0
    for _ in range(60):
        customer.live(20.0)
        paid = [machine for machine in customer.cloud.machines if machine.is_paid]
        counted = [machine for machine in paid if machine.offering_key in spot.where]
        assert sum(machine.instance_type.capacity[CPU] for machine in counted) <= 16_000
        assert len(paid) <= 12
        codes = {refusal.code for answer in customer.cloud.answers for refusal in answer.refusals}
        refused += "InstanceLimitExceeded" in codes or "MaxSpotInstanceCountExceeded" in codes
    assert refused
