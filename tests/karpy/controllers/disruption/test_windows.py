"""Budgets that hold at certain times, in a world in which time passes. It begins at nine o'clock, UTC, on a Monday."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.objects import kinds
from karpy.objects.budget import TIME_ZONE
from tests.karpy.controllers.stage import Stage, apps, pool

MORNING = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "1h"}
TEN = parse_time("2026-01-05T10:00:00Z")


def limited(*budgets: dict[str, Any], zone: str = "") -> dict[str, Any]:
    found = pool()
    found["spec"]["disruption"]["budgets"] = list(budgets)
    found["metadata"]["annotations"] = {TIME_ZONE: zone} if zone else {}
    return found


def emptied(*budgets: dict[str, Any], zone: str = "") -> Stage:
    """A machine whose pods are gone, of a pool with these budgets."""
    stage = Stage(limited(*budgets, zone=zone))
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    return stage


def told(stage: Stage, reason: str = "DisruptionBlocked") -> list[tuple[float, str, str]]:
    """When what was told to the pool, and how grave it is."""
    return [
        (parse_time(event["firstTimestamp"]), event["message"], event["type"])
        for event in stage.all(kinds.EVENT)
        if event["involvedObject"]["kind"] == "NodePool" and event["reason"] == reason
    ]


def test_nothing_goes_while_a_window_is_closed_to_it_and_then_at_once() -> None:
    stage = emptied(MORNING)
    stage.world.run(until=TEN)
    assert len(stage.claims) == 1
    stage.until(lambda: not stage.claims)
    # The next poll, the time for a second look, and the machine's own end; not the five minutes of a search that found nothing.
    assert stage.clock.now() - TEN < 60


def test_windows_open_and_close_by_the_clocks_of_the_pools_time_zone() -> None:
    stage = emptied({**MORNING, "schedule": "0 10 * * mon-fri"}, zone="Europe/Berlin")
    stage.world.run(until=TEN)
    assert len(stage.claims) == 1
    stage.until(lambda: not stage.claims, 60)


def test_the_pool_is_told_why_nothing_goes_but_not_all_the_time() -> None:
    stage = emptied(MORNING)
    stage.run(900)
    text = "No allowed disruptions for disruption reason Empty due to blocking budget"
    times = sorted(at for at, found, type_ in told(stage) if (found, type_) == (text, "Normal"))
    assert times
    assert all(later - earlier >= 60 for earlier, later in pairwise(times))
    stage.world.run(until=TEN + 900)
    assert max(at for at, _, _ in told(stage)) < TEN


def test_nobody_is_told_of_a_budget_that_is_used_up_for_the_moment() -> None:
    stage = emptied({"nodes": "1"})
    stage.run(300)
    assert stage.claims == []
    assert told(stage) == []


@pytest.mark.core("CORE-727")
def test_a_budget_that_cannot_be_read_is_told_and_nothing_goes_until_it_can() -> None:
    stage = emptied({**MORNING, "schedule": "99 * * * *"})
    stage.run(900)
    assert len(stage.claims) == 1
    (text,) = {text for _, text, type_ in told(stage, "BudgetUnreadable") if type_ == "Warning"}
    assert text.startswith(
        "Nothing is disrupted while a budget cannot be read: NodePool/default: spec.disruption.budgets[0].schedule: "
        "the schedule '99 * * * *' has no such minute as '99'"
    )
    status = stage.api.get(kinds.NODE_POOL, "default")["status"]
    assert {each["type"]: each["status"] for each in status["conditions"]}["Ready"] == "True"
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}})
    stage.until(lambda: not stage.claims, 60)
