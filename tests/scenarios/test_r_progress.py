"""R07, R22, R23, R25: work goes on, whatever is in the way, however long it lasts, and in whatever order things happen."""

from __future__ import annotations

import gc
import threading
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import pytest

from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import RawNodeClass
from karpy.controllers.base import DONE, Request, Result, Source, by_name, singleton
from karpy.controllers.provisioning.provisioner import Provisioner
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.nodepool import NodePool
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.operator import Operator
from karpy.scheduling.configured import solve_as_set
from karpy.sim.processes.process import Surroundings
from karpy.sim.world import World
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import Snapshot
from tests.scenarios.survival import (
    DAY,
    MINUTE,
    app,
    broken,
    karpy,
    machines,
    pool,
    running,
    scale,
    world_of,
)

# R07: one bad object


class NoPrices:
    """A cloud whose price list has holes, and nonsense in it."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._made: dict[int, tuple[InstanceTypes, InstanceTypes]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def instance_types(self, pool: NodePool, node_class: RawNodeClass) -> InstanceTypes:
        known = self._provider.instance_types(pool, node_class)
        if id(known) not in self._made:
            self._made[id(known)] = (known, InstanceTypes(map(self._spoilt, known)))
        return self._made[id(known)][1]

    @staticmethod
    def _spoilt(each: Any) -> Any:
        prices = {"c": float("nan"), "m": -1.0}
        price = prices.get(each.name[0])
        if price is None:
            return each
        return attrs.evolve(each, offerings=tuple(attrs.evolve(offering, price=price) for offering in each.offerings))


def with_bad_prices(surroundings: Surroundings) -> Operator:
    providers: Any = tuple(map(NoPrices, surroundings.providers))
    return karpy(attrs.evolve(surroundings, providers=providers))


def poison() -> list[dict[str, Any]]:
    """Pools and pods of which nothing can come."""
    nowhere = pool("nowhere", weight=90)
    nowhere["spec"]["template"] = {
        "spec": {
            "requirements": [],
            "nodeClassRef": {"group": "sim.karpy.dev", "kind": "SimNodeClass", "name": "missing"},
        }
    }
    foreign = pool("foreign", weight=80)
    foreign["spec"]["template"] = {
        "spec": {"requirements": [], "nodeClassRef": {"group": "nobody.io", "kind": "Class", "name": "x"}}
    }
    nothing = pool("nothing", weight=70)
    nothing["spec"]["template"]["spec"]["requirements"] = [
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["sparc"]}
    ]
    spread = {
        "maxSkew": 1,
        "topologyKey": "no.such/key",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    return [
        nowhere,
        foreign,
        nothing,
        app("huge", replicas=2, cpu="900"),
        app("lost", replicas=2, nodeSelector={"no.such/label": "x"}),
        app("spread", replicas=2, topologySpreadConstraints=[spread]),
        app("volume", replicas=1, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]),
    ]


@pytest.mark.parametrize("program", [karpy, with_bad_prices], ids=["as sold", "with bad prices"])
def test_r07_objects_of_which_nothing_can_come_are_in_nobodys_way(program: Any) -> None:
    world = world_of(program, *poison(), pool("good"), app("web", replicas=5))
    world.run(3 * MINUTE)
    assert running(world, "web") == 5
    scale(world, "web", 1)
    world.run(20 * MINUTE)  # what waits does not keep nodes from being consolidated, either
    assert running(world, "web") == 1
    assert len(machines(world)) == 1
    assert world.check() == ()


class AllOrNothing(Provisioner):
    """Launches nothing while there is a pod that nothing can be done for."""

    def _provision(self, taken: Snapshot) -> None:
        snapshot, catalog = with_catalog(taken, self._shared.clouds, self._shared.settings)
        if not solve_as_set(self._shared.settings, snapshot, catalog).unschedulable:
            super()._provision(taken)


def with_provisioner(surroundings: Surroundings, new: Callable[[Any], Provisioner]) -> Operator:
    operator = karpy(surroundings)
    operator.controllers = tuple(
        new(each._shared) if isinstance(each, Provisioner) else each for each in operator.controllers
    )
    return operator


def test_r07_a_controller_that_one_pod_holds_up_is_caught() -> None:
    world = world_of(lambda s: with_provisioner(s, AllOrNothing), *poison(), pool("good"), app("web", replicas=5))
    world.run(10 * MINUTE)
    assert "pods_run" in broken(world)


# R22: memory


def held(roots: Iterable[Any], outside: Iterable[Any]) -> int:
    """How many objects ``roots`` keep alive, but for those ``outside`` and all that is reached through them alone."""
    seen = {id(each) for each in outside}
    todo = [root for root in roots if id(root) not in seen]
    seen |= {id(root) for root in todo}
    count = 0
    ignored = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    while todo:
        count += 1
        for each in gc.get_referents(todo.pop()):
            if id(each) not in seen and not isinstance(each, ignored):
                seen.add(id(each))
                todo.append(each)
    return count


def growth(world: World, days: int) -> list[int]:
    """What the process holds at the end of each day, when nothing runs."""
    sizes = []
    for _ in range(days):
        for hour in range(6):
            scale(world, "web", 1 + hour % 4)
            world.run(20 * MINUTE)
            scale(world, "web", 0)
            world.run(10 * MINUTE)
        world.run(DAY - 6 * 30 * MINUTE)
        (process,) = world.processes
        outside = (world, world.api, world.cloud, world.loop, world.clock, world.boundary, world.witness, process)
        sizes.append(held([process.running], outside))
    return sizes


def stays(sizes: Sequence[int]) -> bool:
    """Whether the last days hold no more than the first did, but for what caches fill up with."""
    return max(sizes[-2:]) <= 1.05 * max(sizes[:2]) + 100


@pytest.fixture
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches that are bounded fill up within a day."""
    monkeypatch.setattr("karpy.objects.sharing._MOST", 16)


