from __future__ import annotations

import threading
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import pytest

from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import WatchEvent
from karpy.sim.generic import NODE_CLASS as SIM_NODE_CLASS
from karpy.sim.world import World
from karpy.testing import make_pod
from tests.karpy.sim.manifests import NODE_CLASS, bare_pod, deployment, phases, pods, world_with_nodes


class Noting:
    name = "noting"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(kinds.CONFIG_MAP, by_name),)

    def reconcile(self, request: Request) -> Result:
        self.requests.append(request)
        return DONE


class Remembering:
    def __init__(self) -> None:
        self.events: list[WatchEvent] = []

    def retain(self, kind: Kind, keys: AbstractSet[str]) -> None:
        """Nothing is held back."""

    def apply(self, event: WatchEvent) -> None:
        self.events.append(event)


class Brain:
    kinds: Sequence[Kind] = (kinds.CONFIG_MAP,)

    def __init__(self) -> None:
        self.state = Remembering()
        self.controllers = (Noting(),)


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def test_a_deployment_on_three_nodes_runs() -> None:
    world = world_with_nodes(3)
    world.apply([deployment(replicas=6)])
    world.run(20)
    assert phases(world) == {"Running": 6}
    assert {pod["spec"]["nodeName"] for pod in pods(world)} == {"node-1", "node-2", "node-3"}


def test_the_kinds_of_karpy_and_of_its_clouds_are_served() -> None:
    world = World()
    for kind in (kinds.NODE_POOL, kinds.NODE_CLAIM, kinds.PROVISIONER, SIM_NODE_CLASS):
        assert world.api.list(kind).items == ()


def test_apply_creates_and_then_merges() -> None:
    world = World(actors=False)
    world.apply([CONFIG])
    world.apply([{**CONFIG, "data": {"k": "v"}}])
    assert world.api.get(kinds.CONFIG_MAP, "a", "default")["data"] == {"k": "v"}
    generated = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}
    (first,), (second,) = world.apply([generated]), world.apply([generated])
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_a_kind_that_nobody_serves_is_bad_input() -> None:
    with pytest.raises(InvalidObject, match="Gadget"):
        World(actors=False).apply([{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}}])


def test_an_autoscaler_gets_its_state_fed_and_its_controllers_run() -> None:
    world, brain = World(actors=False), Brain()
    world.install(brain)
    world.apply([CONFIG])
    world.run(1)
    assert [event.object["metadata"]["name"] for event in brain.state.events] == ["a"]
    assert brain.controllers[0].requests == [Request("a", "default")]


def test_without_actors_nothing_happens_by_itself() -> None:
    world = World(actors=False)
    world.apply([deployment()])
    world.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS)
    world.run(600)
    assert pods(world) == []
    assert world.api.list(kinds.NODE).items == ()


def test_time_passes_for_so_long_or_until_then() -> None:
    world = World(actors=False)
    start = world.clock.now()
    world.run(30)
    assert world.clock.now() == start + 30
    world.run(until=start + 100)
    assert world.clock.now() == start + 100
    world.run(until=start)  # that is over: nothing happens
    assert world.clock.now() == start + 100


def test_run_until_stops_at_the_first_instant_that_fits() -> None:
    world = world_with_nodes(1)
    world.apply([bare_pod("a")])
    start = world.clock.now()
    assert world.run_until(lambda: phases(world) == {"Running": 1})
    assert world.clock.now() - start < 4


def test_run_until_gives_up_after_its_time() -> None:
    world = world_with_nodes(0)
    start = world.clock.now()
    assert not world.run_until(lambda: False, 120)
    assert world.clock.now() == start + 120


def test_settle_waits_until_nothing_is_written() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=4)])
    assert world.settle(30, 300)
    assert phases(world) == {"Running": 4}
    assert world.is_quiet


def test_an_idle_world_has_nothing_to_do() -> None:
    world = world_with_nodes(2)
    world.apply([deployment(replicas=4)])
    world.run(2 * 3600)
    reconciles = world.loop.reconciles
    world.run(30 * 86_400)
    assert world.loop.reconciles == reconciles


class Wall:
    """A wall clock that moves as it is looked at."""

    def __init__(self, step_s: float) -> None:
        self._now = 0.0
        self._step_s = step_s

    def __call__(self) -> float:
        self._now += self._step_s
        return self._now


def test_a_paced_world_runs_until_it_is_stopped() -> None:
    world, stop = world_with_nodes(1), threading.Event()
    world.apply([bare_pod("a")])

    def watch(event: WatchEvent) -> None:
        if event.object["status"].get("phase") == "Running":
            stop.set()

    world.subscribe(kinds.POD, watch)
    world.run_paced(1000.0, stop, Wall(0.001))
    assert phases(world) == {"Running": 1}


def test_a_paced_world_takes_in_what_another_thread_writes() -> None:
    world, stop = world_with_nodes(1), threading.Event()
    start = world.clock.now()
    world.subscribe(kinds.CONFIG_MAP, lambda _: stop.set())
    writer = threading.Thread(target=lambda: world.apply([CONFIG]))
    runner = threading.Thread(target=lambda: world.run_paced(1.0, stop))
    runner.start()
    writer.start()
    runner.join(10)
    writer.join(10)
    assert not runner.is_alive()
    assert start <= world.clock.now() < start + 10


def test_what_kubectl_printed_may_be_applied_again() -> None:
    world = World()
    world.apply([make_pod("a"), make_pod("a", labels={"b": "c"})])
    (pod,) = world.api.list(kinds.POD).items
    assert pod["metadata"]["uid"] != make_pod("a")["metadata"]["uid"]


@pytest.mark.parametrize("found", ["Pod", 5, {"kind": "Pod"}, {"apiVersion": "v1", "kind": "Pod", "metadata": None}])
def test_what_is_no_object_is_bad_input(found: object) -> None:
    with pytest.raises(InvalidObject, match="accepted: mappings with apiVersion, kind and metadata"):
        World(actors=False).apply([found])  # type: ignore[list-item]


@pytest.mark.parametrize("options", [{"faults": "lost:0.1"}, {"weather": "Weather()"}, {"faults": []}])
def test_faults_and_weather_are_no_words(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(InvalidObject, match=rf"World\.{name}: found .* \(accepted: {name.title()}"):
        World(actors=False, **options)


def test_a_crash_at_a_call_that_is_over_would_never_come() -> None:
    world = World(actors=False)
    world.start(lambda surroundings: [surroundings.kube.list(kinds.POD)][:0])
    world.run(1)
    assert world.boundary.calls == 1
    with pytest.raises(InvalidObject, match=r"call 1 was made already \(accepted: more than 1\)"):
        world.crash_at(1)
