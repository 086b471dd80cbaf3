"""R24, R41, R42: one leads, few words are made, and clocks may say what they like."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from karpy.clock import parse_time
from karpy.controllers.base import Request, Result, Source
from karpy.kube.leader import LeaderElector
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.operator import Operator
from karpy.sim.processes import process as processes
from karpy.sim.processes.process import Surroundings
from karpy.sim.weather import Shortage, Weather
from karpy.sim.world import World
from tests.scenarios.survival import HOUR, MINUTE, app, broken, karpy, machines, pool, running, scale, world_of

# R24: leaders


@pytest.mark.parametrize("seed", range(6))
def test_r24_with_a_slow_api_one_leads_at_a_time_and_the_work_is_done(seed: int) -> None:
    """Calls take 5 to 15 seconds, whole processes hang, leases are out of reach."""
    faults = f"slow:0.1 stall:0.02 deposed:0.02 until:600 seed:{seed}"
    world = world_of(karpy, app(replicas=4), faults=faults, replicas=2, seed=seed)
    world.run(3 * MINUTE)
    scale(world, "web", 8)
    world.run(20 * MINUTE)
    assert running(world) == 8
    assert sum(process.lives for process in world.processes) >= 1
    assert world.check() == ()


def test_r24_a_slow_api_alone_costs_nobody_the_lease() -> None:
    """Calls of the controllers that take long keep nobody from renewing: that is done beside them."""
    probe = world_of(karpy, app(replicas=4), replicas=2)
    probe.run(MINUTE)
    numbers = [call.number for call in probe.trace if call.kind == kinds.NODE_CLAIM and call.is_write]
    world = world_of(karpy, app(replicas=4), replicas=2, faults=f"slow@{numbers[0]}")
    world.run(3 * MINUTE)
    assert world.boundary.injected.total() == 1
    assert sorted(process.lives for process in world.processes) == [0, 1]
    assert running(world) == 4


class Overconfident(LeaderElector):
    """Once it led it believes that it always does."""

    @property
    def is_leader(self) -> bool:
        return self._renewed > float("-inf")


def test_r24_a_leader_that_does_not_notice_its_end_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LeaderElector", Overconfident)
    world = world_of(karpy, app(replicas=4), replicas=2, faults="deposed@40")
    world.run(MINUTE)
    scale(world, "web", 8)
    world.run(5 * MINUTE)
    assert "one_leader_acts" in broken(world)


# R41: floods


def events(world: World) -> Counter[str]:
    """How many were written about each object."""
    calls = [call for call in world.trace if call.kind == kinds.EVENT and call.verb == "create" and call.is_ok]
    return Counter(call.name.rpartition(".")[0] for call in calls)


def test_r41_pods_that_wait_for_an_hour_are_spoken_of_seldom() -> None:
    nothing = Weather(shortages=(Shortage(until_s=HOUR),))
    world = world_of(karpy, app("huge", replicas=3, cpu="900"), app("web", replicas=5), weather=nothing)
    world.run(HOUR)
    assert max(events(world).values()) <= 40
    assert world.check() == ()


class Chatty:
    """Says of every pod that it still waits, every few seconds."""

    name = "chatty"
    sources: Sequence[Source] = ()

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    def reconcile(self, request: Request) -> Result:
        kube, now = self.surroundings.kube, self.surroundings.clock.now()
        for pod in kube.list(kinds.POD).items:
            if not pod["spec"].get("nodeName"):
                meta = pod["metadata"]
                about = {"kind": "Pod", "name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
                event = {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"generateName": f"{meta['name']}.", "namespace": meta["namespace"]},
                    "involvedObject": about,
                    "reason": "Waiting",
                    "message": f"still, at {now}",
                }
                kube.create(kinds.EVENT, event, meta["namespace"])
        return Result(5.0)


class Verbose(Chatty):
    """Writes to its log instead."""

    def reconcile(self, request: Request) -> Result:
        for _ in range(50):
            self.surroundings.log.info("still here")
        return Result(5.0)


@pytest.mark.parametrize(("kind", "caught"), [(Chatty, "events_are_bounded"), (Verbose, "log_is_bounded")])
def test_r41_a_controller_that_floods_is_caught(kind: Any, caught: str) -> None:
    def flooding(surroundings: Surroundings) -> Operator:
        operator = karpy(surroundings)
        operator.controllers = (*operator.controllers, kind(surroundings))
        return operator

    world = world_of(flooding, app("huge", replicas=1, cpu="900"))
    world.run(10 * MINUTE)
    assert broken(world) == {caught}


# R42: clocks

EVENING_BEFORE_THE_CHANGE = parse_time("2026-03-07T20:00:00Z")
"""In New York clocks go forward at 2 in the night that follows."""
CLOSED = [{"nodes": "100%"}, {"nodes": "0", "schedule": "0 6 * * *", "duration": "4h"}]
"""From 6 to 10, UTC, nothing may be disrupted."""


@pytest.fixture(params=["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the process runs."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def closed_pool(budgets: Sequence[dict[str, Any]] = CLOSED) -> dict[str, Any]:
    disruption = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s", "budgets": budgets}
    return pool(disruption=disruption)


def over_night(
    program: Any,
    faults: str = "",
    *,
    of: dict[str, Any] | None = None,
    start: float = EVENING_BEFORE_THE_CHANGE,
    hears: Callable[[WatchEvent], None] = lambda event: None,
) -> World:
    """Every half hour, through the night in which clocks change, a node becomes empty and another is needed."""
    world = world_of(program, of or closed_pool(), app(replicas=2, cpu="3"), faults=faults, start=start)
    world.subscribe(kinds.NODE_CLAIM, hears)
    for half_hour in range(32):
        world.run(30 * MINUTE)
        scale(world, "web", half_hour % 2)
    return world


def test_r42_budgets_hold_in_utc_wherever_the_process_runs(zone: str) -> None:
    world = over_night(karpy)
    assert zone
    assert world.check() == ()


@pytest.mark.parametrize(("nights", "opens"), [(0, 6), (1, 5)], ids=["the night of the change", "the night after"])
def test_r42_windows_keep_to_the_clocks_of_the_pools_own_zone(nights: int, opens: int) -> None:
    """From one o'clock in New York on nothing goes for four hours: that is from six, UTC, and a day later from five."""
    night = [{"nodes": "100%"}, {"nodes": "0", "schedule": "0 1 * * *", "duration": "4h"}]
    closed = closed_pool(night)
    closed["metadata"]["annotations"] = {"karpy.dev/budget-time-zone": "America/New_York"}
    hours = set()

    def hear(event: WatchEvent) -> None:
        deleted = event.object["metadata"].get("deletionTimestamp")
        if deleted:
            hours.add(int(deleted[11:13]))

    over_night(karpy, of=closed, start=EVENING_BEFORE_THE_CHANGE + nights * 24 * HOUR, hears=hear)
    assert not hours & {opens, opens + 1, opens + 2, opens + 3}
    assert {opens - 1, opens + 4} <= hours


