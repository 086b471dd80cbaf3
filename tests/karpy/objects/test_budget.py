"""One budget by itself: how many it lets go, whom it concerns, and when it holds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.errors import InvalidObject
from karpy.objects.budget import ALWAYS, TIME_ZONE, Budget, budget_time_zone
from karpy.objects.nodepool import NodePool
from karpy.testing import make_nodepool

HOUR = 3600.0


def pool_with(*budgets: dict[str, Any], zone: str = "") -> NodePool:
    raw = make_nodepool("web", disruption={"budgets": list(budgets)})
    raw["metadata"]["annotations"] = {TIME_ZONE: zone} if zone else {}
    return NodePool.from_dict(raw)


@pytest.mark.core("CORE-726")
@pytest.mark.parametrize(
    ("amount", "nodes", "count"),
    [
        ("0", 9, 0),
        ("7", 5, 7),
        ("10%", 1, 1),
        ("10%", 0, 0),
        ("10%", 10, 1),
        ("10%", 11, 2),
        ("150%", 4, 6),
        ("-1", 9, -1),
    ],
)
def test_a_number_or_a_share_of_the_nodes_rounded_up(amount: str, nodes: int, count: int) -> None:
    assert Budget(amount).count(nodes) == count


@pytest.mark.core("CORE-726")
@pytest.mark.parametrize("amount", ["", "some", "5 %", "10.5%", "%", "1e3", "٣"])
def test_anything_else_is_refused_with_what_is_accepted(amount: str) -> None:
    with pytest.raises(InvalidObject, match=r'^nodes: found .* \(accepted: a number such as "10", or "10%"\)$'):
        Budget(amount).count(5)


@pytest.mark.core("CORE-726")
def test_a_budget_concerns_the_reasons_that_it_names_and_without_any_names_all() -> None:
    assert Budget().concerns("Empty")
    assert Budget().concerns(None)
    named = Budget(reasons=("Empty", "Drifted"))
    assert [named.concerns(reason) for reason in ("Empty", "Underutilized", None)] == [True, False, False]
    assert not Budget(reasons=()).concerns("Empty")


@pytest.mark.core("CORE-727")
def test_without_a_schedule_it_always_holds() -> None:
    assert Budget().window(0.0) is ALWAYS
    assert (str(ALWAYS), ALWAYS.contains(-math.inf), ALWAYS.contains(1e12)) == ("always", True, True)


@pytest.mark.core("CORE-727")
def test_with_one_it_holds_from_each_beginning_for_its_duration() -> None:
    midnight = parse_time("2026-11-20T00:00:00Z")
    budget = Budget("0", "0 9 * * *", 2 * HOUR)
    held = [hour for hour in range(24) if budget.window(midnight + hour * HOUR).contains(midnight + hour * HOUR)]
    assert held == [9, 10]
    assert str(budget.window(midnight + 9.5 * HOUR)) == "from 2026-11-20T09:00:00Z until 2026-11-20T11:00:00Z"
    assert str(budget.window(midnight + 11 * HOUR)) == "from 2026-11-21T09:00:00Z until 2026-11-21T11:00:00Z"


@pytest.mark.core("CORE-727")
def test_a_duration_longer_than_the_time_between_beginnings_never_ends() -> None:
    now = parse_time("2026-11-20T00:00:00Z")
    for hour in range(100):
        at = now + hour * HOUR
        window = Budget("0", "@daily", 25 * HOUR).window(at)
        assert window.contains(at)
        assert window.or_later


def test_a_duration_of_ages_began_before_anybody_counted() -> None:
    window = Budget("0", "@yearly", 1e12).window(parse_time("2026-11-20T00:00:00Z"))
    assert window.contains(parse_time("2026-11-20T00:00:00Z"))
    assert window.end == "until 9999-12-31T23:59:59Z or later"


@pytest.mark.core("CORE-727")
@pytest.mark.parametrize(
    ("schedule", "complaint"),
    [
        ("0 9 * *", "has 4 fields"),
        ("61 * * * *", "has no such minute as '61'"),
        ("0 0 30 2 *", "a day that never comes"),
    ],
)
def test_a_schedule_that_cannot_be_read_is_refused_by_name(schedule: str, complaint: str) -> None:
    with pytest.raises(InvalidObject, match=complaint) as refused:
        Budget("0", schedule, HOUR).window(0.0)
    assert refused.value.path == "schedule"
    assert refused.value.accepted


def test_a_budget_is_written_as_its_owner_wrote_it() -> None:
    nights = {"nodes": "20%", "schedule": "0 22 * * *", "duration": "8h30m", "reasons": ["Empty", "Drifted"]}
    (plain,), (zoned,) = pool_with(nights).budgets, pool_with(nights, zone="Asia/Tokyo").budgets
    assert str(plain) == 'nodes=20% reasons=Empty,Drifted schedule="0 22 * * *" duration=8h30m'
    assert str(zoned) == f"{plain} in Asia/Tokyo"
    assert str(Budget()) == "nodes=10%"


def test_a_pool_names_the_time_zone_of_its_schedules_in_an_annotation() -> None:
    assert pool_with({"nodes": "1"}, zone="Asia/Tokyo").budgets[0].time_zone == "Asia/Tokyo"
    assert budget_time_zone({}) == ""
    with pytest.raises(InvalidObject, match="unknown time zone 'Asia/Tokio'") as refused:
        budget_time_zone({TIME_ZONE: "Asia/Tokio"})
    assert refused.value.path == "metadata.annotations[karpy.dev/budget-time-zone]"


def test_a_duration_below_zero_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"^NodePool/web: spec.disruption.budgets\[0\].duration: found '-1h'"):
        pool_with({"nodes": "1", "schedule": "@daily", "duration": "-1h"})
