"""What is watched over is named, documented, and seen when it is broken. (See tests/scenarios/test_r_*.py for the others.)"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from karpy.controllers.base import Request, Result, Source
from karpy.objects import kinds
from karpy.sim.invariants.witness import AFTER_CALLS, BEFORE_CALLS, SAMPLED
from karpy.sim.processes.process import Surroundings
from karpy.sim.world import World
from tests.karpy.sim.manifests import NODE_CLASS, deployment
from tests.scenarios.survival import MINUTE, app, broken, karpy, pool, world_of

PAGE = Path(__file__).parents[4] / "docs/testing.md"
NAMES = [invariant.__name__ for invariant in (*SAMPLED, *BEFORE_CALLS, *AFTER_CALLS)]


@pytest.mark.parametrize("name", [*NAMES, "log_is_bounded"])
def test_every_invariant_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text()


class Doing:
    """Does one thing again and again, after a while."""

    name = "doing"
    sources: Sequence[Source] = ()

    def __init__(self, surroundings: Surroundings) -> None:
        self.kube = surroundings.kube
        self.providers = surroundings.providers
        self.began = surroundings.clock.now()
        self.clock = surroundings.clock

    def reconcile(self, request: Request) -> Result:
        if self.clock.now() > self.began + MINUTE:
            self.do()
        return Result(1.0)

    def do(self) -> None:
        raise NotImplementedError


class Deletes(Doing):
    """Deletes pods, where others ask for their eviction."""

    def do(self) -> None:
        for pod in self.kube.list(kinds.POD).items:
            self.kube.delete(kinds.POD, pod["metadata"]["name"], pod["metadata"]["namespace"])


class EndsMachines(Doing):
    """Ends machines under the pods."""

    def do(self) -> None:
        for provider in self.providers:
            for instance in provider.list():
                provider.delete(instance.provider_id)


class Scribbles(Doing):
    """Writes the same node over and over."""

    def do(self) -> None:
        for node in self.kube.list(kinds.NODE).items:
            self.kube.patch(kinds.NODE, node["metadata"]["name"], {"metadata": {"annotations": {"x": "y"}}})


class DropsClaims(Doing):
    """Lets claims go that still have a node."""

    def do(self) -> None:
        for claim in self.kube.list(kinds.NODE_CLAIM).items:
            name = claim["metadata"]["name"]
            self.kube.patch(kinds.NODE_CLAIM, name, {"metadata": {"finalizers": []}})
            self.kube.delete(kinds.NODE_CLAIM, name)


def beside_karpy(doing: type[Doing], *objects: dict[str, object]) -> World:
    def program(surroundings: Surroundings) -> object:
        operator = karpy(surroundings)
        operator.controllers = (*operator.controllers, doing(surroundings))
        return operator

    return world_of(program, *objects)  # type: ignore[arg-type]


@pytest.mark.parametrize("doing", [Deletes, EndsMachines])
@pytest.mark.parametrize("protection", ["budget", "annotation"])
def test_pods_are_not_disturbed(doing: type[Doing], protection: str) -> None:
    web = app(replicas=2)
    budget = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
    guard = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": budget}
    if protection == "annotation":
        web["spec"]["template"]["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    world = beside_karpy(doing, web, *([guard] if protection == "budget" else []))
    world.run(2 * MINUTE)
    assert "pods_are_not_disturbed" in broken(world)


def test_writes_are_bounded() -> None:
    world = beside_karpy(Scribbles, app())
    world.run(3 * MINUTE)
    assert broken(world) == {"writes_are_bounded"}


def test_nodes_have_claims() -> None:
    def program(surroundings: Surroundings) -> object:
        operator = karpy(surroundings)
        kept = [each for each in operator.controllers if each.name != "node.termination"]
        operator.controllers = (*kept, DropsClaims(surroundings))
        return operator

    world = world_of(program, app())  # type: ignore[arg-type]
    world.run(15 * MINUTE)
    assert "nodes_have_claims" in broken(world)


def test_a_violation_is_told_once_with_its_time_and_its_object() -> None:
    world = beside_karpy(Scribbles, app(replicas=1))
    world.run(5 * MINUTE)
    (violation,) = world.check()
    assert world.check() == (violation,)
    assert str(violation).startswith("2026-01-05T09:01:")
    assert violation.object.startswith("nodes/pool-")


def test_a_world_without_processes_is_watched_over_too() -> None:
    world = World()
    world.apply([NODE_CLASS, pool(), deployment()])
    world.run(MINUTE)
    assert world.check() == ()
