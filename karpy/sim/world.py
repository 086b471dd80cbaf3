"""A whole cluster in one process: an API server, the controllers that every cluster has, kubelets, a cloud, and virtual time.

Add controllers of your own, apply manifests, and let time pass: as fast as it can be worked out, or paced by the wall clock beside
an HTTP server. Two worlds with the same seed that are asked the same do the same, to the last byte.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from karpy.cloud.model import CloudModel
from karpy.controllers.base import Controller, Request
from karpy.errors import InvalidObject, KubeError, shown
from karpy.kube.client import RawObject
from karpy.kube.crds import core_crds
from karpy.objects.kinds import Kind
from karpy.objects.meta import describe
from karpy.objects.watchevent import WatchEvent
from karpy.sim.actors import populate
from karpy.sim.api.features import BARE, LIVING
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import DEFAULT_START, VirtualClock
from karpy.sim.cloud import SimCloud, Timing
from karpy.sim.faults import Fault, Faults, Planned
from karpy.sim.generic import GenericModel
from karpy.sim.housekeeping.expiry import EventExpiry
from karpy.sim.invariants.witness import Violation, Witness
from karpy.sim.litter import rarely_collected
from karpy.sim.loads import Loads
from karpy.sim.loop import Loop
from karpy.sim.pacing import run_paced
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.process import Autoscaler, Process, Program, install
from karpy.sim.processes.trace import Trace
from karpy.sim.site import MakeSite, Site
from karpy.sim.weather import Weather

__all__ = ["Autoscaler", "World"]

_SERVERS_OWN = frozenset({"creationTimestamp", "generation", "resourceVersion", "uid"})


class World:
    """One simulated cluster on its own time.

    ``models``: the clouds whose machines are sold (default: the made-up one of `karpy.sim.generic`). ``weather``: what they do to
    their customers (see `karpy.sim.weather`). ``site``: makes the place of machines that another cloud than the simulated one
    sells (see `karpy.sim.site`); timing and weather are then its own. ``faults``: what goes wrong for the processes that `start`
    runs. ``actors=False`` leaves the API server alone: nothing is scheduled, no workload makes pods, no machine joins.
    ``heartbeats``: kubelets write the renewal of their leases every ten seconds; without it an idle world has nothing to do.
    ``rbac``: as for `karpy.sim.apiserver.ApiServer`.
    """

    def __init__(
        self,
        seed: int = 0,
        models: Sequence[CloudModel] | None = None,
        *,
        start: float = DEFAULT_START,
        timing: Timing | None = None,
        weather: Weather | None = None,
        site: MakeSite | None = None,
        heartbeats: bool = False,
        actors: bool = True,
        faults: Faults | None = None,
        rbac: bool = False,
    ) -> None:
        _expect("faults", faults, Faults, "Faults, such as Faults.parse('lost:0.1')")
        _expect("weather", weather, Weather, "Weather")
        if site is not None and (timing is not None or weather is not None):
            raise InvalidObject(
                "is given beside timing or weather", path="World.site", accepted="a site that has its own"
            )
        self.seed = seed
        self.models: tuple[CloudModel, ...] = (GenericModel(),) if models is None else tuple(models)
        self.clock = VirtualClock(start)
        self.loads = Loads(self.clock)
        self.api = ApiServer(self.clock, seed, rbac=rbac, features=LIVING if actors else BARE)
        self.loop = Loop(self.api, self.clock, seed, news=self.api.store)
        self.site: Site = (
            SimCloud(self.models, self.clock, seed, timing=timing, weather=weather)
            if site is None
            else site(self.clock, seed)
        )
        for crd in (*core_crds(), *(crd for model in self.models for crd in model.crds())):
            self.api.install_crd(crd)
        self.actors = self._populate(heartbeats=heartbeats) if actors else ()
        self.boundary = Boundary(self.clock, faults or Faults(), pass_time=self.run)
        self.processes: list[Process] = []
        self._witness: Witness | None = None

    def _populate(self, *, heartbeats: bool) -> tuple[Controller, ...]:
        actors = populate(self.loop, self.api, self.clock, self.site, self.loads, self.seed, heartbeats=heartbeats)
        expiry = EventExpiry(self.api, self.clock)
        self.loop.add(expiry)
        return (*actors, expiry)

    @property
    def cloud(self) -> SimCloud:
        """The simulated cloud.

        Raises:
            InvalidObject: the machines of this world are another's.
        """
        if not isinstance(self.site, SimCloud):
            kind = type(self.site).__name__
            raise InvalidObject(f"found {kind}", path="World.cloud", accepted="a world made without site")
        return self.site

    # Who else takes part

    def add(self, controller: Controller) -> None:
        """Let one more controller run."""
        self.loop.add(controller)

    def subscribe(self, kind: Kind, listener: Callable[[WatchEvent], None]) -> None:
        """Call ``listener`` with every event of ``kind``, before any controller hears of it."""
        self.loop.subscribe(kind, listener)

    def install(self, autoscaler: Autoscaler) -> None:
        """Feed an autoscaler's state and run its controllers."""
        install(self.loop, autoscaler)

    def start(self, program: Program, name: str = "controller", *, replicas: int = 1) -> tuple[Process, ...]:
        """Run controllers as a process of their own, whose every call may meet the world's faults and is watched over.

        ``program`` is called at each start of the process with all that it may talk to, and makes its controllers, or an
        autoscaler, from nothing. Of several ``replicas`` one acts: they elect a leader over a Lease.

        Raises:
            InvalidObject: there is to be no replica.
        """
        if replicas < 1:
            raise InvalidObject(f"{replicas} is no value for it", path="World.start.replicas", accepted="one or more")
        witness = self.witness
        names = (name,) if replicas == 1 else tuple(f"{name}-{number}" for number in range(replicas))
        started = tuple(
            Process(
                each,
                program,
                self.boundary,
                self.api,
                self.site.connect,
                seed=self.seed,
                elects=replicas > 1,
                told=witness.hear,
                decided=witness.note_decision,
            )
            for each in names
        )
        for process in started:
            self.processes.append(process)
            self.loop.invite(process)
        return started

    def crash_at(self, number: int, *, after: bool = False) -> None:
        """Have the process die that makes the ``number``-th call (the first is 1), before the call or after it.

        Raises:
            InvalidObject: that call was made already.
        """
        if 0 < number <= self.boundary.calls:
            over = f"call {number} was made already"
            raise InvalidObject(over, path="World.crash_at", accepted=f"more than {self.boundary.calls}")
        self.boundary.plan(Planned(number, Fault.CRASH_AFTER if after else Fault.CRASH_BEFORE))

    @property
    def trace(self) -> Trace:
        """Every call that processes made, and what they were answered."""
        return self.boundary.trace

    @property
    def witness(self) -> Witness:
        """Who watches over the invariants from now on; there is none before it is asked for, or a process started."""
        if self._witness is None:
            witness = self._witness = Witness(self.api, self.site, self.boundary, self.processes)
            self.loop.add(witness)
            self.loop.wake(witness, Request())
            witness.wake_by(lambda after_s: self.loop.wake(witness, Request(), after_s))
        return self._witness

    def check(self) -> tuple[Violation, ...]:
        """Look at every invariant now; returns all violations since the world began to be watched over."""
        return self.witness.check()

    # What happens in it

    def apply(self, objects: Iterable[RawObject]) -> list[RawObject]:
        """Create each object, or merge it into the one of its name; in order. What the server decides itself is left to it.

        Raises:
            InvalidObject: it is no object, or of a kind that is not known here.
            KubeError: the API server refuses it.
        """
        return [self._apply(obj) for obj in objects]

    def _apply(self, obj: RawObject) -> RawObject:
        if not isinstance(obj, Mapping) or not isinstance(obj.get("metadata"), Mapping):
            raise InvalidObject(
                f"found {shown(obj)}", path="World.apply", accepted="mappings with apiVersion, kind and metadata"
            )
        kind = self.kind_of(obj)
        metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVERS_OWN}
        obj = {**obj, "metadata": metadata}
        name, namespace = metadata.get("name"), metadata.get("namespace", "default" if kind.namespaced else "")
        if name:
            try:
                return self.api.patch(kind, name, obj, namespace)
            except KubeError as error:
                if not error.not_found:
                    raise
        return self.api.create(kind, obj, namespace)

    def kind_of(self, obj: RawObject) -> Kind:
        """Where the object's kind is served.

        Raises:
            InvalidObject: nowhere.
        """
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        resource = self.api.registry.by_kind(group, str(obj.get("kind", "")))
        if resource is None:
            raise InvalidObject(
                f"no kind {obj.get('kind')!r} in {obj.get('apiVersion')!r} is served here", object_name=describe(obj)
            )
        return Kind(group, version, resource.kind, resource.plural, resource.namespaced)

    # Time

    def run(self, seconds: float = 0.0, *, until: float | None = None) -> None:
        """Let so much time pass, or run to the time ``until`` (seconds since the epoch, as `clock` tells it)."""
        with rarely_collected():
            self.loop.run(self.clock.now() + seconds if until is None else until)

    def run_until(self, predicate: Callable[[], bool], timeout_s: float = 3600.0) -> bool:
        """Let time pass until ``predicate`` holds; False when it does not hold in time.

        It is asked after every instant at which anything happened.
        """
        deadline = self.clock.now() + timeout_s
        with rarely_collected():
            while True:
                self.loop.run_ready()
                if predicate():
                    return True
                at = self.loop.next_time()
                if at is None or at > deadline:
                    self.loop.run(deadline)
                    return predicate()
                self.clock.set(max(at, self.clock.now()))

    def settle(self, for_s: float = 60.0, timeout_s: float = 3600.0) -> bool:
        """Let time pass until nothing was written for ``for_s`` seconds; False when it does not come to rest in time."""
        last = [self.api.store.revision, self.clock.now()]

        def rests() -> bool:
            if self.api.store.revision != last[0]:
                last[:] = [self.api.store.revision, self.clock.now()]
            at = self.loop.next_time()
            return at is None or at - last[1] > for_s

        settled = self.run_until(rests, timeout_s)
        if settled:
            self.loop.run(max(last[1] + for_s, self.clock.now()))
        return settled

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is left to do before the next timer."""
        return self.loop.is_quiet

    def run_paced(self, speed: float, stop: threading.Event, wall: Callable[[], float] = time.monotonic) -> None:
        """Let time pass ``speed`` times as fast as on the wall clock, until ``stop`` is set.

        Others may write to `api` from their threads meanwhile: what they write is taken in at once. Between timers and writes
        this thread sleeps.
        """
        written = threading.Event()
        unsubscribe = self.api.on_write(written.set)
        try:
            run_paced(self.loop, self.clock, speed, stop, written, wall)
        finally:
            unsubscribe()


def _expect(name: str, found: object, kind: type, accepted: str) -> None:
    if found is not None and not isinstance(found, kind):
        raise InvalidObject(f"found {shown(found)}", path=f"World.{name}", accepted=accepted)
