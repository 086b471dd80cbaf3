from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects.pod import Pod
from karpy.scheduling.constraints import constraints_of
from karpy.scheduling.plan import Plan
from karpy.testing import make_node, make_nodepool, make_pod, selector
from tests.judge import plan_of

WEB = {"app": "web"}


def about(key: str, weight: int, app: str = "web") -> dict[str, Any]:
    return {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}}


def zone(name: str, weight: int) -> dict[str, Any]:
    return {"weight": weight, "preference": {"matchExpressions": [selector(labels.ZONE, "In", name)]}}


def wishes(**kinds: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms} for kind, terms in kinds.items()}
    }


def soft(key: str, skew: int = 1) -> dict[str, Any]:
    given = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
    return {**given, "labelSelector": {"matchLabels": WEB}}


def web(count: int, spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [make_pod(f"web-{n}", labels=WEB, requests={"cpu": "500m"}, spec=spec) for n in range(count)]


def zones(plan: Plan) -> list[str | None]:
    return [launch.requirements.labels().get(labels.ZONE) for launch in plan.launches]


def test_wishes_are_given_up_in_a_fixed_order_and_of_a_kind_the_heaviest_first() -> None:
    spec = {
        **wishes(
            podAffinity=[about("a", 1), about("b", 9)],
            podAntiAffinity=[about("c", 2), about("d", 3)],
            nodeAffinity=[zone("x", 4), zone("y", 5)],
        ),
        "topologySpreadConstraints": [soft("e"), soft("f")],
    }
    ladder = list(constraints_of(Pod.from_dict(make_pod(spec=spec))).ladder(taints_may_be_preferences=False))
    left = [
        " ".join(
            (
                *(term.key for term in rung.soft_affinity),
                *(term.key for term in rung.soft_anti_affinity),
                *(str(term[labels.ZONE].single()) for term in rung.preferred),
                *(term.key for term in rung.soft_spread),
            )
        )
        for rung in ladder
    ]
    given_up = ["b", "a", "d", "c", "y", "x", "e", "f"]
    assert left == [" ".join(given_up[number:]) for number in range(9)]


@pytest.mark.core("CORE-019", "CORE-021")
def test_a_preferred_zone_is_taken() -> None:
    plan = plan_of(make_nodepool(), *web(2, wishes(nodeAffinity=[zone("zone-c", 1)])))
    assert zones(plan) == ["zone-c"]


@pytest.mark.core("CORE-020", "CORE-048", "CORE-050")
def test_the_heavier_preference_fails_and_the_lighter_holds() -> None:
    plan = plan_of(make_nodepool(), *web(1, wishes(nodeAffinity=[zone("zone-c", 1), zone("nowhere", 9)])))
    assert zones(plan) == ["zone-c"]


@pytest.mark.core("CORE-047")
def test_when_no_preference_can_be_met_the_pod_goes_anywhere() -> None:
    plan = plan_of(make_nodepool(), *web(1, wishes(nodeAffinity=[zone("nowhere", 9), zone("nor-here", 1)])))
    assert zones(plan) == [None]


@pytest.mark.core("CORE-181")
def test_soft_spread_is_kept_as_long_as_it_can_be() -> None:
    plan = plan_of(make_nodepool(), *web(3, {"topologySpreadConstraints": [soft(labels.ZONE)]}))
    assert sorted(map(str, zones(plan))) == ["zone-a", "zone-b", "zone-c"]
    single = make_nodepool(limits={"nodes": 1})
    plan = plan_of(single, *web(3, {"topologySpreadConstraints": [soft(labels.HOSTNAME)]}))
    assert [len(launch.pods) for launch in plan.launches] == [3]


@pytest.mark.core("CORE-216")
def test_preferred_affinity_gathers_where_it_can_and_yields_where_it_cannot() -> None:
    node = make_node("n", labels={labels.ZONE: "zone-b"}, room={"cpu": "1", "pods": "9"})
    running = make_pod("r", node="n", labels=WEB)
    fond = [
        make_pod(f"fond-{n}", requests={"cpu": "600m"}, spec=wishes(podAffinity=[about(labels.HOSTNAME, 1)]))
        for n in (1, 2)
    ]
    plan = plan_of(make_nodepool(), node, running, *fond)
    assert [len(nomination.pods) for nomination in plan.nominations] == [1]
    assert [len(launch.pods) for launch in plan.launches] == [1]
    assert plan_of(make_nodepool(), *web(1, wishes(podAffinity=[about(labels.ZONE, 1, "nobody")]))).placed == 1


@pytest.mark.core("CORE-217")
def test_preferred_anti_affinity_parts_pods_as_long_as_there_is_where_to_go() -> None:
    apart = wishes(podAntiAffinity=[about(labels.HOSTNAME, 1)])
    assert len(plan_of(make_nodepool(), *web(3, apart)).launches) == 3
    plan = plan_of(make_nodepool(limits={"nodes": 2}), *web(4, apart))
    assert plan.placed == 4
    assert len(plan.launches) == 2


@pytest.mark.core("CORE-222", "CORE-226")
def test_preferences_of_running_pods_keep_nobody_away() -> None:
    loner = make_pod("loner", node="n", spec=wishes(podAntiAffinity=[about(labels.HOSTNAME, 9)]))
    plan = plan_of(make_nodepool(), make_node("n"), loner, *web(1, {}))
    assert [nomination.node for nomination in plan.nominations] == ["n"]


@pytest.mark.core("CORE-195")
def test_a_preferred_zone_does_not_narrow_what_is_counted() -> None:
    hard = {**soft(labels.ZONE), "whenUnsatisfiable": "DoNotSchedule"}
    spec = {**wishes(nodeAffinity=[zone("zone-c", 1)]), "topologySpreadConstraints": [hard]}
    assert set(zones(plan_of(make_nodepool(), *web(3, spec)))) == {"zone-a", "zone-b", "zone-c"}


def test_when_preferences_are_ignored_only_what_is_required_counts() -> None:
    spec = {
        **wishes(podAntiAffinity=[about(labels.HOSTNAME, 1)], nodeAffinity=[zone("zone-c", 1)]),
        "topologySpreadConstraints": [soft(labels.HOSTNAME)],
    }
    plan = plan_of(make_nodepool(), *web(3, spec), respect_preferences=False)
    assert zones(plan) == [None]


@pytest.mark.core("CORE-047", "CORE-048", "CORE-388")
def test_preferences_are_given_up_from_the_heaviest_until_one_can_be_met() -> None:
    every = [zone("nowhere", 100), zone("nor-here", 50), zone("zone-b", 20), zone("zone-c", 10)]
    for count, found in ((4, "zone-b"), (2, None)):
        assert zones(plan_of(make_nodepool(), *web(1, wishes(nodeAffinity=every[:count])))) == [found]
    picky = make_nodepool(requirements=[selector(labels.ZONE, "NotIn", "zone-b")])
    assert zones(plan_of(picky, *web(1, wishes(nodeAffinity=every)))) == ["zone-c"]


@pytest.mark.core("CORE-390", "CORE-391", "CORE-392", "CORE-393")
@pytest.mark.parametrize(
    ("spec", "machines"),
    [
        (wishes(nodeAffinity=[zone("zone-c", 1)]), 1),  # CORE-390
        ({"topologySpreadConstraints": [soft(labels.HOSTNAME)]}, 3),  # CORE-391
        ({"topologySpreadConstraints": [soft(labels.ZONE)]}, 3),
        (wishes(podAntiAffinity=[about(labels.HOSTNAME, 1)]), 3),  # CORE-392
    ],
)
def test_each_kind_of_preference_parts_pods_or_is_ignored(spec: dict[str, Any], machines: int) -> None:
    ignored = plan_of(make_nodepool(), *web(3, spec), respect_preferences=False)
    assert (len(ignored.launches), zones(ignored)) == (1, [None])
    assert len(plan_of(make_nodepool(), *web(3, spec)).launches) == machines


@pytest.mark.core("CORE-393")
def test_a_preferred_affinity_gathers_pods_or_is_ignored() -> None:
    node = make_node("n", labels={labels.ZONE: "zone-b"}, room={"cpu": "100m", "pods": "9"})
    objects = [make_nodepool(), node, make_pod("r", node="n", labels=WEB)]
    fond = make_pod("fond", requests={"cpu": "1"}, spec=wishes(podAffinity=[about(labels.ZONE, 1)]))
    assert zones(plan_of(*objects, fond)) == ["zone-b"]
    assert zones(plan_of(*objects, fond, respect_preferences=False)) == [None]


def test_a_taint_that_is_a_preference_is_borne_only_where_nothing_else_will_do() -> None:
    avoided = make_nodepool("avoided", taints=[{"key": "old", "effect": "PreferNoSchedule"}], weight=9)
    plan = plan_of(avoided, make_nodepool(), *web(1, {}))
    assert [launch.pool.name for launch in plan.launches] == ["default"]
    plan = plan_of(avoided, *web(1, wishes(nodeAffinity=[zone("nowhere", 1)])))
    assert [launch.pool.name for launch in plan.launches] == ["avoided"]


@pytest.mark.parametrize("operator", ["NotIn", "DoesNotExist"])
def test_a_preference_never_undoes_what_is_required(operator: str) -> None:
    """Together the two look as if the label had to be absent; a node without it is what the pod must not go to."""
    values = ["b"] if operator == "NotIn" else []
    wish = {"weight": 9, "preference": {"matchExpressions": [selector("tier", operator, *values)]}}
    spec = wishes(nodeAffinity=[wish])
    terms = {"nodeSelectorTerms": [{"matchExpressions": [selector("tier", "In", "b")]}]}
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    pod = make_pod(spec=spec)
    assert plan_of(make_nodepool(), make_node("bare"), pod).placed == 0
    plan = plan_of(make_nodepool(labels={"tier": "b"}), make_node("bare"), pod)
    assert [launch.requirements.labels()["tier"] for launch in plan.launches] == ["b"]
