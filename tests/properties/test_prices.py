"""Whatever a cloud says that its machines cost: what has no price never wins over what has one, and nothing ever crashes."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karpy import labels
from karpy.cloud.instancetype import (
    Catalog,
    InstanceType,
    InstanceTypes,
    Offering,
    cheapest,
    current_price,
    is_price,
    offerings_for,
    order_by_price,
)
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.bound import price_bound
from karpy.scheduling.scheduler import solve
from karpy.scheduling.templates import templates_for
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_condition, make_instance_type, make_machine, make_nodepool, make_pod
from tests.karpy.disruption.deciding import next_command

PRICES = st.sampled_from((0.1, 0.5, 2.0, 1e-9, 1e8, 3))
NO_PRICES: st.SearchStrategy[Any] = st.sampled_from(
    (None, 0, 0.0, -0.0, -1.0, -1e-9, math.nan, math.inf, -math.inf, 1e308, 10**400, "", "free")
)
OFFERINGS = st.builds(
    Offering,
    st.sampled_from(("zone-a", "zone-b")),
    st.sampled_from((labels.SPOT, labels.ON_DEMAND)),
    PRICES | NO_PRICES,
    st.booleans() | st.just(True),
)


@st.composite
def catalogs(draw: st.DrawFn) -> InstanceTypes:
    offered = draw(st.lists(st.lists(OFFERINGS, min_size=1, max_size=3), min_size=1, max_size=5))
    return InstanceTypes(
        make_instance_type(f"t{n}", cpu=str(draw(st.sampled_from((2, 4, 16)))), offerings=offerings)
        for n, offerings in enumerate(offered)
    )


WANTED = st.sampled_from(
    (
        Requirements(),
        Requirements([Requirement.in_(labels.CAPACITY_TYPE, labels.ON_DEMAND)]),
        Requirements([Requirement.in_(labels.ZONE, "zone-b")]),
    )
)


def best(instance_type: InstanceType, wanted: Requirements) -> float:
    """The least real price, infinite where there is none: what every choice has to agree with."""
    allowed = [o for o in instance_type.offerings if o.available and o.requirements.intersects(wanted) is None]
    return min((o.price for o in allowed if 0 < o.price < 1e9), default=math.inf)


@given(NO_PRICES)
def test_what_is_no_price_is_known_as_such(price: Any) -> None:
    offering = Offering("zone-a", labels.SPOT, price)
    assert not offering.has_price
    assert offering.sort_price == math.inf
    assert current_price(make_instance_type(offerings=[offering]), "zone-a", labels.SPOT) is None


@given(catalogs(), WANTED)
def test_a_price_wins_over_none(types: InstanceTypes, wanted: Requirements) -> None:
    for instance_type in types:
        found = cheapest(instance_type, wanted)
        assert found is None or found.sort_price == best(instance_type, wanted)
        prices = [offering.sort_price for offering in offerings_for(instance_type, wanted)]
        assert prices == sorted(prices)
    ordered = [best(instance_type, wanted) for instance_type in order_by_price(types, wanted)]
    assert ordered == sorted(ordered)


@settings(max_examples=100, deadline=None)
@given(catalogs(), st.integers(1, 4), st.integers(1, 5))
def test_a_launch_goes_for_what_has_a_price(types: InstanceTypes, pods: int, kept: int) -> None:
    waiting = [make_pod(f"p{n}", requests={"cpu": "1500m"}) for n in range(pods)]
    snapshot = Snapshot.from_objects([make_nodepool(), *waiting])
    catalog = Catalog({"default": types})
    plan = solve(snapshot, catalog, max_instance_types=kept)
    assert not math.isnan(plan.price)
    for launch in plan.launches:
        prices = [priced.price for priced in launch.instance_types]
        assert prices == sorted(prices)
        assert all(is_price(price) or price == math.inf for price in prices)
        fitting = [t for t in types if launch.requests.fits_in(t.allocatable)]
        assert prices[0] == min(best(t, launch.requirements) for t in fitting)
        assert "nan" not in launch.explain()
        assert "inf" not in launch.explain()
    bound = price_bound({"cpu": 0, "memory": 2**30}, templates_for(snapshot.pools, catalog, (), strict_min_values=True))
    assert 0 <= bound < math.inf


@settings(max_examples=100, deadline=None)
@given(catalogs(), OFFERINGS)
def test_a_node_is_replaced_only_by_what_is_known_to_cost_less(types: InstanceTypes, bought: Offering) -> None:
    model = make_instance_type("old", cpu="32", offerings=[bought])
    claim, node = make_machine(
        "m",
        instance_type="old",
        zone=bought.zone,
        capacity_type=bought.capacity_type,
        room={"cpu": "32", "memory": "64Gi", "pods": "110"},
        conditions=[make_condition("Consolidatable")],
    )
    disruption = {"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]}
    pod = make_pod(node="m", requests={"cpu": "1"})
    snapshot = Snapshot.from_objects([make_nodepool(disruption=disruption), claim, node, pod])
    command = next_command(snapshot, Catalog({"default": InstanceTypes((model, *types))}), now=START)
    if command is not None:
        (launch,) = command.replacements  # the pod has nowhere else to go
        assert is_price(bought.price)
        # What nobody sells that way now stays listed; by the time that somebody does, its price is known.
        to_be_had = [priced for priced in launch.instance_types if priced.price < math.inf]
        assert all(is_price(priced.price) and priced.price < bought.price for priced in to_be_had)
        for priced in launch.instance_types[len(to_be_had) :]:
            listed = types.by_name(priced.name)
            assert listed is not None
            assert offerings_for(listed, launch.requirements) == ()
        assert 0 < command.savings <= bought.price
