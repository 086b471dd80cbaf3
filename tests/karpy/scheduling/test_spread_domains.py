"""Which domains there are to spread over, and which pods count in them."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.testing import make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

Json = dict[str, Any]

WEB = {"app": "web"}
SMALL = {"cpu": "1", "memory": "4Gi", "pods": "9"}
RED, BLUE = ({"key": colour, "effect": "NoSchedule"} for colour in ("red", "blue"))


def spread(key: str = labels.ZONE, skew: int = 1, **more: Any) -> Json:
    given = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**given, "labelSelector": {"matchLabels": WEB}, **more}]}


def web(count: int, spec: Json, **more: Any) -> list[Json]:
    more = {"labels": WEB, "requests": {"cpu": "1"}, **more}
    return [make_pod(f"web-{number}", spec=spec, **more) for number in range(count)]


def required(*expressions: Json) -> Json:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def pool(name: str, *zones: str, **more: Any) -> Json:
    return make_nodepool(name, requirements=[selector(labels.ZONE, "In", *zones)], **more)


def holding(counts: dict[str, int], key: str = labels.ZONE) -> list[Json]:
    """Full nodes with so many of the pods that are counted, one node a domain."""
    objects = []
    for name, count in counts.items():
        objects.append(make_node(f"n-{name}", labels={key: name}, room={"cpu": "100m", "pods": "20"}))
        objects += [make_pod(f"r-{name}-{n}", node=f"n-{name}", labels=WEB) for n in range(count)]
    return objects


def by(key: str, plan: Plan) -> dict[str, int]:
    """How many pods come to new machines, by domain."""
    found: dict[str, int] = {}
    for launch in plan.launches:
        domain = launch.requirements.labels()[key]
        found[domain] = found.get(domain, 0) + len(launch.pods)
    return found


def waiting(plan: Plan) -> int:
    return sum(len(part.pods) for part in plan.unschedulable)


# Domains that pools make


@pytest.mark.core("CORE-160", "CORE-161")
@pytest.mark.parametrize(
    ("requirements", "given"),
    [
        ([], {labels.ZONE: "zone-b"}),
        ([selector(labels.ZONE, "In", "zone-a", "zone-b")], {labels.ZONE: "zone-b"}),
        ([selector(labels.ZONE, "NotIn", "zone-a")], {labels.ZONE: "zone-b"}),
    ],
)
def test_a_label_of_the_pool_leaves_one_domain(requirements: list[Json], given: dict[str, str]) -> None:
    only = make_nodepool(requirements=requirements, labels=given)
    assert by(labels.ZONE, plan_of(only, *web(4, spread()))) == {"zone-b": 4}


@pytest.mark.core("CORE-162")
def test_the_domains_of_all_pools_add_up() -> None:
    labelled = make_nodepool("a", labels={labels.ZONE: "zone-a"})
    plan = plan_of(labelled, pool("b", "zone-b"), make_nodepool("c", labels={labels.ZONE: "zone-c"}), *web(6, spread()))
    assert by(labels.ZONE, plan) == {"zone-a": 2, "zone-b": 2, "zone-c": 2}
    assert {launch.pool.name for launch in plan.launches} == {"a", "b", "c"}


@pytest.mark.core("CORE-189")
def test_values_that_the_pool_makes_up_are_domains() -> None:
    racks = make_nodepool(requirements=[selector("rack", "In", "r1", "r2", "r3")])
    assert by("rack", plan_of(racks, *web(6, spread("rack")))) == {"r1": 2, "r2": 2, "r3": 2}


@pytest.mark.core("CORE-179", "CORE-186")
@pytest.mark.parametrize(
    ("requirements", "found"),
    [
        ([], {"spot": 2, "on-demand": 2}),
        ([selector(labels.CAPACITY_TYPE, "In", "spot", "on-demand")], {"spot": 2, "on-demand": 2}),
        ([selector(labels.CAPACITY_TYPE, "In", "spot")], {"spot": 4}),
        ([selector(labels.CAPACITY_TYPE, "NotIn", "spot")], {"on-demand": 4}),
    ],
)
def test_the_pool_says_which_capacity_types_there_are(requirements: list[Json], found: dict[str, int]) -> None:
    plan = plan_of(make_nodepool(requirements=requirements), *web(4, spread(labels.CAPACITY_TYPE)))
    assert by(labels.CAPACITY_TYPE, plan) == found


# Domains that the pod itself rules out do not count


@pytest.mark.core("CORE-192", "CORE-193", "CORE-194")
@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"nodeSelector": {labels.ZONE: "zone-a"}}, {"zone-a": 4}),
        (required(selector(labels.ZONE, "In", "zone-a", "zone-b")), {"zone-a": 2, "zone-b": 2}),
        (required(selector(labels.ZONE, "NotIn", "zone-a")), {"zone-b": 2, "zone-c": 2}),
        (required(selector(labels.ZONE, "NotIn", "zone-a", "zone-b")), {"zone-c": 4}),
    ],
)
def test_zones_that_the_pod_does_not_want(spec: Json, found: dict[str, int]) -> None:
    assert by(labels.ZONE, plan_of(make_nodepool(), *web(4, {**spread(), **spec}))) == found


@pytest.mark.core("CORE-185", "CORE-196", "CORE-197")
@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"nodeSelector": {labels.CAPACITY_TYPE: "on-demand"}}, {"on-demand": 4}),
        (required(selector(labels.CAPACITY_TYPE, "In", "spot")), {"spot": 4}),
        (required(selector(labels.CAPACITY_TYPE, "NotIn", "spot")), {"on-demand": 4}),
        (required(selector(labels.CAPACITY_TYPE, "Exists")), {"spot": 2, "on-demand": 2}),
    ],
)
def test_capacity_types_that_the_pod_does_not_want(spec: Json, found: dict[str, int]) -> None:
    plan = plan_of(make_nodepool(), *web(4, {**spread(labels.CAPACITY_TYPE), **spec}))
    assert by(labels.CAPACITY_TYPE, plan) == found


# Domains that are there but can take nothing hold the others back


@pytest.mark.core("CORE-164")
def test_a_domain_that_is_ahead_takes_more_when_it_is_the_only_one_left() -> None:
    plan = plan_of(pool("c", "zone-c"), *holding({"zone-a": 1, "zone-b": 1}), *web(10, spread(skew=5)))
    assert by(labels.ZONE, plan) == {"zone-c": 6}
    assert waiting(plan) == 4


@pytest.mark.core("CORE-165")
def test_where_the_skew_is_too_large_already_only_the_emptiest_take_pods() -> None:
    plan = plan_of(make_nodepool(), *holding({"zone-a": 9, "zone-b": 1}), *web(3, spread()))
    assert by(labels.ZONE, plan) == {"zone-b": 1, "zone-c": 2}


@pytest.mark.core("CORE-166", "CORE-167")
def test_a_domain_known_from_a_node_holds_the_others_back() -> None:
    plan = plan_of(pool("bc", "zone-b", "zone-c"), *holding({"zone-a": 1}), *web(10, spread()))
    assert by(labels.ZONE, plan) == {"zone-b": 2, "zone-c": 2}
    assert waiting(plan) == 6


@pytest.mark.core("CORE-166")
def test_a_domain_of_a_pool_that_may_not_grow_any_more_holds_the_others_back() -> None:
    full = pool("full", "zone-a", limits={"nodes": "0"})
    plan = plan_of(full, pool("bc", "zone-b", "zone-c"), *web(10, spread()))
    assert by(labels.ZONE, plan) == {"zone-b": 1, "zone-c": 1}
    assert waiting(plan) == 8


@pytest.mark.core("CORE-180")
def test_a_capacity_type_that_can_no_longer_be_had_holds_the_other_back() -> None:
    on_demand = make_nodepool(requirements=[selector(labels.CAPACITY_TYPE, "In", "on-demand")])
    plan = plan_of(on_demand, *holding({"spot": 1}, labels.CAPACITY_TYPE), *web(5, spread(labels.CAPACITY_TYPE)))
    assert by(labels.CAPACITY_TYPE, plan) == {"on-demand": 2}
    assert waiting(plan) == 3


# Which pods count


@pytest.mark.core("CORE-168", "CORE-182")
@pytest.mark.parametrize(
    ("pod", "node", "counts"),
    [
        ({"labels": WEB}, {labels.CAPACITY_TYPE: "spot", labels.ZONE: "zone-a"}, True),
        ({"labels": {"app": "db"}}, {labels.CAPACITY_TYPE: "spot", labels.ZONE: "zone-a"}, False),
        ({}, {labels.CAPACITY_TYPE: "spot", labels.ZONE: "zone-a"}, False),
        ({"labels": WEB}, {}, False),
        ({"labels": WEB, "namespace": "other"}, {labels.CAPACITY_TYPE: "spot", labels.ZONE: "zone-a"}, False),
        (
            {"labels": WEB, "status": {"phase": "Succeeded"}},
            {labels.CAPACITY_TYPE: "spot", labels.ZONE: "zone-a"},
            False,
        ),
        ({"labels": WEB, "status": {"phase": "Failed"}}, {labels.CAPACITY_TYPE: "spot", labels.ZONE: "zone-a"}, False),
    ],
)
@pytest.mark.parametrize("key", [labels.CAPACITY_TYPE, labels.ZONE])
def test_only_pods_of_the_kind_that_run_on_a_node_with_the_key_count(
    key: str, pod: Json, node: dict[str, str], counts: bool
) -> None:
    running = make_pod("r", node="n", **pod)
    full = make_node("n", labels=node, room={"cpu": "100m", "pods": "9"})
    # Without a pod that counts the cheapest is chosen, which is spot in zone-a.
    plan = plan_of(make_nodepool(), full, running, *web(1, spread(key)))
    assert (by(key, plan).keys() & {"spot", "zone-a"} == set()) is counts


@pytest.mark.core("CORE-168", "CORE-182")
def test_pods_that_are_going_and_pods_that_wait_do_not_count() -> None:
    going = make_pod("going", node="n-spot", labels=WEB)
    going["metadata"]["deletionTimestamp"] = "2026-01-05T09:00:00Z"
    unbound = make_pod("unbound", labels=WEB, status={"conditions": []})
    plan = plan_of(
        make_nodepool(),
        *holding({"spot": 0}, labels.CAPACITY_TYPE),
        going,
        unbound,
        *web(1, spread(labels.CAPACITY_TYPE)),
    )
    assert by(labels.CAPACITY_TYPE, plan) == {"spot": 1}


@pytest.mark.core("CORE-157")
def test_a_selector_by_expressions_counts_as_one_by_labels() -> None:
    expression = {"matchExpressions": [selector("app", "In", "web", "shop"), selector("canary", "DoesNotExist")]}
    plan = plan_of(make_nodepool(), *holding({"zone-a": 1}), *web(5, spread(labelSelector=expression)))
    assert by(labels.ZONE, plan) == {"zone-a": 1, "zone-b": 2, "zone-c": 2}


@pytest.mark.core("CORE-169", "CORE-183")
@pytest.mark.parametrize(("key", "evenly"), [(labels.CAPACITY_TYPE, [3, 3]), (labels.ZONE, [2, 2, 2])])
def test_an_empty_selector_counts_every_pod_of_the_namespace(key: str, evenly: list[int]) -> None:
    spec = spread(key, labelSelector={})
    pods = [make_pod(f"p{n}", labels={"app": f"app-{n}"}, requests={"cpu": "1"}, spec=spec) for n in range(6)]
    assert sorted(by(key, plan_of(make_nodepool(), *pods)).values()) == evenly


@pytest.mark.core("CORE-170", "CORE-184")
@pytest.mark.parametrize("key", [labels.CAPACITY_TYPE, labels.ZONE])
def test_pods_that_their_own_constraint_does_not_count_may_stay_together(key: str) -> None:
    plan = plan_of(make_nodepool(), *web(5, spread(key), labels={"app": "other"}))
    assert [len(launch.pods) for launch in plan.launches] == [5]


@pytest.mark.core("CORE-170", "CORE-184")
@pytest.mark.parametrize("key", [labels.CAPACITY_TYPE, labels.ZONE])
def test_pods_that_count_each_other_are_all_placed(key: str) -> None:
    """Each kind is spread by where the other is; the judge says whether it holds at the end."""
    kinds = [("left", "right"), ("right", "left")]
    pods = [
        make_pod(
            f"{own}-{n}",
            labels={"app": own},
            requests={"cpu": "1"},
            spec=spread(key, labelSelector={"matchLabels": {"app": other}}),
        )
        for own, other in kinds
        for n in range(4)
    ]
    assert plan_of(make_nodepool(), *pods).placed == 8


def test_a_machine_that_turns_out_to_be_elsewhere_does_not_count() -> None:
    arm = {labels.ARCH: "arm64"}
    open_ones = [
        make_pod(
            f"o{n}",
            requests={"cpu": "5"},
            spec={"nodeSelector": arm, **required(selector(labels.ZONE, "In", "zone-a", "zone-b"))},
        )
        for n in range(2)
    ]
    settling = make_pod("settling", requests={"cpu": "3"}, spec={"nodeSelector": {**arm, labels.ZONE: "zone-a"}})
    counting = {**spread(labels.ARCH, labelSelector={}), "nodeSelector": {labels.ZONE: "zone-b"}}
    plan = plan_of(make_nodepool(), *open_ones, settling, *web(2, counting))
    assert plan.placed == 5


# Policies, where the domains come from pools


@pytest.mark.core("CORE-202")
@pytest.mark.parametrize("affinity_policy", ["Honor", "Ignore"])
@pytest.mark.parametrize(("taints_policy", "placed"), [("Honor", 5), ("Ignore", 1)])
def test_a_pool_behind_a_taint_gives_a_domain_or_not(taints_policy: str, affinity_policy: str, placed: int) -> None:
    tainted = make_nodepool("tainted", labels={"rack": "r2"}, taints=[RED])
    plain = make_nodepool("plain", labels={"rack": "r1"})
    policies = {"nodeTaintsPolicy": taints_policy, "nodeAffinityPolicy": affinity_policy}
    plan = plan_of(tainted, plain, *web(5, spread("rack", **policies)))
    assert by("rack", plan) == {"r1": placed}


@pytest.mark.core("CORE-203")
@pytest.mark.parametrize(
    ("bears", "found"), [("red", {"zone-a": 2, "zone-b": 2}), ("blue", {"zone-b": 2, "zone-c": 2})]
)
def test_pools_behind_different_taints_share_a_domain(bears: str, found: dict[str, int]) -> None:
    pools = [pool("red", "zone-a", "zone-b", taints=[RED]), pool("blue", "zone-b", "zone-c", taints=[BLUE])]
    spec = {**spread(nodeTaintsPolicy="Honor"), "tolerations": [{"key": bears, "operator": "Exists"}]}
    assert by(labels.ZONE, plan_of(*pools, *web(4, spec))) == found


# Several constraints, several workloads


def several(*keys: str, skew: int = 1) -> Json:
    return {
        "topologySpreadConstraints": [part for key in keys for part in spread(key, skew)["topologySpreadConstraints"]]
    }


@pytest.mark.core("CORE-190")
def test_zone_and_capacity_type_hold_together() -> None:
    plan = plan_of(make_nodepool(), *web(6, several(labels.ZONE, labels.CAPACITY_TYPE)))
    assert by(labels.ZONE, plan) == {"zone-a": 2, "zone-b": 2, "zone-c": 2}
    assert by(labels.CAPACITY_TYPE, plan) == {"spot": 3, "on-demand": 3}


@pytest.mark.core("CORE-191")
def test_host_zone_and_capacity_type_hold_together() -> None:
    plan = plan_of(make_nodepool(), *web(12, several(labels.HOSTNAME, labels.ZONE, labels.CAPACITY_TYPE)))
    assert [len(launch.pods) for launch in plan.launches] == [1] * 12
    assert set(by(labels.ZONE, plan).values()) == {4}
    assert set(by(labels.CAPACITY_TYPE, plan).values()) == {6}


@pytest.mark.core("CORE-176")
def test_workloads_are_spread_over_hosts_each_for_itself() -> None:
    apps = [
        make_pod(
            f"{app}-{n}",
            labels={"app": app},
            spec=spread(labels.HOSTNAME, labelSelector={"matchLabels": {"app": app}}),
        )
        for app in ("one", "two")
        for n in range(3)
    ]
    plan = plan_of(make_nodepool(), *apps)
    assert [sorted(pod.split("/")[1].split("-")[0] for pod in launch.pods) for launch in plan.launches] == [
        ["one", "two"]
    ] * 3


@pytest.mark.core("CORE-177")
def test_workloads_for_different_machines_share_none() -> None:
    apps = [
        make_pod(
            f"{arch}-{n}",
            labels={"app": arch},
            spec={
                **spread(labels.HOSTNAME, labelSelector={"matchLabels": {"app": arch}}),
                "nodeSelector": {labels.ARCH: arch},
            },
        )
        for arch in ("amd64", "arm64")
        for n in range(2)
    ]
    plan = plan_of(make_nodepool(), *apps)
    assert by(labels.ARCH, plan) == {"amd64": 2, "arm64": 2}
    assert len(plan.launches) == 4
