"""The judge's later parts are judged too: plans that break what pods ask of each other must not pass."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.plan import Launch, Nomination, Plan
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_node, make_nodepool, make_pod, selector
from tests.judge import violations

WEB = {"app": "web"}
SELECTED = {"labelSelector": {"matchLabels": WEB}}
SPREAD = {
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule", **SELECTED}
    ]
}


def near(kind: str) -> dict[str, Any]:
    term = {"topologyKey": labels.ZONE, **SELECTED}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


class Case:
    """A cluster with nodes ``a`` and ``b``, each in the zone of its letter."""

    def __init__(
        self, *objects: dict[str, Any], types: list[InstanceType] | None = None, pool: dict[str, Any] | None = None
    ) -> None:
        nodes = [make_node(name, labels={labels.ZONE: f"zone-{name}"}) for name in "ab"]
        self.snapshot = Snapshot.from_objects((pool or make_nodepool(), *nodes, *objects))
        self.catalog: Catalog = make_catalog(self.snapshot, types)

    def put(self, **where: list[str]) -> list[str]:
        """What the judge says when pods go to these nodes."""
        keys = {node: tuple(f"default/{name}" for name in names) for node, names in where.items()}
        return self.judge(
            Plan(
                version=1,
                nominations=tuple(
                    Nomination(node, pods, tuple(f"{key.removeprefix('default/')}-uid" for key in pods))
                    for node, pods in keys.items()
                ),
            )
        )

    def judge(self, plan: Plan) -> list[str]:
        return violations(plan, self.snapshot, self.catalog, self.snapshot.to_place)

    def alone(self) -> Plan:
        """The plan that would be made if nothing ran yet."""
        return solve(attrs.evolve(self.snapshot, nodes=()), self.catalog)

    def launch(self, zone: str | None = None) -> Launch:
        (found,) = solve(self.snapshot.without("ab"), self.catalog).launches
        if zone is None:
            return found
        return attrs.evolve(
            found, requirements=found.requirements & Requirements((Requirement.in_(labels.ZONE, zone),))
        )


def test_crowded_domains_are_found() -> None:
    case = Case(*(make_pod(name, labels=WEB, spec=SPREAD) for name in "pqr"))
    assert case.put(a=["p", "q", "r"])
    assert case.put(a=["p", "q"], b=["r"])  # nobody is in zone-c
    two = Case(*(make_pod(name, labels=WEB, spec=SPREAD) for name in "pq"))
    assert two.put(a=["p"], b=["q"]) == []
    assert two.put(a=["p", "q"])


def test_a_pod_to_be_spread_on_a_machine_without_a_settled_domain_is_found() -> None:
    case = Case(make_pod("p", labels=WEB, spec=SPREAD))
    settled = case.launch()
    zones = Requirements((Requirement.in_(labels.ZONE, "zone-a", "zone-b"),))
    loose = attrs.evolve(settled, requirements=Case(make_pod("p")).launch().requirements & zones)
    assert case.judge(Plan(version=1, launches=(settled,))) == []
    assert case.judge(Plan(version=1, launches=(loose,)))


def test_running_pods_count_to_the_spread() -> None:
    case = Case(make_pod("r", node="a", labels=WEB), make_pod("p", labels=WEB, spec=SPREAD))
    assert case.put(a=["p"])
    assert case.put(b=["p"]) == []


def spread(skew: int = 1, key: str = labels.ZONE, **more: Any) -> dict[str, Any]:
    given = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **SELECTED, **more}
    return {"topologySpreadConstraints": [given]}


TWO_ZONES = {"requirements": [selector(labels.ZONE, "In", "zone-a", "zone-b")]}


def web(*names: str, **spec: Any) -> list[dict[str, Any]]:
    return [make_pod(name, labels=WEB, spec=spec) for name in names]


@pytest.mark.parametrize(("domains", "sound"), [(2, True), (3, False)])
def test_that_there_are_too_few_domains_counts(domains: int, sound: bool) -> None:
    case = Case(*web(*"pqrs", **spread(minDomains=domains)), pool=make_nodepool(**TWO_ZONES))
    assert (case.put(a=["p", "q"], b=["r", "s"]) == []) is sound
    assert Case(*web(*"pq", **spread(minDomains=domains)), pool=make_nodepool(**TWO_ZONES)).put(a=["p"], b=["q"]) == []


def test_crowded_hosts_are_found_however_crowded_others_are() -> None:
    running = [make_pod(f"r{n}", node="b", labels=WEB) for n in range(3)]
    case = Case(*running, *web(*"pq", **spread(1, labels.HOSTNAME)))
    assert case.put(a=["p", "q"])
    case = Case(*running, *web("p", **spread(1, labels.HOSTNAME)))
    assert case.put(a=["p"]) == []


@pytest.mark.parametrize(("policy", "sound"), [("Honor", True), ("Ignore", False)])
def test_nodes_that_the_pod_could_not_go_to_count_as_the_policy_says(policy: str, sound: bool) -> None:
    """One such pod runs in zone-a, on a node that is not of the team."""
    pool = make_nodepool(**TWO_ZONES)
    mine = [make_node(f"mine-{z}", labels={labels.ZONE: f"zone-{z}", "team": "x"}) for z in "ab"]
    running = make_pod("r", node="a", labels=WEB)
    case = Case(*mine, running, *web("p", **spread(nodeAffinityPolicy=policy), nodeSelector={"team": "x"}), pool=pool)
    assert (case.put(**{"mine-a": ["p"]}) == []) is sound
    assert case.put(**{"mine-b": ["p"]}) == []


@pytest.mark.parametrize(("policy", "sound"), [("Honor", True), ("Ignore", False)])
def test_nodes_behind_a_taint_count_as_the_policy_says(policy: str, sound: bool) -> None:
    tainted = make_node("t", labels={labels.ZONE: "zone-c"}, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    case = Case(tainted, *web(*"pqrs", **spread(nodeTaintsPolicy=policy)), pool=make_nodepool(**TWO_ZONES))
    assert (case.put(a=["p", "q"], b=["r", "s"]) == []) is sound


def test_who_has_the_constraint_but_does_not_count_the_pod_may_come_later() -> None:
    """The one without the label counts all; the other counts its own revision alone, so it may follow in the same zone."""
    own = {"topologySpreadConstraints": [{**SPREAD["topologySpreadConstraints"][0], "matchLabelKeys": ["rev"]}]}
    case = Case(make_pod("p", labels=WEB, spec=own), make_pod("q", labels={**WEB, "rev": "2"}, spec=own))
    assert case.put(a=["p", "q"]) == []
    same = Case(*(make_pod(name, labels={**WEB, "rev": "2"}, spec=own) for name in "pq"))
    assert same.put(a=["p", "q"]) != []


def test_others_that_are_not_spread_may_come_later_but_do_not_excuse_a_crowd() -> None:
    two = web(*"pq", **spread())
    assert Case(*two, *web("free")).put(a=["p", "free"], b=["q"]) == []
    assert Case(*two, *web("free")).put(a=["p", "q", "free"])


def test_a_pod_with_several_terms_is_judged_by_the_kindest_of_them() -> None:
    def either(*zones: tuple[str, ...]) -> dict[str, Any]:
        terms = [{"matchExpressions": [selector(labels.ZONE, "In", *some)]} for some in zones]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        return {"affinity": {"nodeAffinity": required}}

    narrow = either(("zone-a",), ("zone-a", "zone-b"))
    assert Case(*web(*"pq", **spread(), **narrow)).put(a=["p", "q"]) == []
    wide = either(("zone-a", "zone-b"), ("zone-b", "zone-a"))
    assert Case(*web(*"pq", **spread(), **wide)).put(a=["p", "q"])


def test_revisions_are_counted_each_for_itself() -> None:
    own = spread(matchLabelKeys=["rev"])
    pods = [make_pod(name, labels={**WEB, "rev": rev}, spec=own) for name, rev in (("p", "1"), ("q", "1"), ("r", "2"))]
    assert Case(*pods).put(a=["p", "r"], b=["q"]) == []
    assert Case(*pods).put(a=["p", "q"], b=["r"])


def test_affinity_to_nobody_and_to_a_pod_elsewhere_is_found() -> None:
    case = Case(make_pod("r", node="a", labels=WEB), make_pod("p", spec=near("podAffinity")))
    assert case.put(a=["p"]) == []
    assert case.put(b=["p"])
    assert Case(make_pod("p", spec=near("podAffinity"))).put(a=["p"])
    assert Case(make_pod("p", labels=WEB, spec=near("podAffinity"))).put(a=["p"]) == []


@pytest.mark.parametrize("loner_runs", [True, False])
def test_broken_anti_affinity_is_found_whoever_has_it(loner_runs: bool) -> None:
    loner, other = make_pod("loner", spec=near("podAntiAffinity")), make_pod("p", labels=WEB)
    running = {**(loner if loner_runs else other)}
    running["spec"] = {**running["spec"], "nodeName": "a"}
    running["status"] = {"phase": "Running"}
    case = Case(running, other if loner_runs else loner)
    coming = "p" if loner_runs else "loner"
    assert case.put(a=[coming])
    assert case.put(b=[coming]) == []


def test_a_machine_that_may_come_to_a_forbidden_zone_is_found() -> None:
    case = Case(make_pod("loner", node="a", spec=near("podAntiAffinity")), make_pod("p", labels=WEB))
    loose = Case(make_pod("p", labels=WEB)).launch()
    assert case.judge(Plan(version=1, launches=(loose,)))
    assert case.judge(Plan(version=1, launches=(Case(make_pod("p")).launch("zone-b"),))) == []


def test_a_port_given_twice_is_found() -> None:
    ports = {"containers": [{"name": "main", "ports": [{"hostPort": 80}]}]}
    case = Case(make_pod("r", node="a", spec=ports), make_pod("p", spec=ports))
    assert case.put(a=["p"])
    assert case.put(b=["p"]) == []
