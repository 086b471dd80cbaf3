"""`SimCloud`: a cloud that exists only here, as a `karpy.cloud.provider.CloudProvider`.

It sells what cloud models describe, keeps machines in memory, and can be told to run short, to change prices, to fail launches
and to send machines that never join. Like a real provider it learns of a shortage by being refused, and remembers that for a
while; what it is short of and what it knows of are two things.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Sequence

import attrs

from karpy import labels
from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Price, as_bought, is_price, offerings_for
from karpy.cloud.model import CloudModel, load_models
from karpy.cloud.provider import CloudProvider, Instance, NodeClassStatus, ProviderContext, RawNodeClass
from karpy.errors import InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady, ProviderError
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.sim.generic import GenericModel
from karpy.sim.machines import Bill, Machine, Machines
from karpy.sim.market import Market
from karpy.sim.weather import Weather
from karpy.sim.where import OfferingKey
from karpy.taints import UNREGISTERED, merge_taints

__all__ = ["SimCloud", "Timing", "create_provider"]

Listener = Callable[[Machine], None]


@attrs.frozen
class Timing:
    """Ranges of seconds from which delays are drawn."""

    boot: tuple[float, float] = (25.0, 45.0)
    """From launch until the Node appears."""
    ready: tuple[float, float] = (4.0, 9.0)
    """From there until it is ready."""
    terminate: tuple[float, float] = (6.0, 14.0)
    """From the request until the machine is gone."""


class SimCloud:
    """Machines in memory, on the clock that it is given. Methods are safe from several threads."""

    name = "sim"

    def __init__(
        self,
        models: Sequence[CloudModel],
        clock: Clock,
        seed: int = 0,
        *,
        timing: Timing | None = None,
        weather: Weather | None = None,
    ) -> None:
        self._models = tuple(models)
        self._model_of = {(kind.group, kind.kind): model for model in models for kind in model.node_classes}
        self._clock = clock
        self._random = random.Random(f"cloud/{seed}")
        self._timing = timing or Timing()
        self.weather = weather or Weather.calm()
        self._machines = Machines()
        self._bill = Bill(clock.now())
        self._lock = threading.RLock()
        self._listeners: list[Listener] = []
        self._failures: list[ProviderError] = []
        self._stillborn = 0
        self.market = Market({model.name: model.instance_types for model in models})
        self.launches = 0

    # CloudProvider

    @property
    def labels(self) -> LabelSpec:
        spec = LabelSpec(frozenset())
        for model in self._models:
            spec = spec | model.labels
        return spec

    @property
    def node_classes(self) -> Sequence[Kind]:
        return tuple(kind for model in self._models for kind in model.node_classes)

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        """The catalog of the model that serves the node class; the same object until a price or an availability changes."""
        del pool
        with self._lock:
            return self.market.catalog(self._model(node_class).name, self._clock.now())

    def create(self, claim: NodeClaim, node_class: RawNodeClass, choices: Sequence[InstanceType]) -> Instance:
        """Launch the cheapest offering that there is; a second call for the same claim answers the same machine."""
        with self._lock:
            now = self._clock.now()
            known = self._machines.of_claim(claim.name, now)
            if known is not None:
                return known.instance()
            model = self._model(node_class)
            status = model.resolve(node_class)
            if not status.ready:
                raise NodeClassNotReady(status.message or status.reason)
            if self._failures:
                raise self._failures.pop(0)
            machine = self._launch(model, claim, *self._buy(claim, choices))
        self._tell(machine)
        return machine.instance()

    def delete(self, provider_id: str) -> None:
        """Begin to terminate; from some seconds later on the machine is not found."""
        with self._lock:
            machine = self._find(provider_id)
            if machine.terminating_since is not None:
                return
            now = self._clock.now()
            machine.terminating_since = now
            machine.gone_at = now + self._draw(self._timing.terminate)
            self._bill.change(-machine.price, now)
        self._tell(machine)

    def get(self, provider_id: str) -> Instance:
        with self._lock:
            return self._find(provider_id).instance()

    def list(self) -> Sequence[Instance]:
        with self._lock:
            self._machines.prune(self._clock.now())
            return tuple(machine.instance() for machine in self._machines)

    def drift_reason(self, claim: NodeClaim, pool: NodePool, node_class: RawNodeClass) -> str | None:
        """None: nothing here drifts."""
        del claim, pool, node_class
        return None

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        try:
            return self._model(node_class).resolve(node_class)
        except NodeClassNotReady as error:
            return NodeClassStatus(ready=False, reason="UnknownNodeClass", message=str(error))

    def default_requirements(self, pool: NodePool) -> Requirements:
        """What the model of the pool's node class adds (see `karpy.cloud.provider.Defaulting`)."""
        ref = pool.node_class
        model = self._model_of.get((ref.group, ref.kind))
        if model is None and not ref.kind:
            model = self._models[0]
        return Requirements() if model is None else model.default_requirements(pool)

    # What a scenario can do to it

    def sell_out(self, instance_type: str = "", zone: str = "", capacity_type: str = "") -> None:
        """Have nothing left of these offerings; what is not named stands for all."""
        with self._lock:
            self.market.sell_out((instance_type, zone, capacity_type))

    def restock(self, instance_type: str = "", zone: str = "", capacity_type: str = "") -> None:
        """End the shortage that was begun with just these words."""
        with self._lock:
            self.market.restock((instance_type, zone, capacity_type))

    def set_price(self, instance_type: str, zone: str, capacity_type: str, price: Price) -> None:
        """From now on an offering costs so much; machines that run already pay it too."""
        with self._lock:
            key = (instance_type, zone, capacity_type)
            self.market.set_price(key, price)
            for machine in self._machines:
                if machine.offering_key == key and machine.terminating_since is None:
                    billed = price if is_price(price) else 0.0
                    self._bill.change(billed - machine.price, self._clock.now())
                    machine.price = billed

    def fail_launches(self, *errors: ProviderError) -> None:
        """Answer the next launches with these errors, one each."""
        with self._lock:
            self._failures.extend(errors)

    def launch_stillborn(self, count: int = 1) -> None:
        """The next ``count`` machines run, and cost, but never join the cluster."""
        with self._lock:
            self._stillborn += count

    def add_machine(self, instance_type: str, zone: str, node_class: RawNodeClass, name: str = "") -> Instance:
        """Launch an on-demand machine that no claim asked for, like one of a managed node group; ``name`` is its node's."""
        with self._lock:
            model = self._model(node_class)
            catalog = self.market.catalog(model.name, self._clock.now())
            choice = next(each for each in catalog if each.name == instance_type)
            offering = next(
                each for each in choice.offerings if (each.zone, each.capacity_type) == (zone, labels.ON_DEMAND)
            )
            machine = self._launch(model, NodeClaim(name=""), choice, offering)
            machine.taints = ()
            machine.node_name = name or machine.node_name or f"node-{machine.serial}"
        self._tell(machine)
        return machine.instance()

    def kill(self, provider_id: str) -> None:
        """The machine's kubelet falls silent; the machine itself stays."""
        with self._lock:
            machine = self._find(provider_id)
            machine.is_dead = True
        self._tell(machine)

    def vanish(self, provider_id: str) -> None:
        """The machine is gone at once, without anyone having asked."""
        with self._lock:
            machine = self._find(provider_id)
            now = self._clock.now()
            if machine.terminating_since is None:
                self._bill.change(-machine.price, now)
                machine.terminating_since = now
            machine.gone_at = now
        self._tell(machine)

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener`` whenever a machine is launched, begins to terminate, dies or vanishes."""
        self._listeners.append(listener)

    # What can be asked of it

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All machines that exist, in the order of their launch."""
        with self._lock:
            self._machines.prune(self._clock.now())
            return tuple(self._machines)

    def machine(self, provider_id: str) -> Machine | None:
        with self._lock:
            return self._machines.get(provider_id, self._clock.now())

    def cost_per_hour(self) -> Price:
        with self._lock:
            return self._bill.per_hour

    def cost(self, until: float | None = None) -> float:
        """Dollars spent until now, or until a later time if nothing changes."""
        with self._lock:
            return self._bill.total(self._clock.now() if until is None else until)

    # Inside

    def _tell(self, machine: Machine) -> None:
        for listener in self._listeners:
            listener(machine)

    def _model(self, node_class: RawNodeClass) -> CloudModel:
        group, kind = str(node_class.get("apiVersion", "")).rpartition("/")[0], str(node_class.get("kind", ""))
        model = self._model_of.get((group, kind))
        if model is None:
            raise NodeClassNotReady(f"no cloud here knows node classes of kind {kind!r} in group {group!r}")
        return model

    def _find(self, provider_id: str) -> Machine:
        machine = self._machines.get(provider_id, self._clock.now())
        if machine is None:
            raise NodeClaimNotFound(f"no machine {provider_id}")
        return machine

    def _draw(self, span: tuple[float, float]) -> float:
        return round(self._random.uniform(*span), 3)

    def _buy(self, claim: NodeClaim, choices: Sequence[InstanceType]) -> tuple[InstanceType, Offering]:
        """The cheapest offering that is in stock. Those that were not are remembered as unavailable."""
        wanted = claim.requirements
        offers = [
            (offering.sort_price, choice.name, offering.zone, offering.capacity_type, choice, offering)
            for choice in choices
            for offering in offerings_for(choice, wanted)
        ]
        refused = []
        for *_, choice, offering in sorted(offers, key=lambda offer: offer[:4]):
            key: OfferingKey = (choice.name, offering.zone, offering.capacity_type)
            if self.market.is_in_stock(key):
                return choice, offering
            self.market.remember_shortage(key, self._clock.now())
            refused.append(offering)
        tried = f"{len(refused)} of {len(offers)} offerings were tried" if offers else "no offering is compatible"
        raise InsufficientCapacity(f"insufficient capacity: {tried}", refused)

    def _launch(self, model: CloudModel, claim: NodeClaim, choice: InstanceType, offering: Offering) -> Machine:
        now = self._clock.now()
        self.launches += 1
        serial = self.launches
        joins_at = now + self._draw(self._timing.boot)
        ready_at = joins_at + self._draw(self._timing.ready)
        if self._stillborn:
            self._stillborn -= 1
            joins_at = ready_at = math.inf
        machine = Machine(
            serial=serial,
            provider_id=model.provider_id(serial, offering.zone, claim.name),
            node_name=model.node_name(serial, claim.name),
            claim=claim.name,
            instance_type=as_bought(choice, offering),
            offering=offering,
            labels={**choice.requirements.labels(), **offering.requirements.labels()},
            taints=merge_taints(merge_taints(claim.taints, claim.startup_taints), (UNREGISTERED,)),
            price=self.market.price(model.name, (choice.name, offering.zone, offering.capacity_type)),
            created=now,
            joins_at=joins_at,
            ready_at=ready_at,
            image_id="sim-image",
        )
        self._machines.add(machine)
        self._bill.change(machine.price, now)
        return machine


def create_provider(context: ProviderContext) -> CloudProvider:
    """The entry point ``sim``: the simulated cloud with the models of every installed cloud package, and the generic one."""
    return SimCloud((*load_models(), GenericModel()), context.clock)
