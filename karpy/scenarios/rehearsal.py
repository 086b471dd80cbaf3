"""`Rehearsal`: one run of a scenario, with the reference controller on an embedded cluster and a simulated cloud."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from karpy.cloud.instancetype import Price
from karpy.cloud.model import CloudModel, load_models
from karpy.controllers.base import Request
from karpy.errors import InvalidObject, KubeError
from karpy.kube.client import RawObject
from karpy.objects.kinds import NODE, NODE_POOL, PROVISIONER
from karpy.objects.meta import describe
from karpy.operator import Operator
from karpy.report.happening import Happening, What
from karpy.report.journal import Journal
from karpy.report.scene import Scene, Summary
from karpy.scenarios.catalogue import Scenario
from karpy.scenarios.script import Script
from karpy.settings import Settings
from karpy.sim.clock import DEFAULT_START
from karpy.sim.generic import GenericModel
from karpy.sim.site import MakeSite
from karpy.sim.world import World
from karpy.state.cluster import ClusterState

__all__ = ["Rehearsal", "apply_manifests", "installed_models"]

LONGEST_S = 6 * 3600.0
"""A cluster that has not come to rest after so much virtual time never will."""

_FRAME_S = 0.1
_FRAME_AT_FULL_SPEED_S = 10.0


class Silence:
    """A logger that nobody listens to: the journal tells the story."""

    def bind(self, **_context: Any) -> Silence:
        return self

    def __getattr__(self, _level: str) -> Callable[..., None]:
        return lambda *_event, **_fields: None


def installed_models() -> tuple[CloudModel, ...]:
    """The models of every installed cloud package, and the made-up one."""
    return (*load_models(), GenericModel())


def apply_manifests(world: World, objects: Sequence[RawObject]) -> None:
    """Apply each manifest to the world's API server.

    Raises:
        InvalidObject: its kind is unknown, or the API server refuses it; the object is named.
    """
    for obj in objects:
        try:
            world.apply([obj])
        except KubeError as error:
            raise InvalidObject(str(error), object_name=describe(obj)) from None


class Rehearsal:
    """A scenario on its own world. ``tell`` is called with everything that happens; the same seed tells the
    same. ``site``: another place of machines than the simulated cloud."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int = 0,
        until_s: float | None = None,
        settings: Settings | None = None,
        tell: Callable[[Happening], None] = lambda _happening: None,
        models: Sequence[CloudModel] | None = None,
        site: MakeSite | None = None,
        start: float = DEFAULT_START,
    ) -> None:
        self.scenario = scenario.with_something_to_scale()
        self.world = World(seed, installed_models() if models is None else models, site=site, start=start)
        self._tell = tell
        self._until_s = LONGEST_S if until_s is None else until_s
        self._most_nodes = 0
        self._highest_price: Price = 0.0
        world = self.world
        self.journal = Journal(world.clock, self._told, self._price_of)
        for kind in Journal.KINDS:
            world.subscribe(kind, self.journal.take)
        self.operator = Operator(
            kube=world.api,
            providers=(world.site.provider,),
            clock=world.clock,
            settings=settings,
            on_decision=self.journal.decide,
            log=Silence(),
        )
        world.install(self.operator)
        for note in (*self.scenario.notes, *_keepers(self.scenario)):
            self.journal.note(What.NOTE, note)
        apply_manifests(world, self.scenario.objects)
        self.script = Script(world.api, world.clock, self.journal, lambda: self.operator.state.snapshot().pools)
        world.add(self.script)
        world.loop.wake(self.script, Request())

    @property
    def seconds(self) -> float:
        """Virtual time since the beginning."""
        return self.world.clock.now() - self.journal.start

    @property
    def is_over(self) -> bool:
        return self.script.is_finished or self.seconds >= self._until_s

    def play(self, speed: float | None = None, after_frame: Callable[[], None] = lambda: None) -> Summary:
        """Play the script to its end, ``speed`` times as fast as the wall clock, or as fast as can be (None).

        ``after_frame`` is called some times a second.
        """
        pace = _Pace(speed)
        while not self.is_over:
            self.advance(min(pace.frame_s, self._until_s - self.seconds))
            after_frame()
            pace.wait()
        return self.summary()

    def linger(self, speed: float, after_frame: Callable[[], None] = lambda: None) -> None:
        """Let the cluster live on until the process is interrupted."""
        pace = _Pace(speed)
        while True:
            self.world.run(pace.frame_s)
            self.journal.flush()
            after_frame()
            pace.wait()

    def advance(self, seconds: float) -> None:
        """Let so much time pass, or less if the script ends before."""
        self.world.run_until(lambda: self.script.is_finished, seconds)
        self.journal.flush()

    def scene(self) -> Scene:
        """How things stand now."""
        site = self.world.site
        return self.journal.scene(price=site.cost_per_hour(), cost=site.cost())

    def summary(self) -> Summary:
        """What came of it so far."""
        pods, site = self.journal.pods, self.world.site
        left = len(site.machines)
        return Summary(
            scenario=self.scenario.name,
            seed=self.world.seed,
            virtual_seconds=self.seconds,
            pods_pending=pods.pending + pods.starting,
            pods_running=pods.running,
            nodes_left=len(self.world.api.list(NODE).items),
            instances_left=left,
            launches=site.launches,
            terminations=site.launches - left,
            most_nodes=self._most_nodes,
            highest_price=self._highest_price,
            cost=site.cost(),
            reached_end=self.script.is_finished,
        )

    def _price_of(self, provider_id: str) -> Price | None:
        machine = self.world.site.machine(provider_id)
        return None if machine is None else machine.price

    def _told(self, happening: Happening) -> None:
        self._most_nodes = max(self._most_nodes, len(self.journal.machines.machines))
        self._highest_price = max(self._highest_price, self.world.site.cost_per_hour())
        self._tell(happening)


def _keepers(scenario: Scenario) -> Iterator[str]:
    """Pools that never give a node back, so that nobody wonders why nodes are left."""
    kinds = {kind.kind for kind in (NODE_POOL, PROVISIONER)}
    pools = ClusterState.of(obj for obj in scenario.objects if obj["kind"] in kinds).snapshot().pools
    for pool in pools:
        if pool.consolidate_after_s is None:
            why = (
                "it has neither ttlSecondsAfterEmpty nor consolidation.enabled"
                if pool.origin == PROVISIONER
                else "its consolidateAfter is Never"
            )
            yield f"{pool.origin.kind} {pool.name!r} never gives an idle node back: {why}"


class _Pace:
    """Keeps frames in step with the wall clock."""

    def __init__(self, speed: float | None) -> None:
        self._frames = 0
        self._began = time.monotonic()
        self._is_free = speed is None
        self.frame_s = _FRAME_AT_FULL_SPEED_S if speed is None else speed * _FRAME_S
        """Virtual seconds in a frame."""

    def wait(self) -> None:
        """Until the next frame is due."""
        self._frames += 1
        left = self._began + self._frames * _FRAME_S - time.monotonic()
        if left > 0 and not self._is_free:
            time.sleep(left)
