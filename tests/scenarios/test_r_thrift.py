"""R02-R05, R08-R10, R43: nothing is launched over and over, nothing is paid for twice, and what stands is left in peace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.cloud.provider import RawNodeClass
from karpy.controllers.base import DONE, Request, Result, Source, by_name, singleton
from karpy.controllers.disruption.queue import Queue
from karpy.controllers.nodeclaim.lifecycle import NodeClaimLifecycle
from karpy.controllers.nodeclaim.limiting import Limiting
from karpy.controllers.provisioning.provisioner import Provisioner
from karpy.controllers.shared import Shared
from karpy.objects import kinds
from karpy.objects.nodepool import NodePool
from karpy.operator import Operator
from karpy.resources import Resources
from karpy.sim.processes.process import Surroundings
from karpy.sim.weather import Shortage, Trouble, Weather, Where
from karpy.sim.world import World
from karpy.state.snapshot import Snapshot
from tests.scenarios.survival import (
    HOUR,
    MINUTE,
    app,
    broken,
    karpy,
    launches,
    machines,
    of_capacity,
    pool,
    running,
    scale,
    world_of,
    writes,
)


class ForEveryPod:
    """Makes a claim for every pod that waits, each time that it looks: what is under way it does not know of."""

    name = "for-every-pod"
    sources: Sequence[Source] = (Source(kinds.POD, singleton),)

    def __init__(self, surroundings: Surroundings, every_s: float) -> None:
        self.kube = surroundings.kube
        self.every_s = every_s

    def reconcile(self, request: Request) -> Result:
        waiting = [pod for pod in self.kube.list(kinds.POD).items if not pod["spec"].get("nodeName")]
        for _ in waiting:
            self.kube.create(kinds.NODE_CLAIM, claim_for("pool"))
        return Result(self.every_s) if waiting else DONE


def claim_for(pool_name: str) -> dict[str, Any]:
    ref = {"group": "sim.karpy.dev", "kind": "SimNodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"generateName": f"{pool_name}-", "labels": {"karpenter.sh/nodepool": pool_name}},
        "spec": {"nodeClassRef": ref, "requirements": []},
    }


def eager(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    kept = [each for each in operator.controllers if not isinstance(each, Provisioner)]
    operator.controllers = (*kept, ForEveryPod(surroundings, 20.0))
    return operator


# R02: the node joins, but the pod still does not fit


@pytest.mark.parametrize("less", [0.01, 0.05, 0.10])
def test_r02_a_pod_that_fits_on_no_machine_as_promised_brings_few_of_them(less: float) -> None:
    """The pod fills a machine of its type to the brim, and every machine has less than its type promises."""
    weather = Weather(troubles=(Trouble("less-memory", share=1.0, by=less),))
    world = world_of(karpy, app(replicas=1, cpu="1", memory="7930Mi"), weather=weather)
    world.run(HOUR)
    assert launches(world) <= 8  # one for each type that it just does not fit on, and one that it fits on
    assert running(world) == 1
    assert world.check() == ()


class Marks:
    """An agent of somebody else that puts a taint on every node as soon as it is registered."""

    name = "marks"
    sources: Sequence[Source] = (Source(kinds.NODE, by_name),)

    def __init__(self, world: World) -> None:
        self.kube = world.api

    def reconcile(self, request: Request) -> Result:
        for node in self.kube.list(kinds.NODE, field_selector=f"metadata.name={request.name}").items:
            taints = node["spec"].get("taints", [])
            if "karpenter.sh/registered" in node["metadata"]["labels"] and all(t["key"] != "mine" for t in taints):
                marked = [*taints, {"key": "mine", "effect": "NoSchedule"}]
                self.kube.patch(kinds.NODE, request.name, {"spec": {"taints": marked}})
        return DONE


def test_r02_a_pod_that_runs_on_no_machine_for_a_reason_unknown_to_karpy_waits_longer_and_longer() -> None:
    world = world_of(karpy, app(replicas=1))
    world.add(Marks(world))
    world.run(3 * HOUR)
    assert 3 <= launches(world) <= 12
    told = [event["message"] for event in world.api.list(kinds.EVENT).items]
    assert any("machines came up for it and it runs on none of them" in message for message in told)
    assert broken(world) <= {"pods_run"}


def test_r02_a_controller_that_launches_whenever_a_pod_waits_is_caught() -> None:
    weather = Weather(troubles=(Trouble("less-memory", share=1.0, by=0.1),))
    world = world_of(eager, app(replicas=1, memory="7930Mi"), weather=weather)
    world.run(10 * MINUTE)
    assert "launches_are_bounded" in broken(world)


# R03: nodes never register


def test_r03_machines_that_never_join_are_few_at_a_time() -> None:
    weather = Weather(troubles=(Trouble("never-joins", share=1.0),))
    world = world_of(karpy, app(replicas=4, cpu="3"), pool(limits={"cpu": "16"}), weather=weather)
    for _ in range(8):
        world.run(15 * MINUTE)
        assert len(machines(world)) <= 4
    assert launches(world) <= 4 * 9
    assert world.check() == ()


def impatient(surroundings: Surroundings) -> Operator:
    """A quarter of a minute is all that a machine gets for joining, and then comes the next."""
    return karpy(surroundings, registration_timeout_s=15.0, registration_failures_allowed=0)


def test_r03_a_controller_without_patience_is_caught() -> None:
    weather = Weather(troubles=(Trouble("never-joins", share=1.0),))
    world = world_of(impatient, app(replicas=1), weather=weather)
    world.run(10 * MINUTE)
    assert "launches_are_bounded" in broken(world)


# R04: limits


@pytest.mark.parametrize("faults", ["", "lost:0.1 error:0.05 until:120 seed:2", "crash-after:0.03 until:120 seed:5"])
def test_r04_a_hundred_pods_at_once_do_not_overshoot_the_limit(faults: str) -> None:
    world = world_of(karpy, pool(limits={"cpu": "24", "nodes": "4"}), app(replicas=100), faults=faults)
    world.run(6 * MINUTE)
    assert 10 <= running(world) <= 24
    assert len(machines(world)) <= 4
    assert world.check() == ()


def shrinking() -> World:
    """A machine that fills its pool's limit becomes too large for its pods, and is to be replaced by a smaller one."""
    world = world_of(karpy, pool(limits={"cpu": "4"}), app("web", replicas=3, cpu="1"))
    world.run(MINUTE)
    scale(world, "web", 1)
    return world


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_r04_a_replacement_that_a_dead_process_left_behind_does_not_overshoot(after: bool) -> None:
    """The next life knows nothing of the node that was to go: it stays, and there is no room for both."""
    probe = shrinking()
    probe.run(5 * MINUTE)
    creates = [call.number for call in probe.trace if call.is_of_cloud and call.verb == "create"]
    assert len(creates) == 2
    world = shrinking()
    world.crash_at(creates[1], after=after)
    world.run(20 * MINUTE)
    assert world.processes[0].lives == 2
    assert running(world) == 1
    assert world.check() == ()