@pytest.mark.usefixtures("small_caches")
def test_r22_days_of_churn_leave_nothing_behind() -> None:
    world = world_of(karpy, app(replicas=0))
    sizes = growth(world, days=6)
    assert stays(sizes), sizes
    assert world.check() == ()


class Diary:
    """Never forgets a pod."""

    name = "diary"
    sources: Sequence[Source] = (Source(kinds.POD, by_name), Source(kinds.NODE, by_name))

    def __init__(self) -> None:
        self.seen: list[list[Request]] = []

    def reconcile(self, request: Request) -> Result:
        self.seen.append([request])
        return DONE


def writing(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    operator.controllers = (*operator.controllers, Diary())
    return operator


@pytest.mark.usefixtures("small_caches")
def test_r22_a_controller_that_never_forgets_is_caught() -> None:
    world = world_of(writing, app(replicas=0))
    assert not stays(growth(world, days=4))


# R23: a backlog at the start, and lives that end early


def dying(program: Any, calls: int, *objects: dict[str, Any], seed: int = 0) -> World:
    """A world in which each life of the process ends after so many calls."""
    world = world_of(program, *objects, seed=seed)
    for number in range(calls, 200 * calls, calls):
        world.crash_at(number)
    return world


def test_r23_a_backlog_is_worked_off_though_no_life_is_long_enough_for_all_of_it() -> None:
    world = dying(karpy, 70, app(replicas=120, cpu="3"))
    running_then = []
    for _ in range(12):
        world.run(MINUTE)
        running_then.append(running(world))
    assert world.processes[0].lives > 5
    assert running_then[-1] == 120
    assert "lives_bring_progress" not in broken(world)


class NotesFirst(Provisioner):
    """Writes a note on every pod that waits before it plans anything; a new life begins with the first pod again."""

    def _provision(self, taken: Snapshot) -> None:
        for pod in taken.to_place:
            meta = pod.metadata
            self._shared.kube.patch(
                kinds.POD, meta.name, {"metadata": {"annotations": {"seen": "yes"}}}, meta.namespace
            )
        super()._provision(taken)


def test_r23_a_controller_that_begins_anew_in_each_life_is_caught() -> None:
    world = dying(lambda s: with_provisioner(s, NotesFirst), 100, app(replicas=120, cpu="3"))
    world.run(15 * MINUTE)
    assert "lives_bring_progress" in broken(world)


# R25: orders of things


def at_rest(seed: int, program: Any = karpy) -> tuple[Any, ...]:
    """What a cluster comes to when its controllers run in the order of this seed."""
    world = world_of(program, app("web", replicas=6), app("db", replicas=2, cpu="3"), seed=seed)
    world.run(3 * MINUTE)
    scale(world, "web", 2)
    world.run(30 * MINUTE)
    assert world.check() == ()
    bought = sorted(machine.instance_type.name for machine in world.cloud.machines)
    notes = [obj.get("data") for obj in world.api.list(kinds.CONFIG_MAP, "default").items]
    return bought, running(world, "web"), running(world, "db"), notes


def test_r25_in_whatever_order_controllers_run_the_end_is_the_same() -> None:
    assert len({repr(at_rest(seed)) for seed in range(8)}) == 1


class OrderBook:
    """Writes down what it saw, one after the other, and so what happened to come first."""

    name = "order-book"
    sources: Sequence[Source] = (Source(kinds.NODE_CLAIM, singleton), Source(kinds.POD, singleton))

    def __init__(self, surroundings: Surroundings) -> None:
        self.kube = surroundings.kube
        self.last: list[str] = []

    def reconcile(self, request: Request) -> Result:
        node_names = [pod["spec"].get("nodeName", "") for pod in self.kube.list(kinds.POD).items]
        self.last.append(f"{len(node_names)}:{sum(map(bool, node_names))}")
        note = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "seen"},
            "data": {"order": ",".join(self.last)},
        }
        if self.kube.list(kinds.CONFIG_MAP, "default").items:
            self.kube.patch(kinds.CONFIG_MAP, "seen", note, "default")
        else:
            self.kube.create(kinds.CONFIG_MAP, note, "default")
        return DONE


