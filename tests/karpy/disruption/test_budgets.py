from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.clock import format_time, parse_time
from karpy.disruption.budgets import Allowance, allowance, allowances, budgets_change_at
from karpy.disruption.command import Reason
from karpy.errors import InvalidObject
from karpy.objects.budget import TIME_ZONE, Budget
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_claim, make_condition, make_machine, make_node, make_nodepool
from tests.vectors import read

DELETED = {"deletionTimestamp": "2026-01-05T09:00:00Z"}


UNLIMITED = 2**31 - 1


def told(
    budgets: list[dict[str, Any]] | None,
    *objects: dict[str, Any],
    nodes: int = 0,
    now: str | float = START,
    annotations: dict[str, str] | None = None,
) -> Allowance:
    pool = make_nodepool(disruption=None if budgets is None else {"budgets": budgets})
    pool["metadata"]["annotations"] = annotations or {}
    machines = [part for number in range(nodes) for part in make_machine(f"m{number}")]
    snapshot = Snapshot.from_objects([pool, *machines, *objects])
    return allowance(snapshot, snapshot.pools[0], Reason.EMPTY, parse_time(now) if isinstance(now, str) else now)


def allowed(budgets: list[dict[str, Any]] | None, *objects: dict[str, Any], nodes: int = 0) -> int:
    found = told(budgets, *objects, nodes=nodes)
    return found.allowed


@pytest.mark.core("CORE-726")
@pytest.mark.parametrize(
    ("budgets", "nodes", "count"),
    [
        (None, 5, 1),  # 10 % rounded up
        (None, 11, 2),
        (None, 0, 0),
        ([], 5, 5),
        ([{"nodes": "0"}], 5, 0),
        ([{"nodes": "0%"}], 5, 0),
        ([{"nodes": "3"}], 5, 3),
        ([{"nodes": "100%"}], 5, 5),
        ([{"nodes": "34%"}], 3, 2),
        ([{"nodes": "3"}, {"nodes": "20%"}], 5, 1),  # the strictest counts
        ([{"nodes": "0", "reasons": ["Drifted"]}], 5, 5),
        ([{"nodes": "2", "reasons": ["Empty", "Drifted"]}], 5, 2),
        ([{"nodes": "0", "reasons": []}], 5, 5),
        ([{"nodes": "-1"}], 5, 0),  # what cannot be read allows nothing
        ([{"nodes": "some"}], 5, 0),
        ([{"nodes": "50%"}, {"nodes": "x"}], 5, 0),
    ],
)
def test_budgets_say_how_many_nodes_may_go(budgets: list[dict[str, Any]] | None, nodes: int, count: int) -> None:
    assert allowed(budgets, nodes=nodes) == count


@pytest.mark.core("CORE-511")
def test_nodes_of_others_or_not_up_are_not_counted() -> None:
    others = [make_node("n"), make_claim("young", reached=("Launched",)), *make_machine("other", pool="other")]
    assert allowed([{"nodes": "100%"}], *others, nodes=2) == 2


@pytest.mark.core("CORE-512", "CORE-513")
def test_nodes_that_are_going_or_not_ready_use_the_budget_up() -> None:
    leaving = make_machine("leaving", metadata=DELETED)
    claim, node = make_machine("sick")
    node["status"]["conditions"][0]["status"] = "False"
    assert allowed([{"nodes": "3"}], *leaving, nodes=4) == 2
    assert allowed([{"nodes": "3"}], *leaving, claim, node, nodes=4) == 1
    assert allowed([{"nodes": "1"}], *leaving, claim, node, nodes=4) == 0


@pytest.mark.core("CORE-512")
def test_more_disrupted_nodes_than_a_budget_allows_leave_nothing_but_not_less() -> None:
    leaving = [part for number in range(3) for part in make_machine(f"leaving{number}", metadata=DELETED)]
    assert allowed([{"nodes": "2"}], *leaving, nodes=1) == 0


@pytest.mark.core("CORE-511")
def test_a_node_whose_instance_is_being_terminated_is_none_any_more() -> None:
    ending = make_machine("ending", conditions=[make_condition("InstanceTerminating")], metadata=DELETED)
    found = told([{"nodes": "50%"}], *ending, nodes=4)
    assert (found.nodes, found.disrupted, found.allowed) == (4, 0, 2)


WEEKDAYS = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}
NIGHTS = {"nodes": "2", "schedule": "0 22 * * *", "duration": "8h"}


