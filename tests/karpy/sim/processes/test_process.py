"""A process in a world: it knows nothing at its start, dies at any call, starts again, and acts only while it leads."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.errors import InternalError, InvalidObject, KubeError, PluginError
from karpy.objects.kinds import CONFIG_MAP, LEASE
from karpy.sim.faults import Faults
from karpy.sim.processes.process import Surroundings
from karpy.sim.world import World


class Copier:
    """Makes a copy of every ConfigMap ``x`` named ``x-copy``."""

    name = "copier"
    sources = (Source(CONFIG_MAP, by_name),)

    def __init__(self, surroundings: Surroundings) -> None:
        self.kube = surroundings.kube

    def reconcile(self, request: Request) -> Result:
        if request.name.endswith("-copy"):
            return DONE
        try:
            self.kube.create(CONFIG_MAP, config(f"{request.name}-copy"), request.namespace)
        except KubeError as error:
            if error.code != 409:
                raise
        return DONE


class Recorder:
    """Notes when it first heard of each ConfigMap."""

    name = "recorder"
    sources = (Source(CONFIG_MAP, by_name),)

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: dict[str, float] = {}

    def reconcile(self, request: Request) -> Result:
        self.seen.setdefault(request.name, self.world.clock.now())
        return DONE


def copying(surroundings: Surroundings) -> tuple[Copier]:
    return (Copier(surroundings),)


def config(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def names(world: World) -> set[str]:
    return {obj["metadata"]["name"] for obj in world.api.list(CONFIG_MAP, "default").items}


def holder(world: World) -> str:
    name: str = world.api.get(LEASE, "karpenter-leader-election", "kube-system")["spec"]["holderIdentity"]
    return name


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, 8))
def test_it_finishes_its_work_wherever_it_dies(number: int, after: bool) -> None:
    world = World(actors=False)
    (process,) = world.start(copying, "copier")
    world.crash_at(number, after=after)
    world.apply([config("a"), config("b")])
    world.run(30)
    assert names(world) >= {"a-copy", "b-copy"}
    assert process.lives == 2 if number <= 4 else process.lives >= 1


def test_it_is_down_for_two_seconds_then_lists_anew() -> None:
    world = World(actors=False)
    world.start(copying, "copier")
    world.crash_at(3)
    world.apply([config("a")])
    world.run(1.9)
    assert "a-copy" not in names(world)
    world.run(0.2)
    assert "a-copy" in names(world)
    assert [call.verb for call in world.trace] == ["list", "watch", "create", "list", "watch", "create"]


def test_while_one_call_is_slow_the_world_goes_on() -> None:
    world = World(actors=False, faults=Faults.parse("slow@3"))
    world.start(copying, "copier")
    bystander = Recorder(world)
    world.add(bystander)
    world.apply([config("a")])
    world.run(0)
    (slow,) = (call for call in world.trace if call.number == 3)
    assert "after" in slow.answer
    assert slow.at < bystander.seen["a-copy"] < world.clock.now()
    assert 5 <= world.clock.now() - slow.at <= 15


def test_of_several_one_acts_and_the_others_stand_by() -> None:
    world = World(actors=False)
    started = world.start(copying, "copier", replicas=3)
    world.apply([config("a")])
    world.run(60)
    assert Counter(process.lives for process in started) == {1: 1, 0: 2}
    assert names(world) >= {"a-copy"}
    assert world.check() == ()


def test_when_the_leader_is_gone_another_takes_over() -> None:
    world = World(actors=False, faults=Faults.parse("deposed@3"))
    world.start(copying, "copier", replicas=2)
    world.run(1)
    first = holder(world)
    world.run(60)
    world.apply([config("late")])
    world.run(30)
    assert "late-copy" in names(world)
    assert world.check() == ()
    assert holder(world) != first


def test_a_slow_call_keeps_no_leader_from_renewing() -> None:
    world = World(actors=False, faults=Faults.parse("slow:0.5 until:300 seed:3"))
    world.start(copying, "copier", replicas=2)
    for number in range(10):
        world.apply([config(f"c{number}")])
        world.run(30)
    assert names(world) >= {f"c{number}-copy" for number in range(10)}
    assert world.boundary.injected.total() > 20
    assert world.check() == ()


def test_a_program_that_makes_neither_controllers_nor_an_autoscaler_is_refused() -> None:
    world = World(actors=False)
    world.start(lambda _surroundings: 3)  # type: ignore[arg-type,return-value]
    with pytest.raises(PluginError, match="a program made int"):
        world.run(1)


class Forgetful:
    name = "forgetful"
    sources = (Source(CONFIG_MAP, by_name),)

    def reconcile(self, request: Request) -> Result:
        """Says nothing where it should say when to come again."""
        return None  # type: ignore[return-value]


class Restless:
    name = "restless"
    sources = (Source(CONFIG_MAP, by_name),)

    def reconcile(self, request: Request) -> Result:
        return Result(0.0)


def test_a_controller_that_returns_nothing_is_named() -> None:
    world = World(actors=False)
    world.start(lambda _surroundings: [Forgetful()])
    world.api.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    with pytest.raises(PluginError, match="controller forgetful returned NoneType from reconcile; accepted: a Result"):
        world.run(1)


def test_a_controller_that_never_rests_is_named() -> None:
    world = World(actors=False)
    world.start(lambda _surroundings: [Restless()])
    world.api.create(CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    with pytest.raises(InternalError, match="still busy: restless"):
        world.run(1)


@pytest.mark.parametrize("replicas", [0, -1])
def test_there_are_no_processes_without_replicas(replicas: int) -> None:
    with pytest.raises(InvalidObject, match="accepted: one or more"):
        World(actors=False).start(lambda _surroundings: [], replicas=replicas)
