"""Machines that somebody else has sold, on a world's time."""

from __future__ import annotations

import math

import pytest

from karpy import labels
from karpy.cloud.notices import NoticeKind
from karpy.sim.clock import VirtualClock
from karpy.sim.generic import GenericModel
from karpy.sim.machines import Machine
from karpy.sim.region.colocation import Arrival, Colocation
from karpy.sim.region.mishaps import Mishap, Stray
from karpy.sim.region.quotas import Quota
from karpy.sim.region.shortages import Shortage
from karpy.sim.region.timing import Timing
from karpy.sim.region.troubles import Trouble, TroubleKind
from karpy.sim.region.where import Where
from karpy.sim.weather import Weather

TIMING = Timing(boot=(10.0, 10.0), ready=(5.0, 5.0), terminate=(3.0, 3.0))


class Setup:
    def __init__(self, weather: Weather | None = None) -> None:
        self.clock = VirtualClock()
        self.start = self.clock.now()
        self.machines = Colocation("acme", self.clock, timing=TIMING, weather=weather)
        self.told: list[Machine] = []
        self.machines.subscribe(self.told.append)

    def arrival(self, id_: str = "acme:///1", capacity_type: str = labels.SPOT, *, joins: bool = True) -> Arrival:
        type_ = GenericModel().instance_types().by_name("c-4x-amd64")
        assert type_ is not None
        offering = next(each for each in type_.offerings if each.capacity_type == capacity_type)
        return Arrival(
            provider_id=id_,
            node_name=id_.rpartition("/")[2],
            claim="web",
            instance_type=type_,
            offering=offering,
            labels={"team": "a"},
            price=3.6,
            joins=joins,
        )

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.machines.catch_up()


def test_a_machine_is_there_from_its_launch_and_gone_some_time_after_its_end() -> None:
    it = Setup()
    machine = it.machines.receive(it.arrival())
    assert it.machines.machine("acme:///1") is machine
    assert (machine.joins_at, machine.ready_at) == (it.start + 10, it.start + 15)
    assert (machine.model, machine.serial, it.machines.launches) == ("acme", 1, 1)
    it.pass_time(1000)
    it.machines.end("acme:///1")
    assert (machine.runs_kubelet, len(it.machines.machines)) == (False, 1)
    it.pass_time(3)
    assert (it.machines.machine("acme:///1"), it.machines.machines) == (None, ())
    assert it.told == [machine, machine]


def test_it_costs_its_price_until_its_end_is_asked_for_and_asking_again_changes_nothing() -> None:
    it = Setup()
    it.machines.receive(it.arrival())
    assert it.machines.cost_per_hour() == 3.6
    it.pass_time(1000)
    it.machines.end("acme:///1")
    it.pass_time(1)
    it.machines.end("acme:///1")
    it.machines.end("acme:///unheard-of")
    assert (it.machines.cost_per_hour(), it.machines.cost()) == (0.0, pytest.approx(1.0))


def test_one_that_was_not_told_how_to_join_never_joins() -> None:
    it = Setup()
    machine = it.machines.receive(it.arrival(joins=False))
    assert (machine.joins, machine.joins_at) == (False, math.inf)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (TroubleKind.NEVER_JOINS, (False, math.inf, 1.0)),
        (TroubleKind.SLOW, (True, 610.0, 1.0)),
        (TroubleKind.LESS_MEMORY, (True, 10.0, 0.95)),
    ],
)
def test_what_is_wrong_with_a_machine_is_written_on_it(kind: TroubleKind, found: tuple[bool, float, float]) -> None:
    it = Setup()
    machine = it.machines.receive(it.arrival(), {kind: Trouble(kind).by})
    assert (machine.joins, machine.joins_at - it.start, machine.memory_factor) == found


def test_one_that_ends_early_ends_by_itself() -> None:
    it = Setup()
    machine = it.machines.receive(it.arrival(), {TroubleKind.ENDS_EARLY: 20.0})
    it.pass_time(19)
    assert machine.terminating_since is None
    it.pass_time(1)
    assert machine.terminating_since == it.start + 20


def test_an_interruption_is_announced_and_then_takes_place() -> None:
    it = Setup(Weather(mishaps=(Mishap("interruption", at_s=100.0, for_s=120.0),)))
    machine = it.machines.receive(it.arrival())
    it.pass_time(100)
    (notice,) = it.machines.notices.receive(it.clock.now())
    assert (notice.kind, notice.provider_id) == (NoticeKind.SPOT_INTERRUPTION, "acme:///1")
    assert notice.due == machine.taken_at == it.start + 220
    it.pass_time(120)
    assert machine.terminating_since == it.start + 220


def test_strays_are_left_to_whoever_stands_in_for_the_cloud() -> None:
    stray = Stray(at_s=50.0)
    it, found = Setup(Weather(strays=(stray,))), []
    it.machines.on_stray(found.append)
    it.pass_time(49)
    assert found == []
    it.pass_time(1)
    assert found == [stray]


def test_when_the_weather_clears_up_nothing_is_short_any_more_and_everybody_is_told() -> None:
    key, everything = ("c-4x-amd64", "sim-1a", labels.SPOT), Where()
    weather = Weather(
        shortages=(Shortage(everything),),
        quotas=(Quota(everything, machines=0),),
        troubles=(Trouble("error", share=1.0),),
        mishaps=(Mishap("vanishing", at_s=200.0),),
        strays=(Stray(at_s=200.0),),
        lasts_s=100.0,
    )
    it, heard = Setup(weather), []
    it.machines.on_clear(lambda: heard.append("clear"))
    it.machines.on_stray(lambda _stray: heard.append("stray"))
    capacity = it.machines.receive(it.arrival()).instance_type.capacity
    assert not it.machines.stock.has(key, 0.0)
    assert it.machines.quotas.refusal(key, capacity)
    assert it.machines.troubles.of(1, key)
    it.pass_time(300)
    assert it.machines.stock.has(key, 300.0)
    assert not it.machines.quotas.refusal(key, capacity)
    assert not it.machines.troubles.of(1, key)
    assert (len(it.machines.machines), heard) == (1, ["clear"])


def test_whoever_lets_time_pass_learns_when_something_is_due() -> None:
    it, due = Setup(Weather(mishaps=(Mishap("vanishing", at_s=60.0),))), []
    it.machines.on_plan(due.append)
    assert due == [it.start + 60]
    assert it.machines.catch_up() == it.start + 60
    it.pass_time(60)
    assert it.machines.catch_up() is None
