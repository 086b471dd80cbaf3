from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.testing import make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

WEB = {"app": "web"}
ZONES = ("zone-a", "zone-b", "zone-c")


def spread(key: str = labels.ZONE, skew: int = 1, **more: Any) -> dict[str, Any]:
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": WEB}, **more}]}


def near(key: str, app: str = "web", *, anti: bool = False, **more: Any) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity" if anti else "podAffinity": required}}


def web(count: int, spec: dict[str, Any], *, first: int = 0, **pod: Any) -> list[dict[str, Any]]:
    pod = {"requests": {"cpu": "500m"}, "labels": WEB, **pod}
    return [make_pod(f"web-{first + number}", spec=spec, **pod) for number in range(count)]


def zonal(name: str, zone: str, **more: Any) -> dict[str, Any]:
    return make_node(name, labels={labels.ZONE: zone, **more.pop("labels", {})}, **more)


def by(key: str, plan: Plan) -> Counter[str | None]:
    """How many pods come to new machines, by domain."""
    found: Counter[str | None] = Counter()
    for launch in plan.launches:
        found[launch.requirements.labels().get(key)] += len(launch.pods)
    return found


def waiting(plan: Plan) -> int:
    return sum(len(part.pods) for part in plan.unschedulable)


def homes(plan: Plan) -> dict[str, int]:
    return {nomination.node: len(nomination.pods) for nomination in plan.nominations}


# Spread


@pytest.mark.core("CORE-156")
def test_pods_are_spread_evenly_over_zones() -> None:
    assert by(labels.ZONE, plan_of(make_nodepool(), *web(7, spread()))) == {"zone-a": 3, "zone-b": 2, "zone-c": 2}


@pytest.mark.core("CORE-174", "CORE-175")
@pytest.mark.parametrize(("skew", "machines"), [(1, 6), (2, 3), (6, 1)])
def test_at_most_the_skew_is_on_one_host(skew: int, machines: int) -> None:
    plan = plan_of(make_nodepool(), *web(6, spread(labels.HOSTNAME, skew)))
    assert [len(launch.pods) for launch in plan.launches] == [skew] * machines


@pytest.mark.core("CORE-178", "CORE-187")
@pytest.mark.parametrize("key", [labels.CAPACITY_TYPE, labels.ARCH])
def test_any_key_that_machines_differ_by_will_do(key: str) -> None:
    assert sorted(by(key, plan_of(make_nodepool(), *web(4, spread(key)))).values()) == [2, 2]


@pytest.mark.core("CORE-188")
def test_two_constraints_hold_together() -> None:
    both = [spread(key)["topologySpreadConstraints"][0] for key in (labels.ZONE, labels.HOSTNAME)]
    plan = plan_of(make_nodepool(), *web(6, {"topologySpreadConstraints": both}))
    assert len(plan.launches) == 6
    assert set(by(labels.ZONE, plan).values()) == {2}


@pytest.mark.core("CORE-153")
def test_a_key_that_no_machine_has_leaves_no_place() -> None:
    plan = plan_of(make_nodepool(), *web(1, spread("rack")))
    assert "topology spread, key=rack" in plan.unschedulable[0].reason


@pytest.mark.core("CORE-163", "CORE-168")
def test_pods_that_run_count() -> None:
    nodes = [zonal("a", "zone-a", room={"cpu": "2", "pods": "9"}), zonal("b", "zone-b", room={"cpu": "2", "pods": "9"})]
    running = [make_pod(f"r{n}", node=node, labels=WEB, requests={"cpu": "1"}) for n, node in enumerate("aabb")]
    plan = plan_of(make_nodepool(), *nodes, *running, *web(3, spread()))
    assert by(labels.ZONE, plan)["zone-c"] >= 2
    finished = [{**pod, "status": {"phase": "Succeeded"}} for pod in running]
    assert homes(plan_of(make_nodepool(), *nodes, *finished, *web(3, spread()))) == {"a": 1, "b": 1}


