"""`StandIn`: EC2 as the site of a simulated world, with karpy's own provider for EC2 before it.

A backend answers the provider's calls and keeps records of instances. Here these become machines with kubelets, and what befalls
the machines comes back to the backend: an interruption is a message in the queue, and then an instance that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from karpy import labels as core
from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceTypes, Offering, Price
from karpy.cloud.provider import CloudProvider, Instance
from karpy.errors import InternalError, ProviderError
from karpy.sim.machines import Machine
from karpy.sim.processes.gate import Crashed, Gate
from karpy.sim.processes.gatedcloud import GatedCloud
from karpy.sim.region.colocation import Arrival, Colocation
from karpy.sim.region.datacenter import Listener
from karpy.sim.weather import Weather
from karpy_aws.api import APIs, Request, Response, apis
from karpy_aws.machines import provider_id, read_machine
from karpy_aws.testing.backends import Backend, Record
from karpy_aws.testing.events import event_of
from karpy_aws.testing.gatedtransport import GatedTransport
from karpy_aws.testing.launching import ENDED
from karpy_aws.testing.userdata import Boot, read_user_data

__all__ = ["MakeProvider", "StandIn"]

MakeProvider = Callable[[APIs, Clock], CloudProvider]
_MOST_NOTICES: Final = 1_000
_CHANGES: Final = frozenset({"CreateFleet", "TerminateInstances"})
_NOTHING: Final = Boot()


class StandIn:
    """A `karpy.sim.site.Site`, and the `karpy_aws.api.Transport` of its providers.

    ``types`` are what machines turn out to have, the zones that sell them, and what they cost. ``cluster`` is the one that they
    must have been told to join.
    """

    def __init__(
        self,
        backend: Backend,
        machines: Colocation,
        make_provider: MakeProvider,
        clock: Clock,
        *,
        types: InstanceTypes,
        cluster: str,
    ) -> None:
        self.backend = backend
        self._machines = machines
        self._make_provider = make_provider
        self._clock = clock
        self._types = types
        self._cluster = cluster
        self._seen: dict[str, str] = {}
        """Provider ids by the instances' ids, of all that were ever seen."""
        self._ended: set[str] = set()
        machines.subscribe(self._follow)
        machines.on_stray(lambda _stray: self.look())

    # As what carries the provider's calls

    def call(self, service: str, operation: str, request: Request) -> Response:
        """As `karpy_aws.api.Transport` says."""
        with self._machines.moment():
            if operation == "ReceiveMessage":
                self._post()
            try:
                return self.backend.call(service, operation, request)
            finally:
                if operation in _CHANGES:
                    self.look()

    # As a site (see `karpy.sim.site`)

    @cached_property
    def provider(self) -> CloudProvider:
        return self._make_provider(apis(self, self.backend.region), self._clock)

    def connect(self, gate: Gate) -> CloudProvider:
        """A provider that cannot start ends its process, which is started again."""
        try:
            provider = self._make_provider(apis(GatedTransport(self, gate), self.backend.region), gate)
        except ProviderError as error:
            raise Crashed from error
        return GatedCloud(provider, gate)

    @property
    def launches_once(self) -> bool:
        return False

    @property
    def weather(self) -> Weather:
        return self._machines.weather

    @property
    def machines(self) -> Sequence[Machine]:
        return self._machines.machines

    def machine(self, provider_id: str) -> Machine | None:
        return self._machines.machine(provider_id)

    @property
    def launches(self) -> int:
        return self._machines.launches

    def cost_per_hour(self) -> Price:
        return self._machines.cost_per_hour()

    def cost(self, until: float | None = None) -> float:
        return self._machines.cost(until)

    def subscribe(self, listener: Listener) -> None:
        self._machines.subscribe(listener)

    def on_plan(self, listener: Callable[[float], None]) -> None:
        self._machines.on_plan(listener)

    def catch_up(self) -> float | None:
        return self._machines.catch_up()

    # Between records and machines

    def look(self) -> None:
        """Make machines of what was launched, and end those that were ended."""
        for record in self.backend.instances():
            id_, is_over = record["InstanceId"], record["State"]["Name"] in ENDED
            if id_ not in self._seen:
                self._launched(id_, record)
            if is_over and id_ not in self._ended:
                self._ended.add(id_)
                self._machines.end(self._seen[id_])

    def _launched(self, id_: str, record: Record) -> None:
        read = read_machine(record)
        self._seen[id_] = provider_id(read.zone, id_)
        if not read.zone:
            return  # it was over before it was first looked at
        told = self.backend.user_data(record)
        boot = read_user_data(told) if told else _NOTHING
        self._machines.receive(
            self._arrival(read.instance(), read.private_dns_name, boot), self.backend.troubles(record)
        )

    def _arrival(self, instance: Instance, node_name: str, boot: Boot) -> Arrival:
        name, zone = instance.labels[core.INSTANCE_TYPE], instance.labels[core.ZONE]
        type_ = self._types.by_name(name)
        if type_ is None:
            raise InternalError(f"{name} was launched, and nobody here knows what it has")
        capacity_type = instance.labels[core.CAPACITY_TYPE]
        sold = (each for each in type_.offerings if (each.zone, each.capacity_type) == (zone, capacity_type))
        offering = next(sold, None) or Offering(zone, capacity_type, None)
        return Arrival(
            provider_id=instance.provider_id,
            node_name=node_name,
            claim=instance.claim,
            instance_type=type_,
            offering=offering,
            labels={**boot.labels, **_labels_of_the_cloud(instance, zone)},
            taints=boot.taints,
            price=offering.price if offering.has_price else 0.0,
            image_id=instance.image_id,
            joins=boot.cluster == self._cluster,
        )

    def _follow(self, machine: Machine) -> None:
        """What happened to a machine without that anyone asked for it happens to its record."""
        id_ = machine.provider_id.rpartition("/")[2]
        if machine.terminating_since is not None:
            if id_ not in self._ended:
                self._ended.add(id_)
                self.backend.terminate(id_)
        elif not machine.is_paid:
            self.backend.stop(id_)

    def _post(self) -> None:
        """Put the notices that there are into the queue."""
        for notice in self._machines.notices.receive(self._clock.now(), _MOST_NOTICES):
            self._machines.notices.acknowledge(notice)
            self.backend.send(event_of(notice, self.backend.region))


def _labels_of_the_cloud(instance: Instance, zone: str) -> dict[str, str]:
    """What EKS's cloud controller labels a node with."""
    kept = (core.INSTANCE_TYPE, core.ZONE, core.ARCH)
    said = {key: instance.labels[key] for key in kept if key in instance.labels}
    return {**said, core.OS: "linux", core.REGION: zone[:-1]}
