from __future__ import annotations

import random
from typing import Any

import pytest

from karpy import labels
from karpy.errors import InvalidObject
from karpy.scheduling.batch import Batch
from karpy.scheduling.ground import Ground
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Plan
from karpy.scheduling.policy import Policy
from karpy.scheduling.run import Run
from karpy.scheduling.scheduler import FEW_PODS
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_instance_type, make_nodepool, make_pod
from tests.judge import plan_of

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
TYPES = [make_instance_type(f"t{size:02}", cpu=str(size), memory=f"{4 * size}Gi", price=0.05 * size) for size in SIZES]


def batch(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """A fifth each of plain pods, spread by zone and by host, and by themselves on a host."""
    chance = random.Random(seed)
    return [_pod(number, chance) for number in range(count)]


def _pod(number: int, chance: random.Random) -> dict[str, Any]:
    kind = number % 5
    own = {"app": f"k{kind}-{chance.randrange(3)}"}
    about = {"labelSelector": {"matchLabels": own}}
    spec: dict[str, Any] = {}
    if kind in (1, 2):
        key = labels.ZONE if kind == 1 else labels.HOSTNAME
        constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **about}
        spec = {"topologySpreadConstraints": [constraint]}
    if kind in (3, 4):
        key = labels.ZONE if kind == 3 else labels.HOSTNAME
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **about}]}
        spec = {"affinity": {"podAffinity" if kind == 3 else "podAntiAffinity": required}}
    requests = {"cpu": f"{chance.choice((100, 250, 500, 1500))}m", "memory": f"{chance.choice((100, 256, 1024))}Mi"}
    return make_pod(f"p{number:04}", labels=own, requests=requests, spec=spec)


def plan(pods: list[dict[str, Any]], packing: Packing | None = None) -> Plan:
    return plan_of(make_nodepool(), *pods, types=TYPES, packing=packing)


def placements(found: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(launch.instance_types[0].name, launch.pods) for launch in found.launches]


def test_the_thrifty_packing_is_cheaper_for_a_large_and_diverse_batch() -> None:
    pods = batch(FEW_PODS + 50)
    thrifty, even = plan(pods, Packing.THRIFTY), plan(pods, Packing.KARPENTER)
    assert thrifty.placed == even.placed == len(pods)
    assert thrifty.price < even.price


def test_a_large_batch_is_packed_once_when_that_is_cheap_enough() -> None:
    pods = batch(FEW_PODS + 1)
    assert placements(plan(pods)) == placements(plan(pods, Packing.THRIFTY))


@pytest.mark.parametrize("seed", range(5))
def test_of_a_small_batch_the_cheaper_plan_counts_that_takes_no_more_machines_than_karpenter(seed: int) -> None:
    pods = batch(30, seed)
    each = [plan(pods, packing) for packing in (Packing.THRIFTY, Packing.KARPENTER)]
    found = plan(pods)
    assert found.price == min(plan.price for plan in each)
    assert len(found.launches) <= len(each[1].launches)


def test_machines_can_be_filled_evenly_as_karpenter_does() -> None:
    both = {"app": "a"}
    constraint = {"maxSkew": 1, "topologyKey": labels.HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}
    spec = {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": both}}]}
    large = [make_pod(f"large-{n}", labels=both, requests={"cpu": "1"}, spec=spec) for n in range(2)]
    small = [make_pod(f"small-{n}", requests={"cpu": "100m"}) for n in range(4)]
    assert [len(launch.pods) for launch in plan(large + small, Packing.KARPENTER).launches] == [3, 3]


def test_room_that_is_paid_for_is_used_before_a_machine_grows() -> None:
    alone = {"app": "a"}
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": alone}}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    large = [
        make_pod(f"large-{n}", labels=alone, requests={"cpu": cpu}, spec={"affinity": {"podAntiAffinity": apart}})
        for n, cpu in enumerate(("1900m", "1500m"))
    ]
    small = [make_pod(f"small-{n}", requests={"cpu": "400m"}) for n in range(1)]
    found = plan(large + small, Packing.THRIFTY)
    assert sorted((launch.instance_types[0].name, len(launch.pods)) for launch in found.launches) == [
        ("t02", 1),
        ("t02", 2),
    ]


