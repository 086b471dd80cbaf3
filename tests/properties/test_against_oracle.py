"""Small inputs, held against the best that can be done: nobody waits who need not, and no price is below what is possible."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karpy.cloud.instancetype import Catalog
from karpy.resources import total
from karpy.scheduling.bound import price_bound
from karpy.scheduling.daemons import daemons_of
from karpy.scheduling.packing import Packing
from karpy.scheduling.scheduler import solve
from karpy.scheduling.templates import templates_for
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog
from tests.judge import violations
from tests.oracle import Best, Daemon, Model, Offer, Pool, Problem, Workload, best
from tests.problems import any_problem, objects_of, types_of

CENT = 1e-9


def cluster(problem: Problem) -> tuple[Snapshot, Catalog]:
    snapshot = Snapshot.from_objects(objects_of(problem))
    return snapshot, make_catalog(snapshot, types_of(problem))


def bound(problem: Problem) -> float:
    """The price below which no machines hold all of the pods."""
    snapshot, catalog = cluster(problem)
    templates = templates_for(snapshot.pools, catalog, daemons_of(snapshot.daemon_sets))
    return price_bound(total(pod.requests for pod in snapshot.to_place), templates)


def check(problem: Problem, **policy: Any) -> float:
    """What the plan costs beyond the least possible."""
    snapshot, catalog = cluster(problem)
    plan, optimum = solve(snapshot, catalog, **policy), best(problem)
    assert violations(plan, snapshot, catalog, snapshot.to_place) == []
    # Pods of one workload are alike, and none is about another: so in which order they come decides about the price only.
    assert len(problem.pods) - plan.placed == optimum.waiting
    assert plan.price >= optimum.price - CENT
    if not optimum.waiting:
        assert bound(problem) <= optimum.price + CENT
    return plan.price - optimum.price


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_pod_waits_that_need_not_and_nothing_is_cheaper_than_can_be(data: st.DataObject) -> None:
    check(any_problem(lambda options: data.draw(st.sampled_from(options))))


@pytest.mark.parametrize("packing", list(Packing))
def test_that_holds_for_each_packing(packing: Packing) -> None:
    for seed in range(300):
        check(any_problem(random.Random(seed).choice), packing=packing)


# The oracle itself

ZONES = ("a", "b", "c")


def model(name: str, cpu: int, price: float, *zones: str, pods: int = 110) -> Model:
    offers = tuple(Offer(labels={"zone": zone}, price=price) for zone in zones or ZONES)
    return Model(name=name, cpu=cpu, memory=99, pods=pods, labels={}, offers=offers)


def pods(count: int, cpu: int = 1, name: str = "w", **more: Any) -> Workload:
    return Workload(name=name, count=count, cpu=cpu, memory=0, **more)


@pytest.mark.parametrize(
    ("workloads", "models", "expected"),
    [
        ([pods(3)], [model("one", 1, 1.0), model("four", 4, 2.5)], Best(0, 2.5)),
        ([pods(2)], [model("one", 1, 1.0), model("four", 4, 2.5)], Best(0, 2.0)),
        ([pods(2, cpu=5)], [model("four", 4, 2.5)], Best(2, 0.0)),
        ([pods(4)], [model("four", 4, 1.0, pods=3)], Best(0, 2.0)),
        ([pods(3, apart=True)], [model("four", 4, 1.0)], Best(0, 3.0)),
        ([pods(3, apart=True), pods(3, name="v")], [model("four", 4, 1.0)], Best(0, 3.0)),
        ([pods(4, spread=("zone", 1))], [model("four", 4, 1.0)], Best(0, 3.0)),
        ([pods(4, spread=("zone", 1))], [model("four", 4, 1.0, "a", "b")], Best(0, 2.0)),
        ([pods(4, spread=("zone", 1), domains=3)], [model("four", 4, 1.0, "a", "b")], Best(2, 2.0)),
        ([pods(4, spread=("zone", 4))], [model("four", 4, 1.0)], Best(0, 1.0)),
        ([pods(2, spread=("zone", 1), selector={"zone": "b"})], [model("four", 4, 1.0)], Best(0, 1.0)),
        ([pods(2, selector={"zone": "d"}), pods(1, name="v")], [model("four", 4, 1.0)], Best(2, 1.0)),
        ([pods(2, spread=("rack", 1))], [model("four", 4, 1.0)], Best(2, 0.0)),
    ],
)
def test_the_oracle_knows_what_can_be_seen_at_a_glance(
    workloads: list[Workload], models: list[Model], expected: Best
) -> None:
    assert best(Problem(workloads=tuple(workloads), models=tuple(models), pools=(Pool(name="p"),))) == expected


def test_the_oracle_counts_taints_labels_limits_of_pools_and_daemons() -> None:
    def told(workload: Workload, daemon: Daemon | None = None, **pool: Any) -> Best:
        given = Problem(
            workloads=(workload,),
            models=(model("two", 2, 1.0, "a"), model("four", 4, 3.0)),
            pools=(Pool(name="p", **pool),),
            daemons=() if daemon is None else (daemon,),
        )
        return best(given)

    assert told(pods(1)) == Best(0, 1.0)
    assert told(pods(1), taints=frozenset({"gpu"})) == Best(1, 0.0)
    assert told(pods(1, bears=frozenset({"gpu"})), taints=frozenset({"gpu"})) == Best(0, 1.0)
    assert told(pods(1, selector={"team": "x"}), labels={"team": "x"}) == Best(0, 1.0)
    assert told(pods(1), allows={"zone": frozenset({"b"})}) == Best(0, 3.0)
    assert told(pods(2), Daemon(cpu=1)) == Best(0, 2.0)
    assert told(pods(2), Daemon(cpu=2)) == Best(0, 3.0)
    assert told(pods(1), Daemon(cpu=4, selector={"zone": "a"})) == Best(0, 3.0)
