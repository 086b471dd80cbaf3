"""What stands behind a stand-in: an EC2 that has no machines in it, only records of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from karpy import labels as core
from karpy.clock import Clock
from karpy.sim.region.colocation import Colocation
from karpy.sim.region.troubles import TroubleKind
from karpy.sim.weather import Stray
from karpy_aws import labels
from karpy_aws.api import Request, Response
from karpy_aws.machines import CLUSTER_NAME_TAG, NODE_CLAIM_TAG
from karpy_aws.testing.cloud import FakeAWS
from karpy_aws.testing.launching import Launch, launch
from karpy_aws.testing.regions import CLUSTER, QUEUE
from karpy_aws.testing.weathering import EC2Weather
from karpy_aws.testing.world import World

__all__ = ["Backend", "FakeBackend"]

Record = Mapping[str, Any]
_STRAY: Final = "stray"


class Backend(Protocol):
    """An EC2, and what nobody may do there but whoever owns it."""

    region: str

    def call(self, service: str, operation: str, request: Request) -> Response:
        """As `karpy_aws.api.Transport` says."""
        ...

    def instances(self) -> Iterable[Record]:
        """All machines, as DescribeInstances tells of them, though it may not yet."""
        ...

    def user_data(self, instance: Record) -> str:
        """What a machine was told to run, in base64; empty for nothing."""
        ...

    def terminate(self, id_: str) -> None:
        """The machine begins to end, without that anyone had asked."""
        ...

    def stop(self, id_: str) -> None:
        """The machine stops, though nobody had asked."""
        ...

    def troubles(self, instance: Record) -> Mapping[TroubleKind, float]:
        """What is wrong with a machine that was launched just now."""
        ...

    def send(self, body: str) -> None:
        """Put a message into the queue of interruptions."""
        ...


class FakeBackend:
    """`FakeAWS` under the weather of ``machines``. ``queue``: the name of the queue of interruptions."""

    def __init__(self, fake: FakeAWS, machines: Colocation, clock: Clock, queue: str = QUEUE) -> None:
        self.fake = fake
        self.region = fake.world.region
        self._clock = clock
        self._queue = queue
        self._weather = EC2Weather(fake.world, machines)
        self._strays = 0
        machines.on_stray(self._stray)

    def call(self, service: str, operation: str, request: Request) -> Response:
        self._weather.before(service, operation, request, self._clock.now())
        answer = self.fake.call(service, operation, request)
        if operation == "CreateFleet" and (lost := self._weather.lost_answer()) is not None:
            raise lost
        return answer

    def instances(self) -> Iterable[Record]:
        return list(self.fake.world.instances.values())

    def user_data(self, instance: Record) -> str:
        return self.fake.world.user_data.get(instance["InstanceId"], "")

    def terminate(self, id_: str) -> None:
        self.fake.world.found_at.pop(id_, None)
        self.fake.call("ec2", "TerminateInstances", {"InstanceIds": [id_]})

    def stop(self, id_: str) -> None:
        self.fake.world.instances[id_]["State"] = {"Code": 80, "Name": "stopped"}

    def send(self, body: str) -> None:
        self.fake.world.send(self._queue, body, self._clock.now())

    def troubles(self, instance: Record) -> Mapping[TroubleKind, float]:
        is_stray = any(tag["Key"] == _STRAY for tag in instance["Tags"])
        return {TroubleKind.NEVER_JOINS: 0.0} if is_stray else self._weather.troubles

    def _stray(self, stray: Stray) -> None:
        """Launch the cheapest on-demand machine of those that are meant."""
        world, where = self.fake.world, stray.where
        choices = [
            (price, name, zone)
            for name, price in world.on_demand_prices.items()
            for zone in world.offerings[name]
            if (name, zone, core.ON_DEMAND) in where
        ]
        if choices:
            _, name, zone = min(choices)
            launch(world, _unclaimed(world, name, zone, self._tags(stray)), self._clock.now())

    def _tags(self, stray: Stray) -> dict[str, str]:
        """One of ours has the marks of a claim from another life."""
        self._strays += 1
        if not stray.is_ours:
            return {_STRAY: "somebody else's"}
        owned = {core.NODEPOOL: "lost", labels.NODE_CLASS: "lost", CLUSTER_NAME_TAG: CLUSTER}
        return {**owned, NODE_CLAIM_TAG: f"lost-{self._strays}", _STRAY: "ours"}


def _unclaimed(world: World, name: str, zone: str, tags: Mapping[str, str]) -> Launch:
    architectures = world.instance_types[name]["ProcessorInfo"]["SupportedArchitectures"]
    return Launch(
        capacity_type="on-demand",
        instance_type=name,
        zone=zone,
        subnet=next(id_ for id_, found in sorted(world.subnets.items()) if found["AvailabilityZone"] == zone),
        image=next(id_ for id_, found in sorted(world.images.items()) if found["Architecture"] in architectures),
        template_id="",
        fleet_id="",
        data={},
        tags=[{"Key": key, "Value": value} for key, value in tags.items()],
    )
