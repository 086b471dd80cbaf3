"""Reserved capacity: there is only so much of it, and nobody buys what is paid for already."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.labels import LabelSpec
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.plan import Launch, Plan
from karpy.scheduling.reservations import Reservations
from karpy.testing import make_instance_type, make_nodepool, make_pod, selector
from tests.judge import plan_of

ID = "test.karpy.dev/reservation-id"
SPEC = LabelSpec(frozenset({ID}))


# The book of who holds what


def book(**units: int) -> Reservations:
    return Reservations(units.items())


@pytest.mark.core("CORE-293", "CORE-298")
def test_a_unit_is_taken_off_what_is_left() -> None:
    held = book(a=2)
    assert held.can_reserve("x", "a")
    held.reserve("x", "a")
    assert held.left("a") == 1


@pytest.mark.core("CORE-294", "CORE-295", "CORE-296", "CORE-299")
def test_the_holder_keeps_its_unit_and_counts_once() -> None:
    held = book(a=1)
    held.reserve("x", "a")
    held.reserve("x", "a")
    assert held.left("a") == 0
    assert held.can_reserve("x", "a")
    assert not held.can_reserve("y", "a")


@pytest.mark.core("CORE-297")
def test_a_reservation_that_nobody_knows_is_a_fault_of_the_program() -> None:
    held = book(a=1)
    with pytest.raises(KeyError):
        held.can_reserve("x", "b")
    with pytest.raises(KeyError):
        held.reserve("x", "b")


@pytest.mark.core("CORE-302")
def test_to_promise_more_than_there_is_is_a_fault_of_the_program() -> None:
    held = book(a=1)
    held.reserve("x", "a")
    with pytest.raises(ValueError, match="'a' has no unit left"):
        held.reserve("y", "a")


@pytest.mark.core("CORE-300", "CORE-301")
def test_several_can_be_reserved_at_once_beside_what_is_held() -> None:
    held = book(a=1, b=1, c=1)
    held.reserve("x", "a")
    held.reserve("x", "a", "b", "c")
    assert held.held_by("x") == ("a", "b", "c")
    assert [held.left(name) for name in "abc"] == [0, 0, 0]


@pytest.mark.core("CORE-303", "CORE-304", "CORE-305")
def test_what_is_released_is_there_for_others_and_nothing_else_changes() -> None:
    held = book(a=1, b=1)
    held.reserve("x", "a", "b")
    held.release("x", "a")
    held.release("x", "a", "nobody knows this one")
    held.release("nobody", "b")
    assert (held.left("a"), held.left("b")) == (1, 0)
    held.reserve("y", "a")
    assert held.held_by("y") == ("a",)


@pytest.mark.core("CORE-306", "CORE-307")
def test_counts_stay_true_through_many_cycles() -> None:
    held = book(a=3, b=2)
    for _ in range(5):
        for holder in ("x", "y"):
            held.reserve(holder, "a", "b")
        held.reserve("z", "a")
        assert (held.left("a"), held.left("b")) == (0, 0)
        for holder in ("z", "y", "x"):
            held.release(holder, "a", "b")
        assert (held.left("a"), held.left("b")) == (3, 2)


# Planning with them


def reserved(instance_type: InstanceType, *reservations: tuple[str, int]) -> InstanceType:
    """The type with reserved offerings in its first zone beside its own."""
    zone = instance_type.offerings[0].zone
    own = [_offering(zone, name, units) for name, units in reservations]
    kinds = Requirement.in_(labels.CAPACITY_TYPE, *labels.CAPACITY_TYPES)
    unreserved = Requirement.absent(ID)
    plain = [
        attrs.evolve(o, requirements=o.requirements & Requirements((unreserved,))) for o in instance_type.offerings
    ]
    requirements = instance_type.requirements.without(labels.CAPACITY_TYPE) & Requirements((kinds,))
    return attrs.evolve(instance_type, offerings=(*own, *plain), requirements=requirements)


def _offering(zone: str, reservation: str, units: int) -> Offering:
    where = Requirement.in_(labels.ZONE, zone)
    what = Requirement.in_(labels.CAPACITY_TYPE, labels.RESERVED)
    return Offering(
        zone,
        labels.RESERVED,
        1e-7,
        requirements=Requirements((where, what, Requirement.in_(ID, reservation))),
        reservation_id=reservation,
        reservation_capacity=units,
    )


FOUR = make_instance_type("four", cpu="4", price=0.2)
EIGHT = make_instance_type("eight", cpu="8", price=0.4)


def apart(count: int, **fields: Any) -> list[dict[str, Any]]:
    """Pods of which no two may be on one host."""
    own = {"app": "a"}
    term = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": own}}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return [make_pod(f"p{n}", labels=own, requests={"cpu": "1"}, spec=spec, **fields) for n in range(count)]


def plan(*objects: Any, types: Any, **policy: Any) -> Plan:
    return plan_of(*objects, types=types, spec=SPEC, **policy)


def ids(launch: Launch) -> list[str]:
    held = launch.requirements.get(ID)
    return sorted(held.values) if held is not None and not held.complement else []


def is_reserved(launch: Launch) -> bool:
    return launch.requirements[labels.CAPACITY_TYPE].single() == labels.RESERVED


@pytest.mark.core("CORE-138")
def test_what_is_reserved_is_taken_before_anything_is_bought() -> None:
    found = plan(make_nodepool(), make_pod(requests={"cpu": "1"}), types=[reserved(FOUR, ("r", 1))])
    (launch,) = found.launches
    assert is_reserved(launch)
    assert ids(launch) == ["r"]
    assert launch.price < 0.001


@pytest.mark.core("CORE-144")
def test_pods_share_a_reserved_machine() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "1"}) for n in range(3)]
    (launch,) = plan(make_nodepool(), *pods, types=[reserved(FOUR, ("r", 1))]).launches
    assert len(launch.pods) == 3


def test_a_machine_does_not_grow_out_of_its_reservation() -> None:
    pods = [make_pod(f"p{n}", requests={"cpu": "1500m"}) for n in range(3)]
    found = plan(make_nodepool(), *pods, types=[reserved(FOUR, ("r", 1)), EIGHT])
    assert sorted((is_reserved(launch), len(launch.pods)) for launch in found.launches if ids(launch)) == [(True, 2)]
    assert found.placed == 3


def test_no_reservation_is_promised_twice_and_the_rest_is_bought() -> None:
    found = plan(make_nodepool(), *apart(3), types=[reserved(FOUR, ("r", 2))])
    assert sorted(ids(launch) for launch in found.launches) == [[], ["r"], ["r"]]


def test_a_pool_of_nothing_else_leaves_pods_waiting_that_nothing_is_left_for() -> None:
    pool = make_nodepool(requirements=[selector(labels.CAPACITY_TYPE, "In", labels.RESERVED)])
    found = plan(pool, *apart(2), types=[reserved(FOUR, ("r", 1))])
    (waiting,) = found.unschedulable
    assert "could not be reserved" in waiting.reason
    assert "anti-affinity" in str(found.explain(waiting.pods[0]))


@pytest.mark.core("CORE-139")
def test_pools_share_what_is_reserved() -> None:
    types = [reserved(FOUR, ("r", 1))]
    pools = [make_nodepool(name, labels={"team": name}) for name in ("a", "b")]
    pods = [make_pod(name, requests={"cpu": "1"}, spec={"nodeSelector": {"team": name}}) for name in ("a", "b")]
    found = plan(*pools, *pods, types=types)
    assert sorted(ids(launch) for launch in found.launches) == [[], ["r"]]


@pytest.mark.core("CORE-140", "CORE-141")
def test_reservations_of_one_type_are_counted_one_by_one() -> None:
    found = plan(make_nodepool(), *apart(4), types=[reserved(FOUR, ("r", 1), ("s", 2))])
    held = sorted(name for launch in found.launches for name in ids(launch))
    assert held == ["r", "s", "s"]


def test_what_nobody_wants_may_be_used_instead() -> None:
    """The cloud then has a choice."""
    (launch,) = plan(make_nodepool(), make_pod(), types=[reserved(FOUR, ("r", 1), ("s", 1))]).launches
    assert ids(launch) == ["r", "s"]


@pytest.mark.core("CORE-142")
def test_a_lighter_pool_is_not_asked_while_something_is_reserved() -> None:
    heavy = make_nodepool("heavy", weight=10)
    light = make_nodepool("light", requirements=[selector(labels.CAPACITY_TYPE, "In", labels.ON_DEMAND)])
    (launch,) = plan(heavy, light, make_pod(requests={"cpu": "1"}), types=[reserved(FOUR, ("r", 1))]).launches
    assert (launch.pool.name, ids(launch)) == ("heavy", ["r"])


@pytest.mark.core("CORE-143")
def test_preferences_are_kept_when_nothing_is_left() -> None:
    wish = {"weight": 1, "preference": {"matchExpressions": [selector(labels.INSTANCE_TYPE, "In", "four")]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    pods = apart(2)
    for pod in pods:
        pod["spec"]["affinity"].update(affinity)
    found = plan(make_nodepool(), *pods, types=[reserved(FOUR, ("r", 1)), EIGHT])
    assert [launch.instance_types[0].name for launch in found.launches] == ["four", "four"]


def test_pods_that_do_not_want_it_are_not_given_it() -> None:
    wanted = {"nodeSelector": {labels.CAPACITY_TYPE: labels.ON_DEMAND}}
    (launch,) = plan(make_nodepool(), make_pod(spec=wanted), types=[reserved(FOUR, ("r", 1))]).launches
    assert ids(launch) == []
    assert launch.requirements[labels.CAPACITY_TYPE].single() == labels.ON_DEMAND


def test_without_the_gate_reserved_offerings_are_like_any_other() -> None:
    found = plan(make_nodepool(), *apart(2), types=[reserved(FOUR, ("r", 2))], reserved_capacity=False)
    assert [ids(launch) for launch in found.launches] == [[], []]
    assert all(launch.price < 0.001 for launch in found.launches)


def test_min_values_ask_about_types_that_would_do_without_the_reservation() -> None:
    pool = make_nodepool(requirements=[{**selector(labels.INSTANCE_TYPE, "Exists"), "minValues": 2}])
    (launch,) = plan(pool, make_pod(requests={"cpu": "1"}), types=[reserved(FOUR, ("r", 1)), EIGHT]).launches
    assert ids(launch) == ["r"]
    assert [priced.name for priced in launch.instance_types] == ["four", "eight"]


def test_a_machine_keeps_off_reservations_only_where_there_are_any() -> None:
    zones = [offering.zone for offering in FOUR.offerings]
    near, far = zones[0], next(zone for zone in zones if zone != zones[0])
    pods = [make_pod(zone, requests={"cpu": "3"}, spec={"nodeSelector": {labels.ZONE: zone}}) for zone in (near, far)]
    found = plan(make_nodepool(), *pods, make_pod("more", requests={"cpu": "3"}), types=[reserved(FOUR, ("r", 1))])
    kinds = {
        launch.requirements[labels.ZONE].single(): launch.requirements.get(labels.CAPACITY_TYPE)
        for launch in found.launches
        if not ids(launch)
    }
    assert kinds[far] is None
    assert all(kind is not None for zone, kind in kinds.items() if zone != far)
