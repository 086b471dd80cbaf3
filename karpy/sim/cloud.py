"""`SimCloud`: a cloud that exists only here, as a `karpy.cloud.provider.CloudProvider`.

It sells what cloud models describe, keeps machines in memory, and does to its customers what its `Weather` says. Like a real
provider it learns of a shortage by being refused, and remembers that for a while; what it is short of and what it knows of are two
things, and so are what a machine costs and what the price list says.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Price
from karpy.cloud.model import CloudModel, load_models
from karpy.cloud.notices import Notice, NoticeKind
from karpy.cloud.provider import (
    CloudProvider,
    Instance,
    NodeClassStatus,
    ProviderContext,
    RawNodeClass,
    RepairPolicy,
)
from karpy.errors import NodeClaimNotFound, NodeClassNotReady, ProviderError
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.sim.generic import GenericModel
from karpy.sim.machines import Machine
from karpy.sim.processes.gate import Gate
from karpy.sim.processes.gatedcloud import GatedCloud
from karpy.sim.region.datacenter import Listener
from karpy.sim.region.fleet import FleetAnswer
from karpy.sim.region.mishaps import NOTICE_S, MishapKind
from karpy.sim.region.region import Region
from karpy.sim.region.terse import kind_of
from karpy.sim.region.throttles import CloudCall
from karpy.sim.region.timing import Timing
from karpy.sim.weather import Weather, Where

__all__ = ["SimCloud", "Timing", "create_provider"]

_REPAIRS = (
    *(RepairPolicy("Ready", status, 1800.0) for status in ("False", "Unknown")),
    *(
        RepairPolicy(part, "False", 1800.0)
        for part in ("ContainerRuntimeReady", "KernelReady", "NetworkingReady", "StorageReady")
    ),
    RepairPolicy("AcceleratedHardwareReady", "False", 600.0),
)
"""As on EC2, where an agent on the nodes looks after more than the kubelet does."""


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
        self.repair_policies: Sequence[RepairPolicy] = _REPAIRS
        self.weather = weather or Weather.calm()
        self._models = tuple(models)
        self._model_of = {(kind.group, kind.kind): model for model in models for kind in model.node_classes}
        self._clock = clock
        self._lock = threading.RLock()
        self._region = Region(self._models, self.weather, timing or Timing(), seed, began=clock.now())
        self._failures: list[ProviderError] = []

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
        with self._moment() as now:
            return self._region.shop.catalog(self._model(node_class), self._region.since_began(now))

    def create(self, claim: NodeClaim, node_class: RawNodeClass, choices: Sequence[InstanceType]) -> Instance:
        """Launch the cheapest offering that there is; a second call for the same claim answers the same machine."""
        with self._moment() as now:
            self._region.limiter.admit(CloudCall.CREATE, now)
            known = self._region.datacenter.machines.of_claim(claim.name, now)
            if known is not None:
                return known.instance()
            model = self._model(node_class)
            status = model.resolve(node_class)
            if not status.ready:
                raise NodeClassNotReady(status.message or status.reason)
            if self._failures:
                raise self._failures.pop(0)
            return self._region.order(model, claim, choices, now).instance()

    def delete(self, provider_id: str) -> None:
        """Begin to terminate; from some seconds later on the machine is not found."""
        with self._moment() as now:
            self._region.limiter.admit(CloudCall.DELETE, now)
            machine, _ = self._seen(provider_id, now)
            self._region.datacenter.end(machine, now)

    def get(self, provider_id: str) -> Instance:
        with self._moment() as now:
            self._region.limiter.admit(CloudCall.GET, now)
            return self._seen(provider_id, now)[1]

    def list(self) -> Sequence[Instance]:
        with self._moment() as now:
            self._region.limiter.admit(CloudCall.LIST, now)
            machines = self._region.datacenter.machines
            machines.prune(now)
            return tuple(seen for machine in machines if (seen := machine.seen(now)) is not None)

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

    # Notices

    def messages(self, most: int = 10) -> Sequence[Notice]:
        """What the cloud has to say of machines (see `karpy.sim.region.notices`). What is not acknowledged comes again."""
        with self._moment() as now:
            found = self._region.notices.receive(now, most)
            for notice in found:
                if notice.kind is NoticeKind.SPOT_INTERRUPTION:
                    self._region.remember_taken(notice.provider_id, now)
            return found

    def acknowledge(self, notice: Notice) -> None:
        with self._lock:
            self._region.notices.acknowledge(notice)

    # What a scenario can do to it at any time, beside its weather

    def sell_out(self, instance_type: str = "", zone: str = "", capacity_type: str = "") -> None:
        """Have nothing left of these offerings, which are named as in `Where`."""
        with self._lock:
            self._region.shop.stock.sell_out(Where(instance_type, zone, capacity_type))

    def restock(self, instance_type: str = "", zone: str = "", capacity_type: str = "") -> None:
        """End the shortage that was begun with just these words."""
        with self._lock:
            self._region.shop.stock.restock(Where(instance_type, zone, capacity_type))

    def set_price(self, instance_type: str, zone: str, capacity_type: str, price: Price) -> None:
        """From now on an offering costs so much; machines that run already pay it too.

        What is no price is a hole in the list: what is charged stays as it was.
        """
        with self._moment() as now:
            self._region.set_price((instance_type, zone, capacity_type), price, now)

    def fail_launches(self, *errors: ProviderError) -> None:
        """Answer the next launches with these errors, one each."""
        with self._lock:
            self._failures.extend(errors)

    def launch_stillborn(self, count: int = 1) -> None:
        """The next ``count`` machines run, and cost, but never join the cluster."""
        with self._lock:
            self._region.stillborn += count

    def add_machine(self, instance_type: str, zone: str, node_class: RawNodeClass, name: str = "") -> Instance:
        """Launch an on-demand machine that no claim asked for, like one of a managed node group; ``name`` is its node's."""
        with self._moment() as now:
            return self._region.add(self._model(node_class), instance_type, zone, name, now).instance()

    def befall(self, provider_id: str, kind: MishapKind | str, for_s: float = NOTICE_S) -> None:
        """Let something happen to a machine now. Of what cannot happen to it nothing comes: only spot is interrupted."""
        with self._moment() as now:
            self._region.datacenter.befall(self._find(provider_id, now), kind_of(MishapKind, kind), now, for_s)

    def kill(self, provider_id: str) -> None:
        """The machine's kubelet falls silent; the machine itself stays."""
        self.befall(provider_id, MishapKind.DEATH)

    def vanish(self, provider_id: str) -> None:
        """The machine is gone at once, without anyone having asked."""
        self.befall(provider_id, MishapKind.VANISHING)

    def clear_up(self) -> None:
        """From now on the weather is calm. What was announced still comes, and prices keep moving."""
        with self._moment():
            self._region.clear_up()

    # As the site of a world (see `karpy.sim.site`)

    @property
    def provider(self) -> CloudProvider:
        return self

    @property
    def launches_once(self) -> bool:
        return True

    def connect(self, gate: Gate) -> CloudProvider:
        return GatedCloud(self, gate)

    # Who listens

    def subscribe(self, listener: Listener) -> None:
        """CloudCall ``listener`` whenever a machine is launched, begins to terminate, dies, is stopped or vanishes."""
        self._region.datacenter.subscribe(listener)

    def on_plan(self, listener: Callable[[float], None]) -> None:
        """CloudCall ``listener`` with every time at which something will happen by itself; `catch_up` lets it happen."""
        self._region.agenda.on_plan(listener)

    def catch_up(self) -> float | None:
        """Let happen what is due by now. Returns when there will be more."""
        with self._moment():
            return self._region.agenda.next_time()

    # What can be asked of it

    @property
    def launches(self) -> int:
        """How many machines were ever launched."""
        return self._region.launches

    @property
    def answers(self) -> Sequence[FleetAnswer]:
        """What came of the last orders: what was bought, and which offerings were tried and refused before."""
        return tuple(self._region.answers)

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All machines that exist, in the order of their launch."""
        with self._moment() as now:
            machines = self._region.datacenter.machines
            machines.prune(now)
            return tuple(machine for machine in machines if not machine.is_gone(now))

    def machine(self, provider_id: str) -> Machine | None:
        """The machine as it is, whatever the API tells of it; None when it does not exist."""
        with self._moment() as now:
            return self._region.datacenter.machines.get(provider_id, now)

    def cost_per_hour(self) -> Price:
        with self._moment():
            return self._region.datacenter.bill.per_hour

    def cost(self, until: float | None = None) -> float:
        """Dollars spent until now, or until a later time if nothing changes."""
        with self._moment() as now:
            return self._region.datacenter.bill.total(now if until is None else until)

    @property
    def calls(self) -> Counter[str]:
        """How often each call was made."""
        return self._region.limiter.calls

    @property
    def throttled(self) -> Counter[str]:
        """How often each call was refused for want of a token."""
        return self._region.limiter.refused

    # Inside

    @contextmanager
    def _moment(self) -> Iterator[float]:
        """The time, with nobody else at it, and what should have happened by now has."""
        with self._lock:
            now = self._clock.now()
            self._region.agenda.catch_up(now)
            yield now

    def _model(self, node_class: RawNodeClass) -> CloudModel:
        group, kind = str(node_class.get("apiVersion", "")).rpartition("/")[0], str(node_class.get("kind", ""))
        model = self._model_of.get((group, kind))
        if model is None:
            raise NodeClassNotReady(f"no cloud here knows node classes of kind {kind!r} in group {group!r}")
        return model

    def _seen(self, provider_id: str, now: float) -> tuple[Machine, Instance]:
        """A machine, and what the API tells of it."""
        machine = self._region.datacenter.machines.remembered(provider_id, now)
        seen = None if machine is None else machine.seen(now)
        if machine is None or seen is None:
            raise NodeClaimNotFound(f"no machine {provider_id}")
        return machine, seen

    def _find(self, provider_id: str, now: float) -> Machine:
        machine = self._region.datacenter.machines.get(provider_id, now)
        if machine is None:
            raise NodeClaimNotFound(f"no machine {provider_id}")
        return machine


def create_provider(context: ProviderContext) -> CloudProvider:
    """The entry point ``sim``: the simulated cloud with the models of every installed cloud package, and the generic one."""
    return SimCloud((*load_models(), GenericModel()), context.clock)
