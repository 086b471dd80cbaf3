"""Whatever pods ask of each other, and wherever others run already: a plan breaks no promise."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from karpy import labels
from karpy.scheduling.plan import Plan
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_daemon_set, make_node, make_nodepool, make_pod, selector
from tests.judge import violations

Json = dict[str, Any]
Choose = Callable[[Sequence[Any]], Any]

KEYS = (labels.ZONE, labels.HOSTNAME, labels.CAPACITY_TYPE, labels.ARCH, "team")
APPS = ("web", "db", "cache")
ZONES = ("zone-a", "zone-b", "zone-c")
GPU = {"key": "gpu", "effect": "NoSchedule"}


def any_cluster(choose: Choose) -> list[Json]:
    """Pools, nodes with pods on them, and up to a dozen pods that are about each other."""
    pools = [_pool(choose, f"pool-{n}") for n in range(choose((1, 1, 2)))]
    nodes = [_node(choose, f"n{n}") for n in range(choose((0, 1, 2, 3)))]
    running = [
        make_pod(f"r-{node['metadata']['name']}-{n}", node=node["metadata"]["name"], **_running(_shape(choose)))
        for node in nodes
        for n in range(choose((0, 1, 2)))
    ]
    daemons = [make_daemon_set(requests={"cpu": "200m"}, spec=choose(({}, {"nodeSelector": {labels.ZONE: "zone-b"}})))]
    pods = []
    for number in range(choose((1, 2, 3, 4))):
        shape = _shape(choose)
        pods += [make_pod(f"p{number}-{n}", **shape) for n in range(choose((1, 2, 3)))]
    return [*pools, *nodes, *running, *daemons[: choose((0, 1))], *pods]


def _pool(choose: Choose, name: str) -> Json:
    requirements = choose(
        (
            [],
            [selector(labels.ZONE, "In", *ZONES[:2])],
            [selector("team", "In", "a", "b")],
            [selector(labels.CAPACITY_TYPE, "In", "spot")],
        )
    )
    taints, limits = choose(([], [], [GPU])), choose((None, None, {"nodes": "2"}, {"cpu": "9"}))
    return make_nodepool(name, requirements=requirements, taints=taints, limits=limits)


def _node(choose: Choose, name: str) -> Json:
    given = {labels.ZONE: choose(ZONES), labels.ARCH: "amd64", labels.CAPACITY_TYPE: choose(("spot", "on-demand"))}
    if choose((True, False)):
        given["team"] = choose(("a", "b"))
    return make_node(name, labels=given, room={"cpu": choose(("1", "4")), "memory": "16Gi", "pods": "9"})


def _shape(choose: Choose) -> Json:
    """Arguments of ``make_pod``."""
    spec: Json = {
        "nodeSelector": choose(({}, {}, {}, {labels.ZONE: "zone-b"}, {labels.ARCH: "arm64"}, {"team": "a"})),
        "tolerations": choose(([], [{"key": "gpu", "operator": "Exists"}])),
    }
    affinity = {
        kind: {strength: [_term(choose, strength)]}
        for kind, strength in (("podAffinity", choose(STRENGTHS)), ("podAntiAffinity", choose(STRENGTHS)))
        if strength
    }
    zones = choose(([], [], [ZONES[:1], ZONES[1:]], [ZONES[:2]]))
    unwanted = choose(([], [], [selector("team", "NotIn", "a")]))
    if zones:
        terms = [{"matchExpressions": [selector(labels.ZONE, "In", *some), *unwanted]} for some in zones]
        affinity["nodeAffinity"] = {HARD: {"nodeSelectorTerms": terms}}
    spec["affinity"] = affinity
    spec["topologySpreadConstraints"] = [_spread(choose) for _ in range(choose((0, 0, 1, 2)))]
    return {
        "labels": {"app": choose(APPS)},
        "requests": {"cpu": choose(("100m", "700m", "1500m", "5"))},
        "spec": spec,
    }


def _running(shape: Json) -> Json:
    """A pod that runs is where it is, whatever it says about nodes."""
    spec = {key: value for key, value in shape["spec"].items() if key != "nodeSelector"}
    return {**shape, "spec": spec}


HARD, SOFT = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
STRENGTHS = ("", "", "", HARD, SOFT)


def _term(choose: Choose, strength: str) -> Json:
    term = {"topologyKey": choose(KEYS), "labelSelector": {"matchLabels": {"app": choose(APPS)}}}
    return term if strength == HARD else {"weight": 1, "podAffinityTerm": term}


def _spread(choose: Choose) -> Json:
    return {
        "topologyKey": choose(KEYS),
        "maxSkew": choose((1, 1, 2)),
        "whenUnsatisfiable": choose(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": choose(({}, *({"matchLabels": {"app": app}} for app in APPS))),
        "nodeAffinityPolicy": choose(("Honor", "Ignore")),
        "nodeTaintsPolicy": choose(("Ignore", "Honor")),
    }


def sound(objects: list[Json]) -> Plan:
    snapshot = Snapshot.from_objects(objects)
    catalog = make_catalog(snapshot)
    plan = solve(snapshot, catalog)
    assert violations(plan, snapshot, catalog, snapshot.to_place) == []
    return plan


def test_whatever_pods_ask_of_each_other_holds() -> None:
    """In clusters of the kind that says something: neither do all pods wait, nor none."""
    plans = [sound(any_cluster(random.Random(seed).choice)) for seed in range(400)]
    placed, waiting = (sum(counts) for counts in zip(*((p.placed, _waiting(p)) for p in plans), strict=True))
    assert waiting < placed < 9 * waiting


def _waiting(plan: Plan) -> int:
    return sum(len(part.pods) for part in plan.unschedulable)
