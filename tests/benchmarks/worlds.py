"""The simulated world: how much faster than the wall clock it runs, at rest and under churn; and the demonstration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from measure import Measure, duration, rate, seconds

from karpy.objects.kinds import DEPLOYMENT, NODE
from karpy.operator import Operator
from karpy.scenarios.catalogue import INFLATE, load_scenario
from karpy.scenarios.rehearsal import Rehearsal, Silence, installed_models
from karpy.sim.weather import Hazard, Weather
from karpy.sim.world import World
from karpy.testing.builders import selector

NODES, PODS = 100, 1_000
HOUR = 3_600
DAY_APPS, DAY_PODS, DAY_NODES = 30, 3_000, 200
INTERRUPTED_PER_HOUR = 0.01
ROLLOUT_EVERY_S = 600
BROUGHT_NODES, BROUGHT_PODS = 1_000, 5_000
REST_S = 600
CHURN_S = 600


def measures() -> Iterator[Measure]:
    yield duration(f"world: 24 h of rollouts and interruptions, {DAY_NODES} nodes and {DAY_PODS:,} pods", day, runs=1)
    world = crowded(heartbeats=False)
    name = f"{NODES} nodes and {PODS:,} pods"
    world.run(HOUR)  # the events of the beginning have expired
    yield rate(f"world: {name}, at rest", "virtual s/s", HOUR, lambda: world.run(HOUR), runs=3)
    yield rate(f"world: {name}, 10 % replaced each minute", "virtual s/s", CHURN_S, lambda: churn(world), runs=3)
    writing = crowded(heartbeats=True)
    yield rate(
        f"world: {name}, at rest, heartbeats written", "virtual s/s", REST_S, lambda: writing.run(REST_S), runs=3
    )
    yield rate("world: machines joined as nodes", "nodes/s", BROUGHT_NODES, launched, runs=3)
    crowdless = launched()
    yield rate(
        f"world: pods brought up on {BROUGHT_NODES:,} nodes", "pods/s", BROUGHT_PODS, lambda: bring(crowdless), runs=1
    )
    for scenario in ("eks", "aks-nap"):
        yield duration(f"demo: {scenario} at full speed", lambda s=scenario: seconds(lambda: demonstrate(s)))


def crowded(*, heartbeats: bool) -> World:
    """A world in which karpy has brought ``NODES`` nodes for ``PODS`` pods, ten to a node."""
    world = World(0, installed_models(), heartbeats=heartbeats)
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    world.apply([*pool(), deployment(PODS)])
    assert world.run_until(lambda: running(world) == PODS, HOUR), f"{running(world)} pods run"
    world.run(120)  # whatever can be consolidated has been
    return world


def launched() -> World:
    """A world whose machines have all joined, without an autoscaler."""
    world = World(0)
    node_class = next(pool())
    for _ in range(BROUGHT_NODES):
        world.cloud.add_machine("s-12x-amd64", "sim-1a", node_class)
    world.run(120)
    assert len(world.api.list(NODE).items) == BROUGHT_NODES
    return world


def bring(world: World) -> None:
    """Pods, from the creation of a Deployment until all of them are ready."""
    world.apply([_app("web", BROUGHT_PODS)])
    assert world.run_until(lambda: _ready(world, ["web"]) == BROUGHT_PODS, HOUR)


def day() -> float:
    """Seconds that a day takes: a Deployment of 100 pods is rolled out every ten minutes, and machines are interrupted."""
    world = World(
        0, installed_models(), weather=Weather(hazards=(Hazard("interruption", per_hour=INTERRUPTED_PER_HOUR),))
    )
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    names = [f"app-{index}" for index in range(DAY_APPS)]
    world.apply([*pool(), *(_app(name, DAY_PODS // DAY_APPS) for name in names)])
    assert world.run_until(lambda: _ready(world, names) == DAY_PODS, HOUR)
    assert len(world.api.list(NODE).items) >= DAY_NODES

    def live() -> None:
        for number in range(24 * HOUR // ROLLOUT_EVERY_S):
            mark = {"rollout": str(number)}
            patch = {"spec": {"template": {"metadata": {"annotations": mark}}}}
            world.api.patch(DEPLOYMENT, names[number % len(names)], patch, "default")
            world.run(ROLLOUT_EVERY_S)

    taken = seconds(live)
    assert _ready(world, names) == DAY_PODS, f"{_ready(world, names)} pods run"
    return taken


def _app(name: str, replicas: int) -> dict[str, Any]:
    obj = deployment(replicas)
    own = {"app": name}
    obj["metadata"]["name"] = name
    obj["spec"]["selector"] = {"matchLabels": own}
    obj["spec"]["template"]["metadata"] = {"labels": own}
    obj["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "770m"}  # 15 to a node
    return obj


def _ready(world: World, names: list[str]) -> int:
    statuses = (world.api.get(DEPLOYMENT, name, "default").get("status", {}) for name in names)
    return sum(int(status.get("readyReplicas", 0)) for status in statuses)


def pool(expire_after: str = "Never") -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "sim.karpy.dev/v1", "kind": "SimNodeClass", "metadata": {"name": "default"}}
    reference = {"group": "sim.karpy.dev", "kind": "SimNodeClass", "name": "default"}
    spec = {
        "requirements": [selector("node.kubernetes.io/instance-type", "In", "s-12x-amd64")],
        "nodeClassRef": reference,
    }
    yield {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": {"spec": {**spec, "expireAfter": expire_after}}},
    }


def deployment(replicas: int) -> dict[str, Any]:
    obj = copy.deepcopy(dict(INFLATE))
    obj["spec"]["replicas"] = replicas
    obj["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1170m"}
    return obj


def running(world: World) -> int:
    return int(world.api.get(DEPLOYMENT, "inflate", "default").get("status", {}).get("readyReplicas", 0))


def churn(world: World) -> None:
    """A tenth of the pods go and come back, every minute."""
    for minute in range(CHURN_S // 60):
        replicas = PODS - PODS // 10 if minute % 2 else PODS
        world.api.patch(DEPLOYMENT, "inflate", {"spec": {"replicas": replicas}}, "default")
        world.run(60)


def demonstrate(name: str) -> None:
    summary = Rehearsal(load_scenario(name)).play()
    assert summary.reached_end