DEAR = [make_instance_type("t02", cpu="2", price=0.1), make_instance_type("huge", cpu="400", price=80.0)]


def test_a_frugal_packing_opens_a_machine_rather_than_a_much_dearer_one() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "900m"}) for n in range(6)]
    thrifty = plan_of(make_nodepool(), *pods, types=DEAR, packing="thrifty")
    frugal = plan_of(make_nodepool(), *pods, types=DEAR, packing="frugal")
    assert [launch.instance_types[0].name for launch in thrifty.launches] == ["huge"]
    assert [launch.instance_types[0].name for launch in frugal.launches] == ["t02", "t02", "t02"]
    assert placements(plan_of(make_nodepool(), *pods, types=DEAR)) == placements(
        thrifty
    )  # never more machines than Karpenter


def test_a_frugal_packing_lets_machines_grow_at_a_fair_price() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "900m"}) for n in range(20)]
    assert len(plan_of(make_nodepool(), *pods, types=TYPES, packing="frugal").launches) == 1


def test_a_packing_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match=r"packing: found 'fullest' \(accepted: frugal, karpenter, thrifty\)"):
        plan_of(make_nodepool(), make_pod(), packing="fullest")


@pytest.mark.parametrize("packing", Packing)
def test_the_order_of_the_objects_does_not_matter(packing: Packing) -> None:
    pods = batch(60)
    shuffled = random.Random(1).sample(pods, len(pods))
    assert placements(plan(pods, packing)) == placements(plan(shuffled, packing))


def settled_on(*objects: dict[str, Any], leads: bool) -> dict[str, str | None]:
    """By pod the architecture that its new machine is settled on, in one run with Karpenter's packing."""
    snapshot = Snapshot.from_objects(objects)
    catalog = make_catalog(snapshot)
    policy = Policy(packing=Packing.KARPENTER, one_by_one=True, leads=leads)
    batch = Batch.read(snapshot, catalog, snapshot.to_place, policy)
    run = Run(Ground(snapshot, catalog, policy, snapshot.to_place), batch, policy)
    run.place_all()
    launches = run.to_plan(600).launches
    return {pod: launch.requirements.labels().get(labels.ARCH) for launch in launches for pod in launch.pods}


def test_the_plan_that_is_tried_besides_says_where_pods_are_that_others_follow() -> None:
    """Only where Karpenter is followed to the letter is that left open, and followers may begin elsewhere."""
    web = {"app": "web"}
    term = {"topologyKey": labels.ARCH, "labelSelector": {"matchLabels": web}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    first = make_pod("first", labels=web, requests={"cpu": "16"})
    follower = make_pod("follower", labels=web, requests={"cpu": "1"}, spec={"affinity": near})
    found = settled_on(make_nodepool(), first, follower, leads=True)
    assert found["default/first"] == found["default/follower"] == "arm64"
    assert settled_on(make_nodepool(), first, follower, leads=False)["default/first"] is None


def test_nobody_is_settled_for_followers_that_have_no_place_anyway() -> None:
    """Where pods are few, a plan that leaves open where the followed are is tried too, and taken if it is better and as sure."""
    term = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    lost = make_pod("lost", spec={"affinity": near, "nodeSelector": {labels.ARCH: "s390x"}})
    pods = [
        make_pod("web", labels={"app": "web"}, requests={"cpu": "2"}),
        make_pod("fixed", requests={"cpu": "1"}, spec={"nodeSelector": {labels.ZONE: "zone-c"}}),
    ]
    (launch,) = plan_of(make_nodepool(), *pods, lost).launches
    assert set(launch.pods) == {"default/web", "default/fixed"}


def test_a_plan_in_which_pods_may_miss_each_other_is_not_taken() -> None:
    web = {"app": "web"}
    term = {"topologyKey": labels.ARCH, "labelSelector": {"matchLabels": web}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    first = make_pod("first", labels=web, requests={"cpu": "16"})
    follower = make_pod("follower", labels=web, requests={"cpu": "1"}, spec={"affinity": near})
    launches = plan_of(make_nodepool(), first, follower).launches
    assert len({launch.requirements.labels()[labels.ARCH] for launch in launches}) == 1