@pytest.mark.core("CORE-726", "CORE-727")
@pytest.mark.parametrize(
    ("budgets", "now", "count"),
    [
        ([WEEKDAYS], "2026-11-20T08:59:59Z", 5),  # a Friday
        ([WEEKDAYS], "2026-11-20T09:00:00Z", 0),
        ([WEEKDAYS], "2026-11-20T16:59:59Z", 0),
        ([WEEKDAYS], "2026-11-20T17:00:00Z", 5),
        ([WEEKDAYS], "2026-11-21T12:00:00Z", 5),
        ([NIGHTS], "2026-11-21T05:59:00Z", 2),  # it began the day before
        ([WEEKDAYS, {"nodes": "1"}], "2026-11-21T12:00:00Z", 1),
        ([{**WEEKDAYS, "duration": "48h"}], "2026-11-22T08:59:00Z", 0),  # longer than the time between two beginnings
        ([{**WEEKDAYS, "duration": "0m"}], "2026-11-20T09:00:00Z", 5),
        ([{**WEEKDAYS, "reasons": ["Drifted"]}], "2026-11-20T12:00:00Z", 5),
        ([{**WEEKDAYS, "nodes": "some"}], "2026-11-20T08:00:00Z", 5),  # it is read when it holds
        ([{**WEEKDAYS, "nodes": "some"}], "2026-11-20T12:00:00Z", 0),
        ([{**WEEKDAYS, "nodes": "3", "schedule": "0 9 * * 7"}], "2026-11-20T12:00:00Z", 0),
        ([{**WEEKDAYS, "nodes": "3", "schedule": "0 0 30 2 *"}], "2026-11-20T12:00:00Z", 0),
    ],
)
def test_a_budget_with_a_schedule_counts_while_it_holds(budgets: list[dict[str, Any]], now: str, count: int) -> None:
    assert told(budgets, nodes=5, now=now).allowed == count


def test_a_pool_names_the_time_zone_of_its_schedules() -> None:
    berlin, budgets = {TIME_ZONE: "Europe/Berlin"}, [WEEKDAYS]
    assert told(budgets, nodes=5, now="2026-11-20T08:00:00Z", annotations=berlin).allowed == 0  # nine o'clock there
    assert told(budgets, nodes=5, now="2026-11-20T16:30:00Z", annotations=berlin).allowed == 5
    found = told(budgets, nodes=5, now="2026-11-21T08:00:00Z", annotations={TIME_ZONE: "Europe/Bärlin"})
    assert found.allowed == 0
    assert "unknown time zone 'Europe/Bärlin'" in str(found)


def test_the_hours_of_a_window_move_with_the_clocks_of_its_time_zone() -> None:
    """On 29 March 2026 it is 3 o'clock after 1:59 in Berlin; on 25 October it is 2 o'clock twice."""
    berlin = {TIME_ZONE: "Europe/Berlin"}

    def windows(schedule: str, duration: str, *times: str) -> list[str]:
        budget = {"nodes": "0", "schedule": schedule, "duration": duration}
        found = (told([budget], nodes=1, now=now, annotations=berlin) for now in times)
        return [str(each.held_by.window if each.held_by else each.next and each.next.window) for each in found]

    assert windows("0 9 * * *", "8h", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z") == [
        "from 2026-03-28T08:00:00Z until 2026-03-28T16:00:00Z",
        "from 2026-03-29T07:00:00Z until 2026-03-29T15:00:00Z",
    ]
    # What would open in the hour that is skipped opens at its end: no window is left out.
    assert windows("30 2 * * *", "2h", "2026-03-28T12:00:00Z") == [
        "from 2026-03-29T01:00:00Z until 2026-03-29T03:00:00Z"
    ]
    # In the hour that comes twice it opens once.
    assert windows("30 2 * * *", "10m", "2026-10-24T12:00:00Z", "2026-10-25T00:45:00Z", "2026-10-25T01:31:00Z") == [
        "from 2026-10-25T00:30:00Z until 2026-10-25T00:40:00Z",
        "from 2026-10-26T01:30:00Z until 2026-10-26T01:40:00Z",
        "from 2026-10-26T01:30:00Z until 2026-10-26T01:40:00Z",
    ]
    # A window that is always open has no gap in it.
    every_minute = (parse_time("2026-10-25T00:00:00Z") + 60 * minute for minute in range(180))
    gapless = {"nodes": "0", "schedule": "*/15 * * * *", "duration": "15m"}
    assert all(told([gapless], nodes=1, now=at, annotations=berlin).allowed == 0 for at in every_minute)


