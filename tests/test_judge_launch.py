"""The judge of launches is judged: a sound launch is broken in one way at a time, and none of them may pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, Offering
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.scheduling.plan import Launch, Plan, PricedType
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    make_catalog,
    make_claim,
    make_daemon_set,
    make_instance_type,
    make_nodepool,
    make_pod,
    selector,
)
from tests.judge import violations

Json = dict[str, Any]
Change = Callable[[Launch], Launch]

GPU = {"key": "gpu", "effect": "NoSchedule"}
ONE = {"cpu": "1", "memory": "1Gi"}


class Case:
    """A cluster, and the plan for it as solve makes it."""

    def __init__(self, *objects: Json, types: list[InstanceType] | None = None) -> None:
        self.snapshot = Snapshot.from_objects(objects)
        self.catalog: Catalog = make_catalog(self.snapshot, types)
        self.plan = solve(self.snapshot, self.catalog)

    def judge(self, plan: Plan | None = None) -> list[str]:
        return violations(plan or self.plan, self.snapshot, self.catalog, self.snapshot.to_place)

    def changed(self, change: Change) -> list[str]:
        """What the judge says when each launch is changed so; of the plan as it is, nothing."""
        assert self.judge() == []
        return self.judge(attrs.evolve(self.plan, launches=tuple(change(launch) for launch in self.plan.launches)))


def with_types(*names: str) -> Change:
    return lambda launch: attrs.evolve(launch, instance_types=tuple(PricedType(name, 0.02) for name in names))


def and_type(name: str, price: float) -> Change:
    return lambda launch: attrs.evolve(
        launch,
        instance_types=tuple(
            sorted((*launch.instance_types, PricedType(name, price)), key=lambda t: (t.price, t.name))
        ),
    )


def asking(**given: Any) -> Change:
    return lambda launch: attrs.evolve(launch, **given)


def without(*keys: str) -> Change:
    return lambda launch: attrs.evolve(launch, requirements=launch.requirements.without(*keys))


def also(*requirements: Requirement) -> Change:
    return lambda launch: attrs.evolve(launch, requirements=launch.requirements & Requirements(requirements))


def taking(port: int) -> Json:
    return {"containers": [{"name": "main", "ports": [{"containerPort": port, "hostPort": port}], "resources": {}}]}


# What is said of all types together


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (with_types(), "0 types"),
        (with_types("c2", "unheard-of"), "not sold"),
        (with_types("a1", "a1"), "named twice"),
        (lambda launch: asking(instance_types=launch.instance_types[::-1])(launch), "order"),
        (lambda launch: asking(requests=launch.requests - {"cpu": 1})(launch), "the claim asks for"),
        (asking(requests=Resources()), "the claim asks for"),
        (asking(pod_uids=("somebody-else",)), "uids"),
        (asking(pods=(), pod_uids=()), "accounted"),
        (also(Requirement.in_(labels.HOSTNAME, "hostname-placeholder-1")), "before it is a node"),
        (also(Requirement.in_(labels.REGISTERED, "true")), "before it is a node"),
        (without(labels.NODEPOOL), "leave the pool's"),
    ],
)
def test_a_launch_that_says_something_else_than_it_should_is_found(change: Change, word: str) -> None:
    found = Case(make_nodepool(), make_pod(requests=ONE)).changed(change)
    assert any(word in text for text in found), found


@pytest.mark.parametrize("price", [0.0, 0.019, 0.021, float("inf"), float("nan")])
def test_a_price_that_is_not_the_cheapest_of_what_can_be_had_is_found(price: float) -> None:
    assert Case(make_nodepool(), make_pod(requests=ONE)).changed(asking(instance_types=(PricedType("c1", price),)))


def test_requirements_of_the_pool_that_the_launch_forgets_are_found() -> None:
    pool = make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a")], labels={"team": "a"})
    case = Case(pool, make_pod(requests=ONE))
    assert case.changed(without(labels.ZONE))
    assert case.changed(without("team"))


@pytest.mark.parametrize(
    ("key", "spec"),
    [
        (labels.ZONE, {"nodeSelector": {labels.ZONE: "zone-b"}}),
        (labels.CAPACITY_TYPE, {"nodeSelector": {labels.CAPACITY_TYPE: "on-demand"}}),
        ("team", {"nodeSelector": {"team": "a"}}),
        (
            labels.ZONE,
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [selector(labels.ZONE, "NotIn", "zone-a")]}]
                        }
                    }
                }
            },
        ),
    ],
)
def test_what_a_pod_asks_for_and_the_launch_forgets_is_found(key: str, spec: Json) -> None:
    pool = make_nodepool(requirements=[selector("team", "In", "a", "b")])
    one = make_instance_type(
        "one", offerings=[Offering(z, c, 1.0) for z in ("zone-a", "zone-b") for c in ("spot", "on-demand")]
    )
    case = Case(pool, make_pod(spec=spec), types=[one])
    found = case.changed(
        lambda launch: attrs.evolve(
            launch,
            requirements=Requirements(
                [
                    *(launch.requirements.without(key)).values(),
                    *(r for r in launch.pool.requirements.values() if r.key == key),
                ]
            ),
        )
    )
    assert any("may not run" in text for text in found), found


@pytest.mark.parametrize("term", [{}, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}])
def test_a_pod_whose_affinity_no_new_node_meets_is_found_on_one(term: Json) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    plain = Case(make_nodepool(), make_pod(requests=ONE))
    case = Case(make_nodepool(), make_pod(requests=ONE, spec={"affinity": {"nodeAffinity": required}}))
    assert case.plan.launches == ()
    assert any("may not run" in text for text in case.judge(plain.plan))


def test_a_taint_that_a_pod_does_not_bear_is_found() -> None:
    case = Case(make_nodepool(), make_pod(requests=ONE))
    tainted = Case(make_nodepool(taints=[GPU]), make_pod(requests=ONE, spec={"tolerations": [{"operator": "Exists"}]}))
    pool = tainted.snapshot.pools[0]
    assert case.changed(asking(pool=pool))


@pytest.mark.parametrize("spec", [{"replicas": 1}, None])
def test_a_pool_that_launches_nothing_for_pods_is_found(spec: Json | None) -> None:
    plan = Case(make_nodepool(), make_pod(requests=ONE)).plan
    pools = [] if spec is None else [make_nodepool(spec=spec)]
    case = Case(*pools, make_pod(requests=ONE))
    assert any("no pool" in text for text in case.judge(plan))


def test_too_few_different_types_are_found() -> None:
    pool = make_nodepool(requirements=[selector(labels.INSTANCE_TYPE, "Exists", min_values=8)])
    case = Case(pool, make_pod(requests=ONE))
    assert case.changed(lambda launch: asking(instance_types=launch.instance_types[:8])(launch)) == []
    assert case.changed(lambda launch: asking(instance_types=launch.instance_types[:7])(launch))


def test_a_number_of_types_that_was_lowered_in_secret_or_too_little_is_found() -> None:
    def lowered(least: int, *, told: bool) -> Change:
        entry = Requirement.exists(labels.INSTANCE_TYPE, least)
        return lambda launch: attrs.evolve(
            launch,
            requirements=Requirements([*launch.requirements.without(labels.INSTANCE_TYPE).values(), entry]),
            instance_types=launch.instance_types[:5],
            min_values_relaxed=told,
        )

    pool = make_nodepool(requirements=[selector(labels.INSTANCE_TYPE, "Exists", min_values=8)])
    case = Case(pool, make_pod(requests=ONE))
    assert case.changed(lowered(5, told=True)) == []
    assert case.changed(lowered(6, told=True))
    assert case.changed(lowered(5, told=False))


# What is said of each type


def test_a_type_that_is_too_small_however_far_down_the_list_is_found() -> None:
    types = [make_instance_type(f"t{n:02}", price=1.0 + n, cpu="4") for n in range(30)]
    types.append(make_instance_type("tiny", price=99.0, cpu="1"))
    case = Case(make_nodepool(), make_pod(requests={"cpu": "3"}), types=types)
    assert case.changed(and_type("tiny", 39.6))


def test_a_type_that_the_launch_itself_excludes_is_found() -> None:
    """Nobody but the pool asks for the architecture; no offering says what it is."""
    case = Case(make_nodepool(requirements=[selector(labels.ARCH, "In", "amd64")]), make_pod(requests=ONE))
    assert any("is not among" in text for text in case.changed(and_type("a2", 0.032)))


@pytest.mark.parametrize(
    "offerings",
    [
        [Offering("zone-a", "spot", 0.5, available=False)],
        [Offering("zone-b", "spot", 0.5)],
        [],
    ],
)
def test_a_type_that_cannot_be_had_here_and_now_is_found(offerings: list[Offering]) -> None:
    types = [make_instance_type("here", price=0.1), make_instance_type("not-here", offerings=offerings)]
    case = Case(
        make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a")]), make_pod(requests=ONE), types=types
    )
    assert case.changed(and_type("not-here", 0.5))
    assert case.changed(and_type("not-here", float("inf")))


@pytest.mark.parametrize(
    "where",
    [{}, {"nodeSelector": {labels.ARCH: "amd64"}}, {"nodeSelector": {labels.ZONE: "zone-b"}}],
)
def test_a_type_without_room_for_the_daemons_that_it_will_run_is_found(where: Json) -> None:
    """Also when they run in one of the zones only, which the machine may come to."""
    case = Case(make_nodepool(), make_daemon_set(requests=ONE, spec=where), make_pod(requests={"cpu": "2"}))
    assert any("does not hold" in text for text in case.changed(and_type("c2", 0.04)))


def test_a_daemon_that_cannot_come_takes_no_room() -> None:
    where = {"nodeSelector": {labels.ZONE: "zone-b"}}
    pod = make_pod(requests={"cpu": "2"}, spec={"nodeSelector": {labels.ZONE: "zone-a"}})
    assert Case(make_nodepool(), make_daemon_set(requests=ONE, spec=where), pod).changed(and_type("c2", 0.04)) == []


@pytest.mark.parametrize(
    "where", [{}, {"nodeSelector": {labels.ARCH: "amd64"}}, {"nodeSelector": {labels.ZONE: "zone-b"}}]
)
def test_a_port_that_a_daemon_takes_is_found(where: Json) -> None:
    plain = Case(make_nodepool(), make_pod(spec=taking(80)))
    case = Case(make_nodepool(), make_daemon_set(spec={**taking(80), **where}), make_pod(spec=taking(80)))
    assert any("port" in text for text in case.judge(plain.plan))


# What launches take together


def launched_twice(plan: Plan) -> Plan:
    """One machine for each pod instead of one for both."""
    (launch,) = plan.launches
    singles = (
        attrs.evolve(launch, pods=(key,), pod_uids=(uid,))
        for key, uid in zip(launch.pods, launch.pod_uids, strict=True)
    )
    return attrs.evolve(plan, launches=tuple(singles))


@pytest.mark.parametrize("limits", [{"nodes": "1"}, {"cpu": "31"}, {"memory": "127Gi"}])
def test_a_limit_that_the_launches_exceed_together_is_found(limits: Json) -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "100m"}) for n in range(2)]
    assert Case(make_nodepool(), *pods).judge(launched_twice(Case(make_nodepool(), *pods).plan)) == []
    limited = Case(make_nodepool(limits=limits), *pods)
    assert any("limits" in text for text in limited.judge(launched_twice(Case(make_nodepool(), *pods).plan)))


@pytest.mark.parametrize("reached", [(), ("Launched",)])
def test_machines_on_their_way_count_against_the_limit(reached: tuple[str, ...]) -> None:
    wanted = {"requirements": [selector(labels.INSTANCE_TYPE, "In", "c2", "c8")], "resources": {"requests": {}}}
    claim = make_claim("young", reached=reached, instance_type="c8", room={"cpu": "8", "pods": "0"}, spec=wanted)
    pod = make_pod(requests=ONE)
    plan = Case(make_nodepool(requirements=[selector(labels.INSTANCE_TYPE, "In", "c2")]), pod).plan

    def told(limit: str) -> list[str]:
        pool = make_nodepool(limits={"cpu": limit}, requirements=[selector(labels.INSTANCE_TYPE, "In", "c2")])
        return Case(pool, claim, pod).judge(plan)

    assert told("10") == []
    assert any("limits" in text for text in told("9"))


def reserved(reservation: str, capacity: int, zone: str = "zone-a") -> Offering:
    return Offering(zone, labels.RESERVED, 0.01, reservation_id=reservation, reservation_capacity=capacity)


@pytest.mark.parametrize(
    ("offerings", "enough"),
    [
        ([reserved("r1", 3)], True),
        ([reserved("r1", 2)], False),
        ([reserved("r1", 1), reserved("r2", 2)], True),
        ([reserved("r1", 1), reserved("r2", 1)], False),
        ([reserved("r1", 9), reserved("r1", 1)], False),
        ([reserved("r1", 1), reserved("r2", 9, "zone-b")], True),
    ],
)
def test_more_reserved_machines_than_there_are_are_found(offerings: list[Offering], enough: bool) -> None:
    pool = make_nodepool(requirements=[selector(labels.CAPACITY_TYPE, "In", labels.RESERVED)])
    pods = [make_pod(f"p{n}", requests=ONE) for n in range(3)]
    case = Case(pool, *pods, types=[make_instance_type("one", cpu="4", offerings=offerings)])
    (launch,) = case.plan.launches
    singles = tuple(
        attrs.evolve(launch, pods=(key,), pod_uids=(uid,))
        for key, uid in zip(launch.pods, launch.pod_uids, strict=True)
    )
    found = case.judge(attrs.evolve(case.plan, launches=singles))
    assert (found == []) is enough, found
