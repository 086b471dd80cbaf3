"""Nobody decides before everything was listed; nobody waits for ever; and what the state missed is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from karpy.errors import KubeError
from karpy.kube.client import ObjectList, Watch
from karpy.metrics import CLUSTER_STATE_REPAIRS, Metric
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.operator import Operator
from karpy.sim.loop import Loop
from karpy.sim.processes.process import Surroundings, install
from karpy.sim.world import World
from karpy.testing import make_claim, make_node
from tests.karpy.controllers.stage import Intercepted, Silence, intercept, pool, refusal
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, deployment

Json = dict[str, Any]


@attrs.define
class Told(Silence):
    """Gauges and counters as they are, and the errors that were logged with the time."""

    now: Callable[[], float]
    repaired: dict[str, float] = attrs.field(factory=dict)
    errors: list[tuple[float, str, Json]] = attrs.field(factory=list)

    def add(self, metric: Metric, amount: float = 1.0, /, **labels: str) -> None:
        if metric is CLUSTER_STATE_REPAIRS:
            self.repaired[labels["kind"]] = self.repaired.get(labels["kind"], 0) + amount

    def set(self, metric: Metric, value: float, /, **labels: str) -> None: ...

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None: ...

    def forget(self, metric: Metric, /, **labels: str) -> None: ...

    def error(self, event: str, **fields: Any) -> None:
        self.errors.append((self.now(), event, fields))


class Scene:
    """A world, and an operator that sees all of it through one connection."""

    def __init__(self) -> None:
        self.world = World(timing=QUICK)
        self.start = self.world.clock.now()
        self.told = Told(lambda: self.world.clock.now() - self.start)
        self.kube = Intercepted(self.world.api)
        self.operator = Operator(
            kube=self.kube,
            providers=(self.world.cloud,),
            clock=self.world.clock,
            log=self.told,
            metrics=self.told,
        )
        self.state = self.operator.state

    def live(self, seconds: float, *objects: Json) -> Scene:
        self.world.apply([NODE_CLASS, pool(), *objects])
        loop = Loop(self.kube, self.world.clock)
        install(loop, self.operator)
        self.world.loop.invite(loop)
        self.world.run(seconds)
        return self

    def run(self, seconds: float) -> Scene:
        self.world.run(seconds)
        return self

    def refuse_lists_of(self, kind: Kind, error: KubeError, until_s: float) -> None:
        def listed(real: Callable[..., ObjectList], asked: Kind, *more: Any, **other: Any) -> ObjectList:
            if asked == kind and self.told.now() < until_s:
                raise error
            return real(asked, *more, **other)

        self.kube.through("list", listed)

    def gauge(self, name: str) -> float:
        (value,) = (
            reading.value
            for reading in self.operator.readings()
            if reading.metric.name == f"karpenter_cluster_state_{name}"
        )
        return value

    def claims(self) -> set[str]:
        return {obj["metadata"]["name"] for obj in self.world.api.list(kinds.NODE_CLAIM).items}


# Before everything was listed


@pytest.mark.core("CORE-484")
def test_it_is_synced_as_soon_as_everything_was_listed_whatever_there_is() -> None:
    joined = make_node("unmanaged", provider_id="", room={"cpu": "10m"})
    scene = Scene().live(0, joined, deployment(replicas=2))
    assert (scene.gauge("synced"), scene.gauge("unsynced_time_seconds")) == (1, 0)
    assert scene.gauge("node_count") == 1
    scene.run(60)
    assert scene.gauge("node_count") == 1 + len(scene.claims()) == 2
    assert scene.told.errors == []


@pytest.mark.core("CORE-485", "CORE-486")
def test_nothing_is_decided_while_a_kind_is_not_listed_and_after_a_while_that_is_said() -> None:
    scene = Scene()
    scene.refuse_lists_of(kinds.NODE, refusal(403, "Forbidden"), until_s=55)
    unsynced = []
    scene.live(0, deployment(replicas=2))
    for _ in range(5):
        scene.run(10)
        unsynced.append(scene.gauge("unsynced_time_seconds"))
        assert scene.gauge("synced") == 0
    assert (unsynced, scene.claims()) == ([10, 20, 30, 40, 50], set())
    assert [(at, event) for at, event, _ in scene.told.errors] == [
        (at, "waiting on cluster sync") for at in (30, 40, 50)
    ]
    fields = scene.told.errors[0][2]
    assert fields == {"duration_s": 30, "kinds": ["nodes"], "reasons": {"nodes": "refused with 403"}}

    scene.run(60)
    assert (scene.gauge("synced"), scene.gauge("unsynced_time_seconds")) == (1, 0)
    assert len(scene.claims()) == 1


def test_a_claim_whose_pool_was_not_listed_yet_is_kept() -> None:
    """A pool of which nothing was heard is not a pool that is gone."""
    scene = Scene()
    scene.refuse_lists_of(kinds.NODE_POOL, refusal(403, "Forbidden"), until_s=20)
    ref = pool()["spec"]["template"]["spec"]["nodeClassRef"]
    scene.live(15, make_claim("waits", reached=(), created=scene.start, spec={"nodeClassRef": ref}))
    assert scene.claims() == {"waits"}
    (claim,) = scene.world.api.list(kinds.NODE_CLAIM).items
    assert "deletionTimestamp" not in claim["metadata"]


def test_watches_that_never_come_about_are_done_without() -> None:
    """The list succeeds and the watch is refused, for ever: nobody would hear of the nodes that are there."""
    scene = Scene()

    def watch(real: Callable[..., Watch], kind: Kind, *more: Any) -> Watch:
        if kind == kinds.PERSISTENT_VOLUME:
            raise refusal(500)
        return real(kind, *more)

    scene.kube.through("watch", watch)
    scene.live(29, deployment(replicas=2))
    assert (scene.state.is_synced, scene.claims()) == (False, set())
    scene.run(31)
    assert scene.state.is_synced
    assert len(scene.claims()) == 1


def test_a_process_does_without_them_too() -> None:
    def watch(real: Callable[..., Watch], kind: Kind, *more: Any) -> Watch:
        if kind == kinds.PERSISTENT_VOLUME:
            raise refusal(500)
        return real(kind, *more)

    def started(near: Surroundings) -> Operator:
        return Operator(kube=near.kube, providers=near.providers, clock=near.clock, log=near.log)

    world = World(timing=QUICK)
    intercept(world.api, "watch", watch)
    world.start(started, "karpy")
    world.apply([NODE_CLASS, pool(), deployment(replicas=2)])
    world.run(29)
    assert world.api.list(kinds.NODE_CLAIM).items == ()
    world.run(31)
    assert len(world.api.list(kinds.NODE_CLAIM).items) == 1


def test_what_went_before_its_watch_came_about_is_forgotten_then() -> None:
    """No watch tells the end of an object that it never showed."""
    scene = Scene()

    def watch(real: Callable[..., Watch], kind: Kind, *more: Any) -> Watch:
        if kind == kinds.POD_DISRUPTION_BUDGET and scene.told.now() < 50:
            raise refusal(500)
        return real(kind, *more)

    scene.kube.through("watch", watch)
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"maxUnavailable": 1}}
    scene.live(40, *({**budget, "metadata": {"name": name}} for name in ("goes", "stays")))
    assert (scene.state.is_synced, len(scene.state.budgets())) == (True, 2)
    scene.world.api.delete(kinds.POD_DISRUPTION_BUDGET, "goes", "default")
    scene.run(60)
    assert [each.metadata.name for each in scene.state.budgets()] == ["stays"]


def test_a_kind_that_is_not_served_holds_nobody_up() -> None:
    scene = Scene()
    scene.refuse_lists_of(kinds.PROVISIONER, refusal(404, "NotFound"), until_s=1e9)
    scene.live(0)
    assert scene.gauge("synced") == 1


@pytest.mark.core("CORE-486", "CORE-488")
def test_a_claim_that_is_coming_up_or_a_new_node_holds_nobody_up() -> None:
    """Unlike Karpenter, which waits for claims to be launched: here they count as the machines that they will be."""
    scene = Scene().live(1, deployment(replicas=2))
    scene.world.apply([make_claim("by-hand", reached=()), make_node("new")])
    scene.run(0)
    known = scene.state.snapshot()
    assert {view.name for view in known.nodes} >= {"by-hand", "new"}
    assert scene.state.is_synced
    scene.run(1)
    assert len(scene.claims() - {"by-hand"}) == 1


# What was missed


def compared(scene: Scene) -> Scene:
    """The state was compared with the API server, and again."""
    return scene.run(600 + 30 + 1)


@pytest.mark.core("CORE-487", "CORE-490")
def test_a_claim_that_no_longer_exists_is_forgotten_and_those_that_do_are_kept() -> None:
    scene = Scene().live(60, deployment(replicas=2))
    (real,) = scene.claims()
    scene.state.apply(WatchEvent(EventType.ADDED, kinds.NODE_CLAIM, make_claim("ghost", reached=())))
    assert scene.state.machine("ghost") is not None
    compared(scene)
    assert scene.state.machine("ghost") is None
    assert scene.state.machine(real) is not None
    assert scene.told.repaired == {"NodeClaim": 1}
    assert [(event, fields) for _, event, fields in scene.told.errors] == [
        ("repaired cluster state, events were lost", {"kind": "nodeclaims.karpenter.sh", "names": ["ghost"]})
    ]


@pytest.mark.core("CORE-486")
def test_a_node_or_claim_that_was_missed_is_taken_in() -> None:
    scene = Scene().live(60, deployment(replicas=2))
    before = scene.state.snapshot()
    for kind in (kinds.NODE, kinds.NODE_CLAIM):
        for obj in scene.world.api.list(kind).items:
            scene.state.apply(WatchEvent(EventType.DELETED, kind, obj))
    assert scene.state.snapshot().nodes == ()
    compared(scene)
    assert [view.name for view in scene.state.snapshot().nodes] == [view.name for view in before.nodes]
    assert scene.told.repaired == {"Node": 1, "NodeClaim": 1}


def test_that_a_claim_is_to_go_may_be_missed_and_it_goes_all_the_same() -> None:
    """Who ends claims is asked, and not only the state mended."""
    scene = Scene()

    def watch(real: Callable[..., Watch], kind: Kind, *more: Any) -> Any:
        deaf = Intercepted(real(kind, *more))
        if kind == kinds.NODE_CLAIM:
            deaf.through("poll", lambda poll: [event for event in poll() if not 60 <= scene.told.now() < 120])
        return deaf

    scene.kube.through("watch", watch)
    scene.live(60, deployment(replicas=2))
    (name,) = scene.claims()
    scene.world.api.delete(kinds.NODE_CLAIM, name)
    scene.run(60)
    assert name in scene.claims()
    compared(scene).run(120)
    assert name not in scene.claims()


def test_a_state_that_is_merely_behind_is_left_to_its_watches() -> None:
    scene = Scene().live(600 - 0.5)
    scene.state.apply(WatchEvent(EventType.ADDED, kinds.NODE_CLAIM, make_claim("young", reached=())))
    scene.run(1)  # the first look: the API server does not have it yet
    scene.world.apply([make_claim("young", reached=())])
    compared(scene)
    assert scene.state.machine("young") is not None
    assert scene.told.repaired == {}


def test_what_cannot_be_read_is_not_read_again_and_again() -> None:
    odd = make_node("odd")
    scene = Scene().live(60)
    scene.state.apply(WatchEvent(EventType.ADDED, kinds.NODE, {**odd, "status": {"capacity": {"cpu": "many"}}}))
    compared(scene)
    assert scene.told.repaired == {}
    assert len(scene.state.unreadable) == 1