class Unlimited(Provisioner):
    """Plans as if pools had no limits."""

    def _provision(self, taken: Snapshot) -> None:
        free = tuple(attrs.evolve(each, limits=Resources()) for each in taken.pools)
        super()._provision(attrs.evolve(taken, pools=free))


class Generous(Limiting):
    """Does not look at limits when it launches, either."""

    def within(self, _claim: Any, _pool: Any, found: Any) -> Any:
        return found


class LaunchesAll(NodeClaimLifecycle):
    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._launching._limiting = Generous(shared)


def unlimited(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    heedless = {Provisioner: Unlimited, NodeClaimLifecycle: LaunchesAll}
    operator.controllers = tuple(
        heedless[type(each)](each._shared) if type(each) in heedless else each for each in operator.controllers
    )
    return operator


def test_r04_a_controller_that_forgets_limits_is_caught() -> None:
    world = world_of(unlimited, pool(limits={"cpu": "8"}), app(replicas=30))
    world.run(2 * MINUTE)
    assert "limits_hold" in broken(world)


# R05: no capacity


def test_r05_an_hour_without_any_capacity_is_no_hot_loop() -> None:
    world = world_of(karpy, app(replicas=3), weather=Weather(shortages=(Shortage(until_s=HOUR),)))
    world.run(HOUR)
    assert writes(world) < 60 * 20
    world.run(10 * MINUTE)
    assert running(world) == 3
    assert world.check() == ()


class Static:
    """Keeps a claim standing, and makes another at once when it is gone: whether any can be had does not matter to it."""

    name = "static"
    sources: Sequence[Source] = (Source(kinds.NODE_POOL, singleton),)

    def __init__(self, surroundings: Surroundings) -> None:
        self.kube = surroundings.kube

    def reconcile(self, request: Request) -> Result:
        if not self.kube.list(kinds.NODE_CLAIM).items and self.kube.list(kinds.NODE_POOL).items:
            self.kube.create(kinds.NODE_CLAIM, claim_for("pool"))
        return Result(1.0)


def static(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    operator.controllers = (*operator.controllers, Static(surroundings))
    return operator


def test_r05_a_controller_that_does_not_rest_without_capacity_is_caught() -> None:
    world = world_of(static, weather=Weather(shortages=(Shortage(until_s=HOUR),)))
    world.run(5 * MINUTE)
    assert "launches_are_bounded" in broken(world)


# R08: oscillation


def moved(world: World) -> int:
    """How many claims processes took away."""
    return sum(1 for call in world.trace if call.verb == "delete" and call.kind == kinds.NODE_CLAIM and call.is_ok)


def test_r08_what_nobody_touches_comes_to_rest() -> None:
    """A day with the same pods: what is moved at all is moved in the first hour."""
    apps = [app(f"a{number}", replicas=3, cpu=cpu) for number, cpu in enumerate(("300m", "700m", "1500m", "2"))]
    world = world_of(karpy, *apps)
    world.run(HOUR)
    scale(world, "a3", 1)
    world.run(HOUR)
    before, nodes = moved(world), len(machines(world))
    world.run(22 * HOUR)
    assert moved(world) - before <= nodes
    assert running(world) == 10
    assert world.check() == ()


class OtherPrices:
    """A cloud whose price list is another one every half hour; what is paid is not."""

    def __init__(self, provider: Any, surroundings: Surroundings) -> None:
        self._provider = provider
        self._clock = surroundings.clock
        self._lists: dict[tuple[int, int], tuple[InstanceTypes, InstanceTypes]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        known = self._provider.instance_types(pool, node_class)
        turn = int(self._clock.now() // 1800) % 2
        key = (id(known), turn)
        if key not in self._lists:
            self._lists[key] = (known, InstanceTypes(tuple(self._other(each, turn) for each in known)))
        return self._lists[key][1]

    @staticmethod
    def _other(each: InstanceType, turn: int) -> InstanceType:
        dear = each.name.startswith("c-") == bool(turn)
        factor = 4.0 if dear else 1.0
        offerings = tuple(attrs.evolve(offering, price=offering.price * factor) for offering in each.offerings)
        return attrs.evolve(each, offerings=offerings)


def fickle(surroundings: Surroundings) -> Operator:
    providers: Any = tuple(OtherPrices(each, surroundings) for each in surroundings.providers)
    return karpy(attrs.evolve(surroundings, providers=providers))


def test_r08_a_controller_that_moves_to_and_fro_is_caught() -> None:
    world = world_of(fickle, app(replicas=2, cpu="1500m"), pool(template=of_capacity("on-demand")))
    world.run(6 * HOUR)
    assert broken(world) & {"consolidation_saves", "consolidation_rests"} == {
        "consolidation_saves",
        "consolidation_rests",
    }


# R09: onto capacity that is not there


def with_room(program: Any, weather: Weather) -> World:
    """Two small pods on a machine that was bought for more: what replaces it is not to be had."""
    world = world_of(program, app("big", replicas=6, cpu="1"), weather=weather)
    world.run(3 * MINUTE)
    scale(world, "big", 1)
    return world


NO_SMALL_ONES = Weather(
    shortages=tuple(
        Shortage(Where(instance_type=f"{family}-{size}x-{arch}"), from_s=2 * MINUTE)
        for family in "csm"
        for size in (1, 2, 4)
        for arch in ("amd64", "arm64")
    )
)


def uids(world: World, name: str) -> set[str]:
    pods = world.api.list(kinds.POD, label_selector=f"app={name}").items
    return {pod["metadata"]["uid"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}


def test_r09_a_replacement_that_cannot_be_had_moves_nobody() -> None:
    world = with_room(karpy, NO_SMALL_ONES)
    world.run(MINUTE)
    before = uids(world, "big")
    world.run(2 * HOUR)
    assert uids(world, "big") == before
    assert running(world) == 1
    assert world.check() == ()


def hasty(surroundings: Surroundings) -> Operator:
    """Does not wait for what replaces a node."""
    operator = karpy(surroundings)
    (queue,) = (each for each in operator.controllers if isinstance(each, Queue))
    queue._is_up = lambda _name: True  # type: ignore[method-assign]
    return operator


def test_r09_a_controller_that_does_not_wait_for_replacements_is_caught() -> None:
    world = with_room(hasty, NO_SMALL_ONES)
    world.run(30 * MINUTE)
    assert "replacements_come_first" in broken(world)


def replaced(faults: str) -> World:
    """The machine is replaced by a smaller one."""
    world = world_of(karpy, app("big", replicas=6, cpu="1"), faults=faults)
    world.run(3 * MINUTE)
    scale(world, "big", 1)
    world.run(10 * MINUTE)
    return world


def test_r09_who_waits_is_not_blamed_for_slow_calls_between_a_decision_and_its_claim() -> None:
    undisturbed = replaced("")
    (move,) = undisturbed.witness.facts.moves
    made = [call for call in undisturbed.trace if call.at == move.at and call.who == move.who]
    claim = next(number for number, call in enumerate(made) if call.verb == "create" and call.kind == kinds.NODE_CLAIM)
    for call in made[: claim + 1]:
        world = replaced(f"slow@{call.number}")
        assert (len(world.witness.facts.moves), running(world)) == (1, 1)
        assert world.check() == ()


# R10: spot and on-demand


SPOT_IN_WAVES = Weather(shortages=(Shortage(Where(capacity_type="spot"), period_s=600.0, duty=0.5),))


def test_r10_spot_capacity_that_comes_and_goes_moves_each_node_once() -> None:
    world = world_of(karpy, app(replicas=3, cpu="3"), weather=SPOT_IN_WAVES)
    world.run(3 * HOUR)
    assert moved(world) <= 2 * 3
    assert running(world) == 3
    assert world.check() == ()


class Chaser:
    """Buys on demand whenever spot is short, and spot whenever it is there: at once, and for every node."""

    name = "chaser"
    sources: Sequence[Source] = ()

    def __init__(self, surroundings: Surroundings) -> None:
        self.kube = surroundings.kube
        self.clock = surroundings.clock
        self.began = surroundings.clock.now()
        self.turn = 0

    def reconcile(self, request: Request) -> Result:
        turn = int((self.clock.now() - self.began) // 300)
        if turn != self.turn:
            self.turn = turn
            for claim in self.kube.list(kinds.NODE_CLAIM).items:
                self.kube.delete(kinds.NODE_CLAIM, claim["metadata"]["name"])
        return Result(10.0)


def chasing(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    operator.controllers = (*operator.controllers, Chaser(surroundings))
    return operator


def test_r10_a_controller_that_chases_every_change_is_caught() -> None:
    world = world_of(chasing, app(replicas=3, cpu="3"), weather=SPOT_IN_WAVES)
    world.run(HOUR)
    assert "consolidation_rests" in broken(world)


# R43: rollouts


def rollout(program: Any) -> tuple[World, set[str]]:
    """A deployment with a surge is rolled out beside another that nobody touches, on machines without much room."""
    web = app("web", replicas=8, cpu="900m")
    web["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
    world = world_of(program, web, app("still", replicas=4, cpu="900m"), pool(template=of_capacity("on-demand")))
    world.run(20 * MINUTE)
    before = uids(world, "still")
    world.api.patch(kinds.DEPLOYMENT, "web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}, "default")
    return world, before


def bystanders_stay(world: World, before: set[str]) -> bool:
    return uids(world, "still") == before


def test_r43_a_rollout_brings_few_nodes_for_a_short_time_and_disturbs_nobody_else() -> None:
    world, before = rollout(karpy)
    nodes = len(machines(world))
    most = nodes
    for _ in range(40):
        world.run(15)
        most = max(most, len(machines(world)))
        assert bystanders_stay(world, before)
    assert most <= nodes + 2
    world.run(20 * MINUTE)
    assert len(machines(world)) <= nodes
    assert running(world) == 12
    assert world.check() == ()


class Sweeper(Chaser):
    """Takes nodes away whenever there are more than before, the oldest first."""

    def reconcile(self, request: Request) -> Result:
        metas = [claim["metadata"] for claim in self.kube.list(kinds.NODE_CLAIM).items]
        found = [meta["name"] for meta in sorted(metas, key=lambda meta: (meta["creationTimestamp"], meta["name"]))]
        settled = self.clock.now() - self.began > 15 * MINUTE
        if settled and self.turn and len(found) > self.turn:
            self.kube.delete(kinds.NODE_CLAIM, found[0])
        elif settled:
            self.turn = self.turn or len(found)
        return Result(20.0)


def sweeping(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    operator.controllers = (*operator.controllers, Sweeper(surroundings))
    return operator


def test_r43_a_controller_that_sweeps_during_a_rollout_is_caught() -> None:
    world, before = rollout(sweeping)
    world.run(10 * MINUTE)
    assert not bystanders_stay(world, before)