@pytest.mark.core("CORE-158", "CORE-159", "CORE-192")
def test_only_the_domains_that_pool_and_pod_allow_are_counted() -> None:
    two = make_nodepool(requirements=[selector(labels.ZONE, "In", *ZONES[:2])])
    assert by(labels.ZONE, plan_of(two, *web(4, spread()))) == {"zone-a": 2, "zone-b": 2}
    fixed = {**spread(), "nodeSelector": {labels.ZONE: "zone-b"}}
    assert by(labels.ZONE, plan_of(make_nodepool(), *web(4, fixed))) == {"zone-b": 4}


@pytest.mark.core("CORE-171", "CORE-172", "CORE-173")
@pytest.mark.parametrize(("least", "placed"), [(2, 6), (3, 6), (4, 3)])
def test_with_fewer_domains_than_asked_for_the_least_counts_as_none(least: int, placed: int) -> None:
    plan = plan_of(make_nodepool(), *web(6, spread(minDomains=least)))
    assert sum(by(labels.ZONE, plan).values()) == placed
    assert waiting(plan) == 6 - placed


@pytest.mark.core("CORE-198")
def test_revisions_are_spread_each_for_itself() -> None:
    one = web(2, spread(matchLabelKeys=["rev"]), labels={**WEB, "rev": "1"})
    two = web(2, spread(matchLabelKeys=["rev"]), labels={**WEB, "rev": "2"}, first=2)
    assert sorted(by(labels.ZONE, plan_of(make_nodepool(), *one, *two)).values()) == [2, 2]


@pytest.mark.core("CORE-204", "CORE-205")
@pytest.mark.parametrize(("policy", "chosen"), [("Honor", "zone-a"), ("Ignore", "zone-b")])
def test_pods_on_nodes_that_the_pod_could_not_go_to_count_or_not(policy: str, chosen: str) -> None:
    pool = make_nodepool(requirements=[selector(labels.ZONE, "In", *ZONES[:2])], labels={"team": "x"})
    foreign = zonal("foreign", "zone-a", labels={"team": "y"})
    running = make_pod("r", node="foreign", labels=WEB)
    pods = web(1, {**spread(nodeAffinityPolicy=policy), "nodeSelector": {"team": "x"}})
    assert by(labels.ZONE, plan_of(pool, foreign, running, *pods)) == {chosen: 1}


@pytest.mark.core("CORE-200", "CORE-201")
@pytest.mark.parametrize(("policy", "placed"), [("Honor", 3), ("Ignore", 1)])
def test_domains_behind_a_taint_count_or_not(policy: str, placed: int) -> None:
    tainted = make_nodepool(
        "tainted",
        requirements=[selector(labels.ZONE, "In", "zone-b")],
        taints=[{"key": "gpu", "effect": "NoSchedule"}],
    )
    pool = make_nodepool(requirements=[selector(labels.ZONE, "In", "zone-a")])
    assert waiting(plan_of(pool, tainted, *web(3, spread(nodeTaintsPolicy=policy)))) == 3 - placed


def test_domains_behind_a_taint_that_is_a_preference_always_count() -> None:
    pool = make_nodepool(taints=[{"key": "slow", "effect": "PreferNoSchedule"}])
    plan = plan_of(pool, *web(6, spread(nodeTaintsPolicy="Honor")))
    assert by(labels.ZONE, plan) == dict.fromkeys(ZONES, 2)


@pytest.mark.core("CORE-170")
def test_terms_about_each_other_are_satisfied_in_as_many_rounds_as_it_takes() -> None:
    follower = make_pod("follower", requests={"cpu": "2"}, spec=near(labels.ZONE, "middle"))
    middle = make_pod("middle", requests={"cpu": "1"}, labels={"app": "middle"}, spec=near(labels.ZONE))
    plan = plan_of(make_nodepool(), follower, middle, *web(1, {"nodeSelector": {labels.ZONE: "zone-c"}}))
    assert by(labels.ZONE, plan) == {"zone-c": 3}


