"""Small problems for the oracle, drawn from a few choices each, and the same as API objects and instance types for karpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.testing import make_daemon_set, make_instance_type, make_nodepool, make_pod, selector
from tests.oracle import Daemon, Model, Offer, Pool, Problem, Workload

T = TypeVar("T")
Json = dict[str, Any]
Choose = Callable[[Sequence[Any]], Any]
"""Picks one of several: ``random.Random(seed).choice``, or a draw of hypothesis."""

ZONES = ("zone-a", "zone-b", "zone-c")
MOST_PODS, MOST_MODELS = 6, 4
SELECTORS: tuple[Json, ...] = (
    {},
    {},
    {},
    {labels.ZONE: "zone-a"},
    {labels.ARCH: "arm64"},
    {labels.CAPACITY_TYPE: "on-demand"},
    {labels.ZONE: "zone-b", labels.ARCH: "amd64"},
    {"team": "a"},
)
LIMITS: tuple[dict[str, frozenset[str]], ...] = (
    {},
    {},
    {labels.ZONE: frozenset(ZONES[:2])},
    {labels.ARCH: frozenset({"amd64"})},
    {labels.CAPACITY_TYPE: frozenset({"on-demand"})},
)


def any_problem(choose: Choose) -> Problem:
    """At most six pods, four models, three zones and two pools."""
    workloads: list[Workload] = []
    left = choose(range(1, MOST_PODS + 1))
    while left:
        workload = _workload(choose, f"w{len(workloads)}", choose(range(1, left + 1)))
        workloads.append(workload)
        left -= workload.count
    return Problem(
        workloads=tuple(workloads),
        models=tuple(_model(choose, f"m{number}") for number in range(choose(range(1, MOST_MODELS + 1)))),
        pools=tuple(_pool(choose, f"pool-{number}") for number in range(choose((1, 1, 2)))),
        daemons=tuple(_daemon(choose) for _ in range(choose((0, 0, 1)))),
    )


def _workload(choose: Choose, name: str, count: int) -> Workload:
    spread = choose((None, None, (labels.ZONE, 1), (labels.ZONE, 2), (labels.CAPACITY_TYPE, 1)))
    return Workload(
        name=name,
        count=count,
        cpu=choose((0, 300, 500, 900, 1000, 1700, 2500, 3900)),
        memory=choose((0, 1, 2, 5, 7)),
        selector=choose(SELECTORS),
        bears=choose((frozenset(), frozenset({"gpu"}))),
        spread=spread,
        domains=choose((0, 0, 2, 3)) if spread and spread[0] == labels.ZONE else 0,
        apart=choose((False, False, False, True)),
    )


def _model(choose: Choose, name: str) -> Model:
    cpu = choose((1, 2, 3, 4, 8))
    unit = choose((1.0, 1.0, 0.8, 1.3))
    zones = choose((ZONES, ZONES, ZONES[:1], ZONES[1:], ZONES[2:]))
    dearer = {ZONES[0]: 1.0, ZONES[1]: choose((1.0, 1.1, 0.9)), ZONES[2]: choose((1.0, 1.5))}
    kinds = choose((("spot", "on-demand"), ("on-demand",)))
    share = {"spot": choose((0.4, 0.9, 1.2)), "on-demand": 1.0}
    return Model(
        name=name,
        cpu=cpu * 1000,
        memory=cpu * choose((1, 2, 4)),
        pods=choose((2, 4, 110)),
        labels={labels.ARCH: choose(("amd64", "amd64", "arm64")), labels.INSTANCE_TYPE: name},
        offers=tuple(
            Offer(
                labels={labels.ZONE: zone, labels.CAPACITY_TYPE: kind},
                price=round(cpu * unit * dearer[zone] * share[kind], 4),
            )
            for zone in zones
            for kind in kinds
        ),
    )


def _pool(choose: Choose, name: str) -> Pool:
    return Pool(
        name=name,
        allows=choose(LIMITS),
        labels=choose(({}, {}, {"team": "a"})),
        taints=choose((frozenset(), frozenset(), frozenset({"gpu"}))),
    )


def _daemon(choose: Choose) -> Daemon:
    return Daemon(cpu=choose((100, 400, 1000)), selector=choose(({}, {}, {labels.ARCH: "amd64"}, {"team": "a"})))


# The same for karpy


def objects_of(problem: Problem) -> list[Json]:
    """Pools, daemon sets and pods as the API has them."""
    pools = [
        make_nodepool(
            pool.name,
            requirements=[selector(key, "In", *sorted(values)) for key, values in pool.allows.items()],
            labels=pool.labels,
            taints=[{"key": key, "effect": "NoSchedule"} for key in sorted(pool.taints)],
        )
        for pool in problem.pools
    ]
    everything = {"tolerations": [{"operator": "Exists"}]}
    daemons = [
        make_daemon_set(
            f"d{number}", requests={"cpu": f"{each.cpu}m"}, spec={**everything, "nodeSelector": dict(each.selector)}
        )
        for number, each in enumerate(problem.daemons)
    ]
    return [*pools, *daemons, *(_pod(each, n) for each in problem.workloads for n in range(each.count))]


def _pod(workload: Workload, number: int) -> Json:
    own = {"labelSelector": {"matchLabels": {"app": workload.name}}}
    spec: Json = {
        "nodeSelector": dict(workload.selector),
        "tolerations": [{"key": key, "operator": "Exists"} for key in sorted(workload.bears)],
    }
    if workload.spread is not None:
        key, skew = workload.spread
        constraint = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", **own}
        spec["topologySpreadConstraints"] = [
            {**constraint, **({"minDomains": workload.domains} if workload.domains else {})}
        ]
    if workload.apart:
        term = {"topologyKey": labels.HOSTNAME, **own}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return make_pod(
        f"{workload.name}-{number}",
        requests={"cpu": f"{workload.cpu}m", "memory": f"{workload.memory}Gi"},
        labels={"app": workload.name},
        spec=spec,
    )


def types_of(problem: Problem) -> list[InstanceType]:
    return [
        make_instance_type(
            model.name,
            cpu=f"{model.cpu}m",
            memory=f"{model.memory}Gi",
            arch=model.labels[labels.ARCH],
            resources={"pods": str(model.pods)},
            offerings=[
                Offering(offer.labels[labels.ZONE], offer.labels[labels.CAPACITY_TYPE], offer.price)
                for offer in model.offers
            ],
        )
        for model in problem.models
    ]