def test_an_allowance_tells_what_limits_it_until_when_and_what_comes_next() -> None:
    leaving = make_machine("leaving", metadata=DELETED)
    assert str(told([{"nodes": "3"}], *leaving, nodes=4)) == (
        '2 of 5 nodes of pool "default" may go for Empty: budget nodes=3, 1 going or not ready'
    )
    friday = told([WEEKDAYS, {"nodes": "5"}], nodes=12, now="2026-11-20T12:00:00Z")
    assert str(friday) == (
        '0 of 12 nodes of pool "default" may go for Empty: '
        'budget nodes=0 schedule="0 9 * * mon-fri" duration=8h until 2026-11-20T17:00:00Z'
    )
    assert friday.is_closed
    saturday = told([{**WEEKDAYS, "reasons": ["Empty", "Drifted"]}], nodes=12, now="2026-11-21T12:00:00Z")
    assert str(saturday) == (
        '12 of 12 nodes of pool "default" may go for Empty: no budget limits that; next: '
        'budget nodes=0 reasons=Empty,Drifted schedule="0 9 * * mon-fri" duration=8h '
        "from 2026-11-23T09:00:00Z until 2026-11-23T17:00:00Z"
    )
    assert str(told([{"nodes": "20%"}, NIGHTS], nodes=5, now="2026-11-20T12:00:00Z")) == (
        '1 of 5 nodes of pool "default" may go for Empty: budget nodes=20%; next: '
        'budget nodes=2 schedule="0 22 * * *" duration=8h from 2026-11-20T22:00:00Z until 2026-11-21T06:00:00Z'
    )
    assert str(told([], nodes=3)) == '3 of 3 nodes of pool "default" may go for Empty: no budget limits that'
    assert str(told([{"nodes": "1"}, {"nodes": "x"}], nodes=3)) == (
        '0 of 3 nodes of pool "default" may go for Empty: a budget cannot be read: NodePool/default: '
        """spec.disruption.budgets[1].nodes: found 'x' (accepted: a number such as "10", or "10%")"""
    )


def test_windows_that_touch_are_one() -> None:
    shifts = {"nodes": "1", "schedule": "0 6,14,22 * * 1-5", "duration": "8h"}
    found = told([shifts], nodes=3, now="2026-11-18T15:00:00Z")
    assert found.changes_at == parse_time("2026-11-21T06:00:00Z")
    assert found.next is not None
    assert str(found.next.window) == "from 2026-11-23T06:00:00Z until 2026-11-28T06:00:00Z"
    always = told([{"nodes": "1", "schedule": "* * * * *", "duration": "1h"}], nodes=3, now="2026-11-18T15:00:00Z")
    assert str(always).endswith("until 2026-11-18T16:41:00Z or later")  # nobody looks for the end of what has none
    assert always.changes_at == parse_time("2026-11-18T16:41:00Z")


def test_when_the_passing_of_time_alone_changes_what_budgets_allow() -> None:
    objects = [
        make_nodepool("web", disruption={"budgets": [WEEKDAYS]}),
        make_nodepool("batch", disruption={"budgets": [NIGHTS, {"nodes": "10%"}]}),
        make_nodepool("broken", disruption={"budgets": [{**NIGHTS, "schedule": "61 * * * *"}]}),
    ]
    snapshot, edges = Snapshot.from_objects(objects), []
    now = parse_time("2026-11-20T00:00:00Z")
    for _ in range(5):
        now = budgets_change_at(snapshot, now)
        edges.append(format_time(now))
    assert edges == [f"2026-11-20T{hour}:00:00Z" for hour in ("06", "09", "17", "22")] + ["2026-11-21T06:00:00Z"]
    plain = Snapshot.from_objects([make_nodepool()])
    assert budgets_change_at(plain, now) == math.inf


def test_every_pool_and_reason_is_told_of() -> None:
    pools = [make_nodepool("a"), make_nodepool("b", disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]})]
    snapshot = Snapshot.from_objects([*pools, *make_machine("m", pool="b")])
    closed = [(each.pool, each.reason) for each in allowances(snapshot, START) if each.is_closed]
    assert closed == [("b", Reason.DRIFTED)]
    assert len(allowances(snapshot, START)) == 2 * len(Reason)


@functools.cache
def _cluster_of(nodes: int) -> Snapshot:
    return Snapshot.from_objects([part for number in range(nodes) for part in make_machine(f"m{number}")])


@pytest.mark.core("CORE-726", "CORE-727")
def test_budgets_agree_with_karpenter(shared: Path) -> None:
    for line in read(shared, "algebra/budgets.jsonl"):
        pools = Snapshot.from_objects([make_nodepool(disruption={"budgets": line["budgets"]})]).pools
        snapshot = attrs.evolve(_cluster_of(line["nodes"]), pools=pools)
        found = allowance(snapshot, snapshot.pools[0], Reason(line["reason"]), parse_time(line["now"]))
        expect = line["expect"]
        assert (found.problem is not None) == expect["error"], line
        if found.problem is None:
            assert (UNLIMITED if found.limit is None else found.limit) == expect["allowed"], line
        for budget, one in zip(snapshot.pools[0].budgets, expect["perBudget"], strict=True):
            assert _alone(budget, line["nodes"], parse_time(line["now"])) == (
                one["active"],
                one["allowed"],
                one.get("error", False),
            ), line


def _alone(budget: Budget, nodes: int, now: float) -> tuple[bool, int, bool]:
    """Whether a budget holds, how many it lets go, and whether it cannot be read."""
    try:
        if not budget.window(now).contains(now):
            return False, UNLIMITED, False
    except InvalidObject:
        return False, 0, True
    try:
        return True, budget.count(nodes), False
    except InvalidObject:
        return True, 0, True
