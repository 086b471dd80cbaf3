"""What befalls machines: seen through the cloud that has them, and told by its notices."""

from __future__ import annotations

import pytest

from karpy.cloud.notices import NoticeKind
from karpy.errors import InvalidObject, NodeClaimNotFound
from karpy.objects.nodeclaim import NodeClaim
from karpy.sim.clock import VirtualClock
from karpy.sim.cloud import SimCloud
from karpy.sim.generic import GenericModel
from karpy.sim.machines import Machine
from karpy.sim.weather import Hazard, Mishap, MishapKind, Weather
from tests.karpy.sim.manifests import NODE_CLASS, QUICK


class Setup:
    def __init__(self, seed: int = 0, *, machines: int = 1, **weather: tuple[Hazard, ...] | tuple[Mishap, ...]) -> None:
        self.clock = VirtualClock()
        self.start = self.clock.now()
        self.cloud = SimCloud((GenericModel(),), self.clock, seed, timing=QUICK, weather=Weather(**weather))
        catalog = GenericModel().instance_types()
        for number in range(machines):
            self.cloud.create(NodeClaim(name=f"claim-{number}"), NODE_CLASS, catalog)
        self.first = self.cloud.machines[0]

    def told(self) -> list[tuple[str, str, str]]:
        """Kind, machine and state of every notice until now, each once."""
        found = []
        for notice in self.cloud.messages(most=999):
            self.cloud.acknowledge(notice)
            found.append((notice.kind.value, notice.provider_id, notice.state))
        return found

    def befall(self, kind: str, **more: float) -> None:
        self.cloud.befall(self.first.provider_id, kind, **more)


def test_an_interruption_is_told_two_minutes_before_the_machine_is_taken() -> None:
    it = Setup()
    it.befall("interruption")
    (notice,) = it.cloud.messages()
    assert (notice.kind, notice.provider_id, notice.due) == (
        NoticeKind.SPOT_INTERRUPTION,
        it.first.provider_id,
        it.start + 120,
    )
    it.cloud.acknowledge(notice)
    it.clock.advance(119.9)
    assert it.first.runs_kubelet
    assert it.told() == []
    it.clock.advance(0.1)
    assert it.cloud.get(it.first.provider_id).is_terminating
    assert it.cloud.cost_per_hour() == 0.0
    assert it.told() == [("instance_terminated", it.first.provider_id, "shutting-down")]
    it.clock.advance(5)
    assert it.cloud.machines == ()
    assert it.told() == [("instance_terminated", it.first.provider_id, "terminated")]


def test_a_machine_that_was_deleted_during_its_notice_ends_once() -> None:
    it = Setup()
    it.befall("interruption")
    it.cloud.delete(it.first.provider_id)
    it.clock.advance(200)
    assert [kind for kind, *_ in it.told()] == ["spot_interrupted", "instance_terminated", "instance_terminated"]
    assert it.cloud.cost_per_hour() == 0.0


def test_the_end_of_a_notice_is_kept_even_if_nobody_looks_for_hours() -> None:
    it = Setup()
    price = it.first.price
    it.befall("interruption")
    it.clock.advance(7200)
    assert it.cloud.cost() == pytest.approx(price * 120 / 3600)


def test_only_spot_is_interrupted() -> None:
    it = Setup()
    instance = it.cloud.add_machine("c-1x-amd64", "sim-1a", NODE_CLASS)
    it.cloud.befall(instance.provider_id, MishapKind.INTERRUPTION)
    it.clock.advance(300)
    assert it.told() == []
    assert it.cloud.machine(instance.provider_id) is not None


def test_a_rebalance_recommendation_is_only_told() -> None:
    it = Setup()
    it.befall("rebalance")
    it.clock.advance(250)
    assert it.told() == [("rebalance_recommendation", it.first.provider_id, "")]
    assert it.first.runs_kubelet


def test_maintenance_is_announced_and_then_stops_the_machine() -> None:
    it = Setup()
    it.befall("maintenance", for_s=200.0)
    assert it.told() == [("scheduled_change", it.first.provider_id, "")]
    it.clock.advance(200)
    assert [(kind, state) for kind, _, state in it.told()] == [
        ("instance_stopped", "stopping"),
        ("instance_stopped", "stopped"),
    ]
    assert not it.first.runs_kubelet


def test_a_stopped_machine_is_there_costs_nothing_and_can_be_deleted() -> None:
    it = Setup()
    it.befall("stop")
    it.clock.advance(3600)
    assert [seen.is_terminating for seen in it.cloud.list()] == [False]
    assert it.cloud.cost_per_hour() == 0.0
    it.cloud.delete(it.first.provider_id)
    it.clock.advance(5)
    assert it.cloud.list() == ()
    assert it.cloud.cost_per_hour() == 0.0