@pytest.mark.parametrize("seed", range(3))
def test_r42_clocks_that_jump_neither_hold_up_nor_hurry_anything(seed: int) -> None:
    world = over_night(karpy, f"jump:0.02 seed:{seed}")
    scale(world, "web", 4)
    world.run(10 * MINUTE)
    assert world.boundary.injected.total() > 10
    assert running(world) == 4
    assert len(machines(world)) == len(world.api.list(kinds.NODE_CLAIM).items)
    assert world.check() == ()


class Janitor:
    """Takes empty nodes away, but not from 6 to 10, as its own clock on the wall has it."""

    name = "janitor"
    sources: Sequence[Source] = ()

    def __init__(self, surroundings: Surroundings, zone: str) -> None:
        self.kube = surroundings.kube
        self.clock = surroundings.clock
        self.zone = ZoneInfo(zone)

    def reconcile(self, request: Request) -> Result:
        hour = dt.datetime.fromtimestamp(self.clock.now(), self.zone).hour
        if not 6 <= hour < 10:
            used = {pod["spec"].get("nodeName") for pod in self.kube.list(kinds.POD).items}
            for claim in self.kube.list(kinds.NODE_CLAIM).items:
                node = (claim.get("status") or {}).get("nodeName")
                if node and node not in used and "deletionTimestamp" not in claim["metadata"]:
                    self._take_away(claim)
        return Result(60.0)

    def _take_away(self, claim: Any) -> None:
        since = dt.datetime.fromtimestamp(self.clock.now(), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        why = {
            "type": "DisruptionReason",
            "status": "True",
            "reason": "Empty",
            "message": "",
            "lastTransitionTime": since,
        }
        conditions = [*claim["status"]["conditions"], why]
        self.kube.patch(
            kinds.NODE_CLAIM, claim["metadata"]["name"], {"status": {"conditions": conditions}}, subresource="status"
        )
        self.kube.delete(kinds.NODE_CLAIM, claim["metadata"]["name"])


@pytest.mark.parametrize(("zone_name", "caught"), [("UTC", False), ("America/New_York", True)])
def test_r42_a_controller_that_reads_schedules_in_its_own_zone_is_caught(zone_name: str, caught: bool) -> None:
    def cleaning(surroundings: Surroundings) -> Operator:
        operator = karpy(surroundings)
        kept = [each for each in operator.controllers if each.name != "disruption"]
        operator.controllers = (*kept, Janitor(surroundings, zone_name))
        return operator

    assert ("budgets_hold" in broken(over_night(cleaning))) is caught