# Affinity


@pytest.mark.core("CORE-210", "CORE-211", "CORE-213")
@pytest.mark.parametrize(("key", "placed"), [(labels.HOSTNAME, 32), (labels.ZONE, 40)])
def test_pods_that_want_each_other_begin_in_one_domain_and_stay_there(key: str, placed: int) -> None:
    plan = plan_of(make_nodepool(), *web(40, near(key)))
    assert waiting(plan) == 40 - placed
    assert len(by(labels.ZONE, plan)) == 1


@pytest.mark.core("CORE-208", "CORE-209", "CORE-230", "CORE-231")
@pytest.mark.parametrize("key", [labels.HOSTNAME, labels.ZONE, labels.ARCH])
def test_a_pod_goes_to_where_a_running_one_is(key: str) -> None:
    node = zonal("b", "zone-b", labels={labels.ARCH: "arm64"}, room={"cpu": "1", "pods": "9"})
    running = make_pod("r", node="b", labels=WEB)
    plan = plan_of(make_nodepool(), node, running, make_pod("fond", requests={"cpu": "800m"}, spec=near(key)))
    assert homes(plan) == {"b": 1}


def test_a_full_node_sends_its_friends_to_a_new_one_in_its_zone() -> None:
    node = zonal("b", "zone-b", room={"cpu": "100m", "pods": "9"})
    pod = make_pod("fond", requests={"cpu": "2"}, spec=near(labels.ZONE))
    assert by(labels.ZONE, plan_of(make_nodepool(), node, make_pod("r", node="b", labels=WEB), pod)) == {"zone-b": 1}


@pytest.mark.core("CORE-229", "CORE-233")
def test_affinity_to_a_pod_that_does_not_exist_waits_with_the_reason() -> None:
    plan = plan_of(make_nodepool(), make_pod(spec=near(labels.ZONE, "nobody")))
    assert "pod affinity, key=topology.kubernetes.io/zone" in plan.unschedulable[0].reason


# Anti-affinity


@pytest.mark.core("CORE-218")
def test_pods_that_keep_apart_by_host_get_a_machine_each() -> None:
    assert len(plan_of(make_nodepool(), *web(4, near(labels.HOSTNAME, anti=True))).launches) == 4


@pytest.mark.core("CORE-219", "CORE-228")
def test_pods_that_keep_apart_by_zone_get_a_zone_each_in_one_pass() -> None:
    plan = plan_of(make_nodepool(), *web(4, near(labels.ZONE, anti=True)))
    assert by(labels.ZONE, plan) == dict.fromkeys(ZONES, 1)
    assert waiting(plan) == 1


@pytest.mark.core("CORE-221")
def test_pods_that_keep_apart_by_arch_get_one_each() -> None:
    plan = plan_of(make_nodepool(), *web(3, near(labels.ARCH, anti=True)))
    assert by(labels.ARCH, plan) == {"amd64": 1, "arm64": 1}


@pytest.mark.core("CORE-223", "CORE-225")
def test_a_running_pod_keeps_others_away() -> None:
    loner = make_pod("loner", node="a", spec=near(labels.ZONE, anti=True))
    plan = plan_of(make_nodepool(), zonal("a", "zone-a"), loner, *web(1, {}))
    assert homes(plan) == {}
    assert plan.launches[0].requirements[labels.ZONE].values == {"zone-b", "zone-c"}
    assert homes(plan_of(make_nodepool(), zonal("a", "zone-a"), loner, make_pod("other"))) == {"a": 1}


@pytest.mark.core("CORE-220")
def test_a_pod_that_came_first_keeps_others_of_the_batch_away() -> None:
    loner = make_pod("loner", requests={"cpu": "3"}, spec=near(labels.ZONE, anti=True))
    plan = plan_of(make_nodepool(), loner, *web(2, {}))
    assert [len(launch.pods) for launch in plan.launches] == [1, 2]


