"""Pass after pass: machines that an earlier pass launched are coming up, and its pods are not bound yet."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from karpy import labels
from karpy.labels import CORE_LABELS
from karpy.lifecycle.launch import new_claim
from karpy.objects.kinds import NODE_CLAIM, POD
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.plan import Launch, Plan
from karpy.scheduling.scheduler import solve
from karpy.state.cluster import ClusterState
from karpy.testing import make_catalog, make_instance_types, make_machine, make_nodepool, make_pod
from tests.judge import plan_of, violations

Json = dict[str, Any]

WEB = {"app": "web"}
TYPES = make_instance_types()
GPU = {"key": "gpu", "effect": "NoSchedule"}


class Passes:
    """A cluster in which each pass's machines are launched as planned, at their cheapest, and stay on their way."""

    def __init__(self, *objects: Json) -> None:
        self.state = ClusterState.of(objects)
        self.count = 0

    def run(self, *pods: Json) -> Plan:
        """One pass over all pods that wait, these among them."""
        for pod in pods:
            self.state.apply(WatchEvent(EventType.ADDED, POD, pod))
        snapshot = self.state.snapshot()
        catalog = make_catalog(snapshot, TYPES)
        plan = solve(snapshot, catalog)
        assert violations(plan, snapshot, catalog, snapshot.to_place) == []
        for launch in plan.launches:
            self._launch(launch)
        return plan

    def _launch(self, launch: Launch) -> None:
        raw = new_claim(launch, CORE_LABELS)
        self.count += 1
        name = f"claim-{self.count}"
        raw["metadata"] |= {"name": name, "uid": name}
        self.state.apply(WatchEvent(EventType.ADDED, NODE_CLAIM, raw))
        self.state.nominate(name, launch.pod_uids, until=0.0)
        chosen = launch.instance_types[0].name
        machine = TYPES.by_name(chosen)
        assert machine is not None
        offering = min(
            (o for o in machine.offerings if o.requirements.intersects(launch.requirements) is None),
            key=lambda o: (o.price, o.zone),
        )
        raw["metadata"]["labels"] |= {
            labels.INSTANCE_TYPE: chosen,
            labels.ARCH: {"a": "arm64", "c": "amd64"}[chosen[0]],
            labels.ZONE: offering.zone,
            labels.CAPACITY_TYPE: offering.capacity_type,
        }
        raw["status"] = {
            "providerID": f"test:///{name}",
            "capacity": machine.capacity.to_dict(),
            "allocatable": machine.allocatable.to_dict(),
            "conditions": [{"type": "Launched", "status": "True"}],
        }
        self.state.apply(WatchEvent(EventType.MODIFIED, NODE_CLAIM, raw))

    def bind(self, pod: Json, claim: str) -> None:
        """What kube-scheduler does once the node is there."""
        bound = {**pod, "spec": {**pod["spec"], "nodeName": claim}, "status": {"phase": "Running"}}
        self.state.apply(WatchEvent(EventType.MODIFIED, POD, bound))

    def placed(self, plan: Plan) -> Counter[str]:
        """How many pods are on each machine, now and after this pass."""
        return Counter({nomination.node: len(nomination.pods) for nomination in plan.nominations})

    def zones(self, plan: Plan) -> Counter[str]:
        """How many pods are in each zone, by the claims that were nominated and the launches of this pass."""
        found: Counter[str] = Counter()
        for nomination in plan.nominations:
            view = self.state.snapshot().node(nomination.node)
            assert view is not None
            found[view.labels[labels.ZONE]] += len(nomination.pods)
        for launch in plan.launches:
            found[str(launch.requirements.labels()[labels.ZONE])] += len(launch.pods)
        return found


def spread(key: str) -> Json:
    given = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**given, "labelSelector": {"matchLabels": WEB}}]}


def near(key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def web(first: int, count: int, spec: Json, cpu: str = "1") -> list[Json]:
    return [make_pod(f"web-{n:02}", labels=WEB, requests={"cpu": cpu}, spec=spec) for n in range(first, first + count)]


@pytest.mark.core("CORE-083")
def test_zones_stay_even_over_passes() -> None:
    passes = Passes(make_nodepool())
    for step, evenly in enumerate(([1, 1, 2], [2, 3, 3], [4, 4, 4])):
        found = passes.zones(passes.run(*web(4 * step, 4, spread(labels.ZONE))))
        assert sorted(found.values()) == evenly


@pytest.mark.core("CORE-084")
def test_hosts_stay_even_over_passes() -> None:
    passes = Passes(make_nodepool())
    for step in (1, 2, 3):
        plan = passes.run(*web(4 * step, 4, spread(labels.HOSTNAME), "100m"))
        assert [len(launch.pods) for launch in plan.launches] == [1, 1, 1, 1]
        assert set(passes.placed(plan).values()) <= {1}


@pytest.mark.core("CORE-105")
@pytest.mark.parametrize("bound", [False, True])
def test_pods_that_want_each_other_stay_in_the_zone_that_the_first_pass_chose(bound: bool) -> None:
    passes = Passes(make_nodepool())
    (first,) = web(0, 1, near(labels.ZONE), "15")
    (launch,) = passes.run(first).launches
    zone = launch.requirements.labels()[labels.ZONE]
    if bound:
        passes.bind(first, "claim-1")
    for step in (1, 2):
        found = passes.zones(passes.run(*web(step, 1, near(labels.ZONE), "15")))
        assert set(found) == {zone}


@pytest.mark.core("CORE-095", "CORE-311", "CORE-312")
def test_nothing_is_launched_twice_for_the_same_pods() -> None:
    passes = Passes(make_nodepool())
    assert len(passes.run(*web(0, 20, {})).launches) == 2
    for _ in range(3):
        again = passes.run()
        assert again.launches == ()
        assert sum(passes.placed(again).values()) == 20


@pytest.mark.core("CORE-085", "CORE-087")
@pytest.mark.parametrize(("on_node", "taken"), [([], True), ([GPU], False)])
def test_a_node_that_joined_without_its_taint_takes_pods_that_would_not_bear_it(
    on_node: list[Json], taken: bool
) -> None:
    machine = make_machine("m", reached=("Launched", "Registered"), taints=on_node, spec={"taints": [GPU]})
    plan = plan_of(make_nodepool(), *machine, make_pod())
    assert bool(plan.nominations) is taken


@pytest.mark.core("CORE-126", "CORE-325")
@pytest.mark.parametrize("reached", [("Launched", "Registered"), ("Launched", "Registered", "Initialized")])
def test_the_pods_of_a_machine_that_goes_while_it_comes_up_share_one_new_machine(reached: tuple[str, ...]) -> None:
    machine = make_machine("m", reached=reached, metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"})
    pods = [make_pod(f"p{n}", node="m", requests={"cpu": "1"}) for n in range(3)]
    plan = plan_of(make_nodepool(), *machine, *pods)
    assert plan.nominations == ()
    assert [launch.pods for launch in plan.launches] == [("default/p0", "default/p1", "default/p2")]


@pytest.mark.core("CORE-078", "CORE-094")
def test_room_on_a_machine_that_is_coming_up_is_used_by_the_next_pass() -> None:
    passes = Passes(make_nodepool())
    passes.run(*web(0, 1, {}, "9"))
    plan = passes.run(*web(1, 6, {}))
    assert plan.launches == ()
    assert passes.placed(plan) == {"claim-1": 7}
