"""A plan that allows for kube-scheduler: the machines that somebody would find missing come with the others."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from karpy import labels
from karpy.scheduling.batch import Batch
from karpy.scheduling.configured import plan_as_set, solve_as_set
from karpy.scheduling.ground import Ground
from karpy.scheduling.plan import Plan
from karpy.scheduling.policy import Policy
from karpy.scheduling.run import Run
from karpy.scheduling.scheduler import solve
from karpy.scheduling.settling import found_missing
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import make_buffer, make_catalog, make_machine, make_nodepool, make_pod, make_pod_template, selector

Json = dict[str, Any]
FORESEEING, BLIND = Settings(), Settings(foresee_placement=False)
SHAPES = [("100m", "128Mi"), ("250m", "512Mi"), ("500m", "1Gi"), ("1", "2Gi"), ("1500m", "3Gi"), ("3", "4Gi")]
ZONES = ("zone-a", "zone-b", "zone-c")


def crowd(seed: int, count: int = 120) -> list[Json]:
    """Pods of many sizes; of every six one may go to one zone only, and one keeps to a spread over zones."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        cpu, memory = chance.choice(SHAPES)
        spec: Json = {}
        if number % 6 == 0:
            spec = {"nodeSelector": {labels.ZONE: chance.choice(ZONES)}}
        elif number % 6 == 1:
            term = {"maxSkew": 1, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            spec = {"topologySpreadConstraints": [{**term, "labelSelector": {"matchLabels": {"app": "spread"}}}]}
        app = {"app": "spread" if number % 6 == 1 else "plain"}
        made = make_pod(f"p{number:03d}", requests={"cpu": cpu, "memory": memory}, labels=app, spec=spec)
        found.append(made)
    return found


def both(*objects: Json) -> tuple[Plan, Plan]:
    """What is planned without foresight, and with it."""
    snapshot = Snapshot.from_objects([*objects])
    catalog = make_catalog(snapshot)
    return plan_as_set(BLIND, snapshot, catalog), plan_as_set(FORESEEING, snapshot, catalog)


def placed(plan: Plan) -> Counter[str]:
    return Counter(key for part in (*plan.launches, *plan.nominations) for key in part.pods)


def helped(*others: Json) -> tuple[Plan, Plan]:
    """The first crowd for whom foresight makes a difference."""
    for seed in range(30):
        blind, foreseeing = both(make_nodepool(), *others, *crowd(seed))
        if len(foreseeing.launches) > len(blind.launches):
            return blind, foreseeing
    pytest.fail("foresight never made a difference")


def test_what_was_planned_is_launched_and_more_comes_on_top() -> None:
    blind, foreseeing = helped()
    kept = foreseeing.launches[: len(blind.launches)]
    assert [launch.requests for launch in kept] == [launch.requests for launch in blind.launches]
    assert [launch.instance_types for launch in kept] == [launch.instance_types for launch in blind.launches]


@pytest.mark.parametrize("seed", range(6))
def test_every_pod_has_one_place_and_the_price_rises_little(seed: int) -> None:
    blind, foreseeing = both(make_nodepool(), *crowd(seed))
    assert placed(foreseeing) == placed(blind) == Counter(f"default/p{n:03d}" for n in range(120))
    assert blind.price <= foreseeing.price <= 1.1 * blind.price
    assert all(foreseeing.outcome(key) is not None for key in placed(blind))


def test_whoever_has_an_additional_machine_has_no_other() -> None:
    blind, foreseeing = helped()
    kept, added = foreseeing.launches[: len(blind.launches)], foreseeing.launches[len(blind.launches) :]
    assert all(launch.pods for launch in added)
    assert not {uid for launch in added for uid in launch.pod_uids} & {uid for each in kept for uid in each.pod_uids}


def test_fewer_pods_would_be_left_out_of_what_is_planned_now() -> None:
    left_out = {True: 0, False: 0}
    for seed in range(12):
        snapshot = Snapshot.from_objects([make_nodepool(), *crowd(seed)])
        catalog = make_catalog(snapshot)
        for settings in (FORESEEING, BLIND):
            plan = plan_as_set(settings, snapshot, catalog)
            more = found_missing(plan, snapshot, catalog, Policy(), lambda cluster, pods: solve(cluster, catalog, pods))  # noqa: B023
            left_out[settings.foresee_placement] += (
                sum(len(each.pods) for each in more.launches) if more is not None else 0
            )
    assert left_out[False] > 2 * left_out[True]


def test_the_same_crowd_is_planned_for_in_the_same_way() -> None:
    first, again = (both(make_nodepool(), *crowd(4))[1] for _ in range(2))
    assert [launch.pods for launch in first.launches] == [launch.pods for launch in again.launches]


@pytest.mark.parametrize("count", [1, 40])
def test_for_pods_that_are_all_alike_nothing_is_played(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karpy.scheduling.settling.play", lambda *_: pytest.fail("it was played"))
    alike = [make_pod(f"p{number}", requests={"cpu": "1500m"}) for number in range(count)]
    blind, foreseeing = both(make_nodepool(), *alike)
    assert [launch.pods for launch in foreseeing.launches] == [launch.pods for launch in blind.launches]


def test_a_plan_that_launches_nothing_stays_as_it_is() -> None:
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    machines = [part for zone in ZONES for part in make_machine(f"in-{zone}", zone=zone, room=room)]
    blind, foreseeing = both(make_nodepool(), *machines, *crowd(0, 12))
    assert foreseeing.launches == ()
    assert [part.pods for part in foreseeing.nominations] == [part.pods for part in blind.nominations]


def test_limits_hold_for_what_is_added() -> None:
    blind, _ = helped()
    sold = sum(_cores(launch.instance_types[-1].name) for launch in blind.launches)
    for seed in range(10):
        _, limited = both(make_nodepool(limits={"cpu": str(sold)}), *crowd(seed))
        assert sum(_cores(launch.instance_types[-1].name) for launch in limited.launches) <= sold


def _cores(instance_type: str) -> int:
    return int("".join(filter(str.isdigit, instance_type)))


def test_machines_that_use_a_reservation_are_left_as_they_are() -> None:
    pool = make_nodepool(requirements=[selector(labels.CAPACITY_TYPE, "In", labels.RESERVED)])
    snapshot = Snapshot.from_objects([pool, *crowd(0)])
    catalog = make_catalog(snapshot)
    plan = plan_as_set(FORESEEING, snapshot, catalog)
    assert len(plan.launches) == len(solve_as_set(FORESEEING, snapshot, catalog).launches)


def test_room_in_reserve_is_not_taken_for_a_pod() -> None:
    template = make_pod_template("room", requests={"cpu": "1"})
    buffer = make_buffer("spare", template="room", replicas=3)
    blind, foreseeing = both(make_nodepool(), template, buffer, *crowd(2, 30))
    assert sum(outcome.wanted for outcome in foreseeing.buffers) == 3
    assert placed(foreseeing) == placed(blind)


def test_a_solve_by_itself_knows_nothing_of_it() -> None:
    for seed in range(5):
        snapshot = Snapshot.from_objects([make_nodepool(), *crowd(seed)])
        catalog = make_catalog(snapshot)
        blind = plan_as_set(BLIND, snapshot, catalog)
        assert len(solve_as_set(FORESEEING, snapshot, catalog).launches) == len(blind.launches)


def test_what_is_played_does_not_disturb_what_was_planned() -> None:
    snapshot = Snapshot.from_objects([make_nodepool(), *crowd(1)])
    catalog = make_catalog(snapshot)
    plan_as_set(FORESEEING, snapshot, catalog)
    batch = Batch.read(snapshot, catalog, snapshot.pending, Policy())
    ground = Ground(snapshot, catalog, Policy(), snapshot.pending)
    assert all(not node.pods for node in Run(ground, batch, Policy()).nodes)