@pytest.mark.core("CORE-224")
def test_a_machine_whose_zone_is_open_may_be_in_each_of_them() -> None:
    loner = make_pod("loner", requests={"cpu": "100m"}, spec=near(labels.ZONE, anti=True))
    assert waiting(plan_of(make_nodepool(), loner, *web(2, {}))) == 1
    settled = web(2, {"nodeSelector": {labels.ZONE: "zone-a"}})
    assert len(plan_of(make_nodepool(), loner, *settled).launches) == 2


# Namespaces


@pytest.mark.core("CORE-234", "CORE-235", "CORE-236")
@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, False),
        ({"namespaces": ["other"]}, True),
        ({"namespaces": ["third"]}, False),
        ({"namespaceSelector": {}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "y"}}}, False),
    ],
)
def test_terms_reach_into_the_namespaces_that_they_name(given: dict[str, Any], found: bool) -> None:
    other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "x"}}}
    running = make_pod("r", node="a", labels=WEB, namespace="other")
    plan = plan_of(
        make_nodepool(), other, zonal("a", "zone-a"), running, make_pod("fond", spec=near(labels.ZONE, **given))
    )
    assert homes(plan) == ({"a": 1} if found else {})
    assert waiting(plan) == (not found)


def test_a_running_pod_keeps_others_away_though_its_node_affinity_cannot_be_read() -> None:
    spec = near(labels.HOSTNAME, anti=True)
    strange = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [selector("a", "Near")]}]
        }
    }
    spec["affinity"]["nodeAffinity"] = strange
    plan = plan_of(make_nodepool(), make_node("a"), make_pod("r", node="a", spec=spec), *web(1, {}))
    assert plan.nominations == ()
    assert len(plan.launches) == 1


# Labels that some pools do not have


def on_racks(*racks: str) -> list[dict[str, Any]]:
    """Full nodes, and a pool whose machines have no rack."""
    full = {"cpu": "100m", "pods": "9"}
    nodes = [make_node(f"n-{rack}", labels={"rack": rack}, room=full) for rack in racks]
    return [make_nodepool("plain"), *nodes]


def test_a_machine_without_the_label_takes_no_pod_that_is_spread_by_it() -> None:
    racked = make_nodepool("racked", labels={"rack": "r1"}, weight=1)
    assert waiting(plan_of(*on_racks("r1"), *web(2, spread("rack")))) == 2
    plan = plan_of(racked, *on_racks("r1"), *web(2, spread("rack")))
    assert {launch.pool.name for launch in plan.launches} == {"racked"}
    assert plan.placed == 2


def test_a_machine_without_the_label_is_beside_nobody() -> None:
    running = make_pod("r", node="n-r1", labels=WEB)
    assert waiting(plan_of(*on_racks("r1"), running, *web(2, near("rack")))) == 2


def test_a_machine_without_the_label_keeps_nobody_apart() -> None:
    plan = plan_of(*on_racks("r1", "r2"), *web(3, near("rack", anti=True)))
    assert [(len(launch.pods), launch.requirements.get("rack")) for launch in plan.launches] == [(3, None)]
    assert plan_of(*on_racks(), *web(3, near("rack", anti=True))).placed == 3


def test_a_pod_that_does_not_want_a_rack_makes_no_rack_of_its_machine() -> None:
    other = {"matchExpressions": [selector("rack", "NotIn", "r9")]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [other]}}
    picky = make_pod("picky", requests={"cpu": "1"}, spec={"affinity": {"nodeAffinity": required}})
    plan = plan_of(*on_racks("r1"), picky, *web(2, spread("rack")))
    assert [launch.pods for launch in plan.launches] == [("default/picky",)]
    assert waiting(plan) == 2
