"""R01, R06, R44: machines, claims and what is known of them stay together, wherever a process dies."""

from __future__ import annotations

import pytest

from karpy import labels
from karpy.cloud.provider import CloudProvider
from karpy.controllers.base import DONE, Request, Result
from karpy.controllers.nodeclaim.garbage import GarbageCollection
from karpy.controllers.nodeclaim.lifecycle import NodeClaimLifecycle
from karpy.controllers.nodeclaim.releasing import Releasing
from karpy.controllers.shared import Shared
from karpy.objects import kinds
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.operator import Operator
from karpy.sim.processes.process import Surroundings
from karpy.sim.weather import Stray, Weather
from karpy.sim.world import World
from karpy.state.cluster import ClusterState
from tests.scenarios.survival import MINUTE, app, broken, claims, karpy, machines, running, scale, world_of

CALLS_OF_A_LAUNCH = 75


def with_parts(
    operator: Operator, *, without: tuple[type, ...] = (), swap: tuple[type, type] | None = None
) -> Operator:
    """karpy without some controllers, or with another in the place of one."""
    kept = [each for each in operator.controllers if not isinstance(each, without)]
    if swap is not None:
        old, new = swap
        kept = [new(each._shared) if isinstance(each, old) else each for each in kept]
    operator.controllers = tuple(kept)
    return operator


# R01


def up_and_down(world: World) -> None:
    """Two pods come, and go again; then everything settles."""
    world.run(MINUTE)
    scale(world, "web", 0)
    world.run(12 * MINUTE)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("first", range(1, CALLS_OF_A_LAUNCH, 15))
def test_r01_no_machine_leaks_at_whatever_call_the_process_dies(first: int, after: bool) -> None:
    for number in range(first, first + 15, 2):
        world = world_of(karpy, app(replicas=2))
        world.crash_at(number, after=after)
        world.run(3 * MINUTE)
        assert running(world) == 2, number
        assert claims(world) == set(machines(world)), number
        assert world.check() == (), number


@pytest.mark.parametrize("seed", range(4))
def test_r01_after_deletions_that_overlap_with_crashes_nothing_is_left(seed: int) -> None:
    """More crashes, and a process would not even live until it knows what there is: that takes some forty calls."""
    world = world_of(karpy, app(replicas=6), faults=f"crash-before:0.02 crash-after:0.02 until:240 seed:{seed}")
    for _ in range(4):
        world.run(MINUTE)
        for name in sorted(claims(world))[:2]:
            world.api.delete(kinds.NODE_CLAIM, name)
    scale(world, "web", 0)
    world.run(20 * MINUTE)
    assert (claims(world), machines(world)) == (set(), [])
    assert world.check() == ()


def test_r01_machines_with_our_mark_that_nobody_knows_are_ended_and_those_of_others_stay() -> None:
    world = world_of(karpy, app(replicas=1), weather=Weather(strays=(Stray(30.0), Stray(40.0, is_ours=False))))
    world.run(12 * MINUTE)
    assert [claim for claim in machines(world) if claim not in claims(world)] == [""]
    assert world.check() == ()


class LetsGo(Releasing):
    """Forgets that a machine may have been launched whose id was not written down."""

    def _forgotten_instance(self, claim: NodeClaim, provider: CloudProvider) -> str:
        return ""


class Forgets(NodeClaimLifecycle):
    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._releasing = LetsGo(shared)


def forgetful(surroundings: Surroundings) -> Operator:
    return with_parts(karpy(surroundings), without=(GarbageCollection,), swap=(NodeClaimLifecycle, Forgets))


def test_r01_a_controller_that_forgets_a_launch_is_caught() -> None:
    world = world_of(forgetful, app(replicas=1))
    launch = world_of(forgetful, app(replicas=1))
    launch.run(30)
    number = next(call.number for call in launch.trace if call.is_of_cloud and call.verb == "create")
    world.crash_at(number, after=True)
    world.run(2)
    (name,) = claims(world)
    world.api.delete(kinds.DEPLOYMENT, "web", "default")
    world.api.delete(kinds.NODE_CLAIM, name)
    world.run(12 * MINUTE)
    assert broken(world) == {"instances_have_claims"}


# R06


def test_r06_what_comes_and_goes_at_once_wedges_nothing() -> None:
    """Claims are made and deleted within a second, while watches break and the process starts anew."""
    world = world_of(karpy, app(replicas=2), faults="drop:0.4 late:0.3 crash-after:0.02 until:120 seed:3")
    for round_ in range(60):
        world.run(1.7)
        for name in sorted(claims(world))[: 1 + round_ % 2]:
            world.api.delete(kinds.NODE_CLAIM, name)
        scale(world, "web", round_ % 4)
        world.run(0.3)
    scale(world, "web", 2)
    world.run(12 * MINUTE)
    assert running(world) == 2
    assert broken(world) <= {"launches_are_bounded"}  # a user who deletes a claim every second has it so


class Wedged(ClusterState):
    """Once it has heard of a claim it never hears of its end."""

    def apply(self, event: WatchEvent) -> None:
        if event.kind != kinds.NODE_CLAIM or event.type is not EventType.DELETED:
            super().apply(event)


def wedged(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    operator.state.__class__ = Wedged
    return operator


def test_r06_a_state_that_never_forgets_is_caught() -> None:
    world = world_of(wedged, app(replicas=2))
    world.run(2 * MINUTE)
    scale(world, "web", 0)
    world.run(15 * MINUTE)
    assert "state_is_current" in broken(world)


# R44


@pytest.mark.parametrize("fault", ["crash-before", "error", "lost", "stall"])
def test_r44_a_claim_that_was_not_launched_is_launched_or_given_up(fault: str) -> None:
    """At the launch the process dies, or the cloud fails, or nobody hears of it."""
    probe = world_of(karpy, app(replicas=1))
    probe.run(30)
    number = next(call.number for call in probe.trace if call.is_of_cloud and call.verb == "create")
    world = world_of(karpy, app(replicas=1), faults=f"{fault}@{number}")
    world.run(6 * MINUTE)
    assert world.boundary.injected.total() == 1
    assert running(world) == 1
    assert world.check() == ()


class OwnOnly(NodeClaimLifecycle):
    """Launches only claims that it saw being made: those of another life are nobody's."""

    def reconcile(self, request: Request) -> Result:
        claim = self._shared.state.claim(request.name)
        made_before = claim is not None and claim.metadata.created < self._began
        if made_before and claim is not None and labels.TERMINATION_FINALIZER not in claim.metadata.finalizers:
            return DONE
        return super().reconcile(request)

    @property
    def _began(self) -> float:
        self.__dict__.setdefault("began", self._shared.clock.now())
        began: float = self.__dict__["began"]
        return began


def own_only(surroundings: Surroundings) -> Operator:
    operator = with_parts(karpy(surroundings), swap=(NodeClaimLifecycle, OwnOnly))
    for controller in operator.controllers:
        if isinstance(controller, OwnOnly):
            assert controller._began == surroundings.clock.now()
    return operator


def test_r44_a_controller_that_knows_only_claims_of_its_own_life_is_caught() -> None:
    probe = world_of(own_only, app(replicas=1))
    probe.run(30)
    number = next(call.number for call in probe.trace if call.verb == "create" and call.kind == kinds.NODE_CLAIM)
    world = world_of(own_only, app(replicas=1))
    world.crash_at(number, after=True)
    world.run(8 * MINUTE)
    assert "claims_have_instances" in broken(world)
