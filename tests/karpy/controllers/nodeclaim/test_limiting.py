"""Claims that are launched at the same moment, in threads: a limit is never overshot (R04)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.controllers.base import Request
from karpy.controllers.nodeclaim.lifecycle import NodeClaimLifecycle
from karpy.controllers.nodeclaim.limiting import Limiting
from karpy.controllers.together import InThreads
from karpy.errors import CreateFailed, InsufficientCapacity, KarpyError, ProviderError, Throttled
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.operator import Operator
from karpy.resources import Resources
from karpy.sim.world import World
from karpy.testing import make_claim, make_instance_type
from tests.karpy.controllers.stage import Notes, Stage, pool
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, bare_pod

THREADS = 16


class Crossroads:
    """A cloud on the way to which launches gather, so that many of them are under way at once."""

    def __init__(self, world: World) -> None:
        self._cloud = world.cloud
        self._gate = threading.Barrier(THREADS)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)

    def create(self, *arguments: Any) -> Any:
        try:
            self._gate.wait(0.05)
        except threading.BrokenBarrierError:
            self._gate.reset()
        return self._cloud.create(*arguments)


class Race:
    """An operator whose controllers the test runs in threads, over a world in which time stands still."""

    def __init__(self, *only: str, **limits: str) -> None:
        self.world = World(timing=QUICK)
        self.together = InThreads(THREADS)
        self.operator = Operator(
            kube=self.world.api,
            providers=(Crossroads(self.world),),
            clock=self.world.clock,
            log=Notes(),
            together=self.together,
        )
        for kind in self.operator.kinds:
            self.world.subscribe(kind, self.operator.state.apply)
            self.world.loop.on_list(kind, self.operator.state.retain)
        wanted = [{"key": labels.INSTANCE_TYPE, "operator": "In", "values": list(only)}] if only else []
        made = pool(requirements=wanted)
        self.world.apply([NODE_CLASS, {**made, "spec": {**made["spec"], "limits": limits}}])
        self.run()

    def run(self) -> None:
        self.world.run(0)

    def make_claims(self, count: int, *types: str) -> None:
        """Claims made by hand, which no plan has counted."""
        ref = pool()["spec"]["template"]["spec"]["nodeClassRef"]
        wanted = [{"key": labels.INSTANCE_TYPE, "operator": "In", "values": list(types)}]
        kind = kinds.NODE_CLAIM
        for number in range(count):
            metadata = {"name": f"c{number:03d}", "labels": {labels.NODEPOOL: "default"}}
            spec = {"nodeClassRef": ref, "requirements": wanted}
            self.world.api.create(
                kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
            )
        self.run()

    def lifecycle(self, rounds: int) -> list[BaseException]:
        """Every claim is looked at so often, all at once; returns what was raised."""
        (controller,) = [each for each in self.operator.controllers if each.name == "nodeclaim.lifecycle"]
        failures: list[BaseException] = []
        with ThreadPoolExecutor(THREADS) as threads:
            for _ in range(rounds):
                names = [claim["metadata"]["name"] for claim in self.world.api.list(kinds.NODE_CLAIM).items]
                turns = [threads.submit(controller.reconcile, Request(name)) for name in names]
                failures += [error for turn in turns if (error := turn.exception()) is not None]
                self.run()
        return failures

    @property
    def cores(self) -> int:
        """How many cores were bought."""
        return sum(int(machine.instance_type.name.split("-")[1].rstrip("x")) for machine in self.world.cloud.machines)


@pytest.mark.parametrize("types", [("c-1x-amd64",), ("c-2x-amd64",), ("c-4x-amd64", "c-1x-amd64")], ids=str)
def test_a_hundred_claims_that_race_for_a_limit_never_overshoot_it(types: Sequence[str]) -> None:
    race = Race(cpu="21")
    race.make_claims(100, *types)
    failures = race.lifecycle(rounds=12)
    assert 20 <= race.cores <= 21
    assert all(isinstance(error, KarpyError) and not isinstance(error, InsufficientCapacity) for error in failures)


def test_nodes_are_counted_too() -> None:
    race = Race(nodes="7")
    race.make_claims(100, "c-1x-amd64")
    race.lifecycle(rounds=6)
    assert len(race.world.cloud.machines) == 7


def test_machines_of_one_plan_are_created_together_and_within_the_limit() -> None:
    race = Race("c-2x-amd64", cpu="40", nodes="30")
    hosts = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "pod"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [hosts]}}
    race.world.apply([bare_pod(f"p{number:03d}", cpu="1", affinity=apart) for number in range(100)])
    race.run()
    (provisioner,) = [each for each in race.operator.controllers if each.name == "provisioner"]
    provisioner.reconcile(Request())
    race.world.clock.set(race.world.clock.now() + 2)
    provisioner.reconcile(Request())
    race.run()
    planned = len(race.world.api.list(kinds.NODE_CLAIM).items)
    assert planned == 20
    assert race.lifecycle(rounds=4) == []
    assert len(race.world.cloud.machines) == planned
    assert race.cores == 40


def test_without_a_limit_nobody_waits() -> None:
    race = Race()
    race.make_claims(50, "c-2x-amd64")
    assert race.lifecycle(rounds=3) == []
    assert race.cores == 100


@pytest.mark.parametrize(
    ("error", "is_open"), [(ProviderError("no answer"), True), (CreateFailed("quota"), False), (None, True)]
)
def test_what_may_have_been_launched_is_charged_until_it_is_known(error: Exception | None, is_open: bool) -> None:
    """There is room for one. What came of the launch of another is not known, or it is certain that it came to nothing."""
    stage = Stage()
    state, limited = (
        stage.operator.state,
        attrs.evolve(*stage.operator.state.pools(), limits=Resources.parse({"cpu": "2"})),
    )
    for name in ("one", "two"):
        state.apply(WatchEvent(EventType.ADDED, kinds.NODE_CLAIM, make_claim(name, pool="default", reached=())))
    one, two = state.claim("one"), state.claim("two")
    assert one is not None
    assert two is not None
    types = (make_instance_type("m", cpu="2"),)
    (lifecycle,) = (each for each in stage.operator.controllers if isinstance(each, NodeClaimLifecycle))
    limiting = Limiting(lifecycle._shared)
    assert limiting.within(one, limited, types) == types
    with suppress(type(error) if error else ValueError), limiting.launching(one):
        if error:
            raise error
    if not is_open:
        assert limiting.within(two, limited, types) == types
        return
    with pytest.raises(Throttled, match="other launches may use up the limits"):
        limiting.within(two, limited, types)
    state.apply(WatchEvent(EventType.DELETED, kinds.NODE_CLAIM, make_claim("one", pool="default", reached=())))
    assert limiting.within(two, limited, types) == types
