"""Pods that want to be with others, or that others want to be with, on machines that are planned in the same pass."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.testing import make_instance_type, make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

Json = dict[str, Any]

WEB = {"app": "web"}
ZONES = ("zone-a", "zone-b", "zone-c")


def near(key: str, app: str = "web") -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def in_zones(*zones: str) -> Json:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [selector(labels.ZONE, "In", *zones)]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def pod(name: str, *parts: Json, app: str = "web", **more: Any) -> Json:
    affinity = {key: value for part in parts for key, value in part.items()}
    more = {"labels": {"app": app}, "requests": {"cpu": "500m"}, **more}
    return make_pod(name, spec={"affinity": affinity, **more.pop("spec", {})}, **more)


def zones(plan: Plan) -> dict[str, str | None]:
    """Where each pod with a new machine goes, when that is settled."""
    return {
        key.removeprefix("default/"): launch.requirements.labels().get(labels.ZONE)
        for launch in plan.launches
        for key in launch.pods
    }


@pytest.mark.core("CORE-207")
@pytest.mark.parametrize(
    "affinity",
    [
        None,
        {},
        {"nodeAffinity": {}, "podAffinity": {}, "podAntiAffinity": {}},
        {"nodeAffinity": None, "podAffinity": None, "podAntiAffinity": None},
        {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [],
                "preferredDuringSchedulingIgnoredDuringExecution": [],
            },
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []},
        },
    ],
)
def test_an_affinity_that_says_nothing_asks_for_nothing(affinity: Json | None) -> None:
    assert len(plan_of(make_nodepool(), make_pod(spec={"affinity": affinity}), make_pod("other")).launches) == 1


@pytest.mark.core("CORE-212")
def test_pods_that_want_the_first_of_them_wait_where_they_may_not_go_to_its_host() -> None:
    first = make_pod("first", node="n", labels=WEB)
    node = make_node("n", labels={labels.ZONE: "zone-a"}, room={"cpu": "100m", "pods": "9"})
    others = [pod(f"p{n}", near(labels.HOSTNAME), in_zones("zone-b", "zone-c")) for n in range(5)]
    assert plan_of(make_nodepool(), node, first, *others).placed == 0


@pytest.mark.core("CORE-214")
def test_pods_that_want_each_other_and_one_zone_share_a_machine_there() -> None:
    plan = plan_of(make_nodepool(), *(pod(f"p{n}", near(labels.ZONE), in_zones("zone-c")) for n in range(3)))
    assert zones(plan) == dict.fromkeys(("p0", "p1", "p2"), "zone-c")
    assert len(plan.launches) == 1


@pytest.mark.core("CORE-215")
def test_pods_that_want_each_other_and_different_zones_each_begin_in_their_own() -> None:
    plan = plan_of(make_nodepool(), *(pod(f"p-{zone}", near(labels.ZONE), in_zones(zone)) for zone in ZONES[1:]))
    assert zones(plan) == {"p-zone-b": "zone-b", "p-zone-c": "zone-c"}


def test_a_pod_whose_first_alternative_is_empty_joins_the_others_of_its_second() -> None:
    node = make_node("n", labels={labels.ZONE: "zone-b"}, room={"cpu": "100m", "pods": "9"})
    terms = [{"matchExpressions": [selector(labels.ZONE, "In", zone)]} for zone in ("zone-a", "zone-b")]
    either = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    plan = plan_of(make_nodepool(), node, make_pod("r", node="n", labels=WEB), pod("p", near(labels.ZONE), either))
    assert zones(plan) == {"p": "zone-b"}


def test_pods_with_alternatives_that_want_each_other_all_go_where_the_first_of_them_goes() -> None:
    """No machine can be had where the first alternative leads."""
    full = make_nodepool("only-b", requirements=[selector(labels.ZONE, "In", "zone-b", "zone-c")])
    terms = [{"matchExpressions": [selector(labels.ZONE, "In", zone)]} for zone in ("zone-a", "zone-b", "zone-c")]
    either = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    plan = plan_of(full, *(pod(f"p{n}", near(labels.ZONE), either) for n in range(3)))
    assert zones(plan) == dict.fromkeys(("p0", "p1", "p2"), "zone-b")


@pytest.mark.core("CORE-227")
@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_preferred_affinity_yields_to_what_is_required(key: str) -> None:
    """The pod would rather be beside one that runs in zone-a, but is required to be elsewhere, or to be spread."""
    node = make_node("n", labels={labels.ZONE: "zone-a"}, room={"cpu": "100m", "pods": "9"})
    running = make_pod("r", node="n", labels=WEB)
    term = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}
    wish = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": term}]}
    }
    constraint = {
        "maxSkew": 1,
        "topologyKey": labels.ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
    }
    elsewhere = pod("elsewhere", wish, in_zones("zone-b"))
    spread = [pod(f"s{n}", wish, spec={"topologySpreadConstraints": [constraint]}) for n in range(3)]
    plan = plan_of(make_nodepool(), node, running, elsewhere, *spread)
    found = zones(plan)
    assert plan.placed == 4
    assert found["elsewhere"] == "zone-b"
    assert set(found.values()) >= {"zone-b", "zone-c"}


@pytest.mark.core("CORE-170", "CORE-232")
@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
@pytest.mark.parametrize("largest", ["db", "end"])
def test_a_chain_of_pods_that_follow_each_other_is_placed(key: str, largest: str) -> None:
    """Large pods are placed first, so the chain is met from its end or from its start. Its first pod says in which zone it is."""
    names = ["db", "web", "cache", "ui", "end"]
    sizes = [f"{n + 1}00m" for n in range(5)]
    if largest == "db":
        sizes.reverse()
    links = {name: before for before, name in itertools.pairwise(names)}
    pods = [
        pod(name, near(key, links[name]) if name in links else in_zones("zone-b"), app=name, requests={"cpu": size})
        for name, size in zip(names, sizes, strict=True)
    ]
    plan = plan_of(make_nodepool(), *pods)
    assert zones(plan) == dict.fromkeys(names, "zone-b")
    assert len(plan.launches) == 1


@pytest.mark.core("CORE-233")
@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_chain_whose_start_has_no_place_has_none_either(key: str) -> None:
    start = pod("db", app="db", requests={"cpu": "1000"})
    chain = [pod("web", near(key, "db")), pod("ui", near(key), app="ui"), pod("free", app="free")]
    plan = plan_of(make_nodepool(), start, *chain)
    assert sorted(key for part in plan.unschedulable for key in part.pods) == [
        "default/db",
        "default/ui",
        "default/web",
    ]


# Pods that run


@pytest.mark.parametrize(
    ("owner", "term"),
    [
        # What the DaemonSet controller writes into each of its pods.
        ("DaemonSet", {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}),
        (
            "ReplicaSet",
            {"matchExpressions": [selector(labels.ZONE, "In", "zone-a"), selector(labels.ZONE, "In", "zone-b")]},
        ),
    ],
)
def test_a_running_pod_keeps_others_away_whatever_its_own_node_affinity_says(owner: str, term: Json) -> None:
    node = make_node("n", labels={labels.ZONE: "zone-a"})
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
        "podAntiAffinity": near(labels.HOSTNAME)["podAffinity"],
    }
    running = make_pod("r", node="n", owner=owner, spec={"affinity": affinity})
    plan = plan_of(make_nodepool(), node, running, make_pod("p", labels=WEB), make_pod("other"))
    assert [nomination.pods for nomination in plan.nominations] == [("default/other",)]
    assert [launch.pods for launch in plan.launches] == [("default/p",)]


# Taints


@pytest.mark.core("CORE-240")
@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "gpu", "operator": "Exists"},
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute"},
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
    ],
)
def test_a_pod_that_bears_a_taint_does_not_bring_it(toleration: Json) -> None:
    bearing, plain = make_pod("bearing", spec={"tolerations": [toleration]}), make_pod("plain")
    (launch,) = plan_of(make_nodepool(), bearing, plain, types=[make_instance_type()]).launches
    assert launch.pool.taints == ()
    assert launch.pods == ("default/bearing", "default/plain")


@pytest.mark.parametrize("packing", [None, "thrifty", "karpenter"])
def test_who_wants_to_be_near_by_a_label_that_no_node_has_waits_and_keeps_nobody_else_waiting(
    packing: str | None,
) -> None:
    plan = plan_of(make_nodepool(), pod("web"), pod("follower", near("rack"), app="other"), packing=packing)
    assert [launch.pods for launch in plan.launches] == [("default/web",)]
    assert [part.pods for part in plan.unschedulable] == [("default/follower",)]
