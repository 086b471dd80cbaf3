"""The judge's later parts are judged too: plans that break what pods ask of each other must not pass."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.objects.volumes import BIND_COMPLETED
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

    def __init__(self, *objects: dict[str, Any]) -> None:
        nodes = [make_node(name, labels={labels.ZONE: f"zone-{name}"}) for name in "ab"]
        self.snapshot = Snapshot.from_objects((make_nodepool(), *nodes, *objects))
        self.catalog: Catalog = make_catalog(self.snapshot)

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


def test_a_disk_out_of_reach_and_one_too_many_are_found() -> None:
    there = {"nodeSelectorTerms": [{"matchExpressions": [selector(labels.ZONE, "In", "zone-a")]}]}
    spec = {"nodeAffinity": {"required": there}, "csi": {"driver": "d"}}
    drivers = [{"name": "d", "allocatable": {"count": 0}}]
    objects = [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "default", "annotations": {BIND_COMPLETED: "yes"}},
            "spec": {"volumeName": "v"},
        },
        make_pod("p", spec={"volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": "c"}}]}),
    ]
    assert Case(*objects).put(a=["p"]) == []
    assert Case(*objects).put(b=["p"])
    limit = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "a"},
        "spec": {"drivers": drivers},
    }
    assert Case(*objects, limit).put(a=["p"])