def test_a_machine_that_somebody_terminates_is_told_of() -> None:
    it = Setup()
    it.befall("termination")
    it.clock.advance(5)
    assert [state for *_, state in it.told()] == ["shutting-down", "terminated"]


@pytest.mark.parametrize("kind", ["death", "vanishing"])
def test_death_and_vanishing_are_not_told(kind: str) -> None:
    it = Setup()
    heard: list[Machine] = []
    it.cloud.subscribe(heard.append)
    it.befall(kind)
    assert heard == [it.first]
    assert not it.first.runs_kubelet
    assert it.told() == []
    assert len(it.cloud.machines) == (kind == "death")


def test_a_silence_ends_unless_something_else_has_befallen_the_machine() -> None:
    it = Setup(machines=4)
    _, dead, stopped, untouched = it.cloud.machines
    for machine in (it.first, dead, stopped):
        it.cloud.befall(machine.provider_id, "silence", for_s=60.0)
    it.cloud.befall(dead.provider_id, "death")
    it.cloud.befall(stopped.provider_id, "stop")
    assert [machine.runs_kubelet for machine in it.cloud.machines] == [False, False, False, True]
    it.clock.advance(60)
    assert [machine.runs_kubelet for machine in it.cloud.machines] == [True, False, False, True]
    assert it.cloud.machines[3] is untouched


def test_the_dead_do_not_only_fall_silent() -> None:
    it = Setup()
    it.befall("death")
    it.befall("silence", for_s=10.0)
    it.clock.advance(10)
    assert [machine.runs_kubelet for machine in it.cloud.machines] == [False]


def test_what_is_stopped_can_only_end() -> None:
    it = Setup()
    it.befall("stop")
    it.told()
    for kind in ("stop", "interruption", "rebalance", "maintenance", "silence"):
        it.befall(kind)
    assert it.told() == []
    it.befall("termination")
    it.clock.advance(5)
    assert it.cloud.machines == ()


def test_what_does_not_exist_cannot_be_befallen() -> None:
    it = Setup()
    with pytest.raises(NodeClaimNotFound):
        it.cloud.befall("sim:///sim-1a/i-1", "death")
    with pytest.raises(InvalidObject, match="there is no 'sadness'"):
        it.befall("sadness")


def test_a_plan_strikes_the_machine_of_its_number_at_its_time() -> None:
    it = Setup(machines=3, mishaps=(Mishap("death", 100.0, machine=2), Mishap("vanishing", 50.0, machine=9)))
    it.clock.advance(99)
    assert all(machine.runs_kubelet for machine in it.cloud.machines)
    it.clock.advance(1)
    assert [machine.runs_kubelet for machine in it.cloud.machines] == [True, False, True]
    assert it.cloud.machines[1].dies_at == it.start + 100


def test_a_plan_without_a_number_strikes_the_oldest_that_it_can() -> None:
    it = Setup(machines=3, mishaps=(Mishap("vanishing", 10.0), Mishap("vanishing", 20.0)))
    it.clock.advance(20)
    assert [machine.serial for machine in it.cloud.machines] == [3]


def test_hazards_strike_each_machine_by_chance_and_by_the_seed() -> None:
    def left(seed: int) -> list[int]:
        it = Setup(seed, machines=200, hazards=(Hazard("vanishing", per_hour=0.5),))
        it.clock.advance(3600)
        return [machine.serial for machine in it.cloud.machines]

    assert left(1) == left(1) != left(2)
    assert len(left(1)) in range(100, 143)  # e ** -0.5 of 200, give or take three deviations


def test_one_hazard_less_changes_no_other() -> None:
    def dead(*hazards: Hazard) -> set[int]:
        it = Setup(machines=50, hazards=hazards)
        it.clock.advance(3600)
        return {machine.serial for machine in it.cloud.machines if not machine.runs_kubelet}

    deaths = Hazard("death", per_hour=1.0)
    assert dead(deaths) == dead(deaths, Hazard("rebalance", per_hour=1.0))


def test_a_kubelet_knows_beforehand_when_it_dies() -> None:
    it = Setup(hazards=(Hazard("death", per_hour=60.0),))
    dies_at = it.first.dies_at
    assert dies_at is not None
    assert it.first.runs_kubelet
    it.clock.set(dies_at)
    it.cloud.catch_up()
    assert not it.first.runs_kubelet
