"""The judge itself is judged: a broken plan must not pass."""

from __future__ import annotations

import attrs
import pytest

from karpy.cloud.instancetype import Catalog
from karpy.scheduling.plan import Launch, Nomination, Plan, PricedType
from karpy.scheduling.scheduler import solve
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_node, make_nodepool, make_pod
from tests.judge import violations


@pytest.fixture
def cluster() -> tuple[Snapshot, Catalog]:
    taint = {"key": "gpu", "effect": "NoSchedule"}
    small = make_node("small", room={"cpu": "1", "pods": "9"})
    objects = [
        make_nodepool(limits={"cpu": "4"}),
        make_pod("p", requests={"cpu": "3"}),
        small,
        make_node("t", taints=[taint]),
    ]
    snapshot = Snapshot.from_objects(objects)
    return snapshot, make_catalog(snapshot)


def judge(cluster: tuple[Snapshot, Catalog], plan: Plan) -> list[str]:
    return violations(plan, *cluster, cluster[0].to_place)


def launch(cluster: tuple[Snapshot, Catalog]) -> Launch:
    (found,) = solve(cluster[0].without(["small", "t"]), cluster[1]).launches
    return found


def test_a_sound_plan_passes(cluster: tuple[Snapshot, Catalog]) -> None:
    assert judge(cluster, Plan(version=1, launches=(launch(cluster),))) == []


def test_a_forgotten_pod_is_missed(cluster: tuple[Snapshot, Catalog]) -> None:
    assert any("accounted" in text for text in judge(cluster, Plan(version=1)))


@pytest.mark.parametrize(("name", "price"), [("c2", 0.04), ("c16", 0.32), ("c4", 0.01)])
def test_a_type_too_small_too_large_for_the_limit_or_at_a_wrong_price_is_found(
    cluster: tuple[Snapshot, Catalog], name: str, price: float
) -> None:
    wrong = attrs.evolve(launch(cluster), instance_types=(PricedType(name, price),))
    assert judge(cluster, Plan(version=1, launches=(wrong,)))


@pytest.mark.parametrize("node", ["small", "t", "nowhere"])
def test_a_node_that_cannot_take_the_pod_is_found(cluster: tuple[Snapshot, Catalog], node: str) -> None:
    assert judge(cluster, Plan(version=1, nominations=(Nomination(node, ("default/p",), ("p-uid",)),)))