def counting(surroundings: Surroundings) -> Operator:
    operator = karpy(surroundings)
    operator.controllers = (*operator.controllers, OrderBook(surroundings))
    return operator


def test_r25_a_controller_whose_result_depends_on_the_order_is_caught() -> None:
    assert len({repr(at_rest(seed, counting)) for seed in range(4)}) > 1


class Locks:
    """Makes locks that note in which order they are taken by one another's holders."""

    def __init__(self) -> None:
        self.after: dict[str, set[str]] = defaultdict(set)
        self.held: list[str] = []
        self.count = 0

    def make(self) -> Noted:
        self.count += 1
        return Noted(self, f"lock {self.count}")

    @property
    def cycle(self) -> bool:
        """Whether two holders may wait for each other."""

        def reaches(name: str, target: str, seen: frozenset[str]) -> bool:
            return any(
                each == target or (each not in seen and reaches(each, target, seen | {each}))
                for each in self.after[name]
            )

        return any(reaches(name, name, frozenset()) for name in list(self.after))


class Noted:
    def __init__(self, locks: Locks, name: str) -> None:
        self.locks = locks
        self.name = name
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        for name in self.locks.held:
            if name != self.name:
                self.locks.after[name].add(self.name)
        self.locks.held.append(self.name)
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()
        self.locks.held.remove(self.name)


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> Locks:
    """All locks that karpy makes from now on, but for those of the standard library."""
    made = Locks()
    for module in ("karpy.state.cluster", "karpy.sim.cloud"):
        monkeypatch.setattr(f"{module}.threading", types.SimpleNamespace(RLock=made.make, Lock=made.make))
    return made


def test_r25_no_two_locks_are_ever_taken_in_both_orders(locks: Locks) -> None:
    world = world_of(karpy, app(replicas=4))
    world.run(2 * MINUTE)
    scale(world, "web", 0)
    world.run(5 * MINUTE)
    assert locks.count >= 2
    assert not locks.cycle


class Hydration:
    """Takes the lock of the state and then that of the cloud, and elsewhere the other way round."""

    name = "hydration"
    sources: Sequence[Source] = (Source(kinds.NODE_POOL, singleton),)

    def __init__(self, operator: Operator, cloud: Any) -> None:
        self.one, self.two = operator.state._lock, cloud._lock

    def reconcile(self, request: Request) -> Result:
        one: Any = self.one
        with one, self.two:
            pass
        with self.two, one:
            pass
        return DONE


def test_r25_a_controller_that_takes_locks_in_both_orders_is_caught(locks: Locks) -> None:
    world = World()

    def hydrating(surroundings: Surroundings) -> Operator:
        operator = karpy(surroundings)
        operator.controllers = (*operator.controllers, Hydration(operator, world.cloud))
        return operator

    world.start(hydrating)
    world.apply([pool()])
    world.run(1)
    assert locks.cycle


def test_r25_the_state_may_be_fed_and_read_from_several_threads() -> None:
    """What is read is always a whole: every pod of a node that is there, and none twice."""
    operator = Operator(kube=World(actors=False).api, providers=[])
    state, failures = operator.state, list[BaseException]()
    nodes: list[RawObject] = [
        {"metadata": {"name": f"n{number}"}, "spec": {"providerID": f"x://{number}"}} for number in range(8)
    ]

    def feed(node: RawObject) -> None:
        name = node["metadata"]["name"]
        for turn in range(60):
            state.apply(WatchEvent(EventType.ADDED, kinds.NODE, node))
            pod = {
                "metadata": {"name": f"{name}-{turn}", "namespace": "d", "uid": f"{name}-{turn}"},
                "spec": {"nodeName": name},
            }
            state.apply(WatchEvent(EventType.ADDED, kinds.POD, pod))

    def read() -> None:
        try:
            for _ in range(200):
                for view in state.snapshot().nodes:
                    keys = [pod.key for pod in view.pods]
                    assert len(keys) == len(set(keys))
        except BaseException as error:  # told by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=feed, args=(node,)) for node in nodes] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert sum(len(view.pods) for view in state.snapshot().nodes) == 8 * 60
