"""No plan can be cheaper than the bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karpy import labels
from karpy.resources import total
from karpy.scheduling.bound import price_bound
from karpy.scheduling.scheduler import solve
from karpy.scheduling.templates import templates_for
from karpy.state.snapshot import Snapshot
from karpy.testing import NODE_CLASS, make_catalog, make_instance_type, make_nodepool, make_pod

EMPTY = Snapshot.from_objects([make_nodepool("default")], (NODE_CLASS,))
CATALOG = make_catalog(
    EMPTY,
    (
        make_instance_type("small", cpu="2", memory="4Gi", price=0.1),
        make_instance_type("wide", cpu="16", memory="32Gi", price=0.7),
        make_instance_type("deep", cpu="4", memory="32Gi", price=0.3),
    ),
)


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 24)), min_size=1, max_size=30))
def test_no_plan_is_cheaper_than_the_bound(sizes: list[tuple[int, int]]) -> None:
    pods = [
        make_pod(f"p{index}", requests={"cpu": f"{cpu}", "memory": f"{memory}Gi"})
        for index, (cpu, memory) in enumerate(sizes)
    ]
    snapshot = Snapshot.from_objects([make_nodepool("default"), *pods], (NODE_CLASS,))
    plan = solve(snapshot, CATALOG)
    needed = total(launch.requests for launch in plan.launches)
    assert 0 <= price_bound(needed, templates_for(snapshot.pools, CATALOG, ())) <= plan.price + 1e-9


def test_the_dearest_resource_counts() -> None:
    templates = templates_for(EMPTY.pools, CATALOG, ())
    few_cores, much_memory = {"cpu": 1000, "memory": 64 << 30}, {"memory": 64 << 30}
    assert price_bound(few_cores, templates) == price_bound(much_memory, templates) > 0


def test_nothing_needed_costs_nothing() -> None:
    assert price_bound({}, templates_for(EMPTY.pools, CATALOG, ())) == 0


def test_a_term_that_stands_twice_keeps_pods_apart_once() -> None:
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "a"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term, term]}}
    pod = make_pod(labels={"app": "a"}, requests={"cpu": "1"}, spec={"affinity": apart})
    snapshot = Snapshot.from_objects([make_nodepool("default"), pod], (NODE_CLASS,))
    plan = solve(snapshot, CATALOG)
    assert 0 < plan.bound <= plan.price
