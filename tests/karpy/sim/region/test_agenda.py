from __future__ import annotations

from functools import partial

from karpy.controllers.base import Request
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock
from karpy.sim.loop import Loop
from karpy.sim.region.agenda import Agenda, CloudEvents


def test_what_is_due_is_done_in_the_order_of_time_and_told_when_it_was_planned() -> None:
    agenda, done = Agenda(), list[tuple[str, float]]()
    for at, name in ((3.0, "c"), (1.0, "a"), (1.0, "b"), (9.0, "d")):
        agenda.plan(at, partial(lambda name, at: done.append((name, at)), name))
    assert agenda.next_time() == 1.0
    agenda.catch_up(5.0)
    assert done == [("a", 1.0), ("b", 1.0), ("c", 3.0)]
    assert agenda.next_time() == 9.0


def test_what_an_action_plans_is_done_too_if_it_is_due() -> None:
    agenda, done = Agenda(), list[float]()

    def again(at: float) -> None:
        done.append(at)
        if len(done) < 9:
            agenda.plan(at + 2.0, again)

    agenda.plan(0.0, again)
    agenda.catch_up(5.0)
    assert done == [0.0, 2.0, 4.0]


def test_listeners_are_told_of_the_next_and_of_all_that_is_planned_from_then_on() -> None:
    agenda, told = Agenda(), list[float]()
    agenda.plan(7.0, lambda _at: None)
    agenda.on_plan(told.append)
    agenda.plan(9.0, lambda _at: None)
    assert told == [7.0, 9.0]


class EventfulCloud:
    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.agenda = Agenda()
        self.on_plan = self.agenda.on_plan
        self.done: list[float] = []

    def plan(self, at: float) -> None:
        self.agenda.plan(at, lambda _at: self.done.append(self.clock.now()))

    def catch_up(self) -> float | None:
        self.agenda.catch_up(self.clock.now())
        return self.agenda.next_time()


def test_the_loop_lets_it_happen_in_time_though_nobody_asks() -> None:
    clock = VirtualClock(1000.0)
    loop, cloud = Loop(ApiServer(clock), clock), EventfulCloud(clock)
    cloud.plan(1010.5)
    CloudEvents(cloud, clock).join(loop)
    cloud.plan(1003.25)
    loop.run(1005.0)
    assert cloud.done == [1003.25]
    cloud.plan(1007.0)
    loop.run(1100.0)
    assert cloud.done == [1003.25, 1007.0, 1010.5]


def test_it_sleeps_while_nothing_is_planned() -> None:
    clock = VirtualClock()
    loop = Loop(ApiServer(clock), clock)
    events = CloudEvents(EventfulCloud(clock), clock)
    events.join(loop)
    loop.run_ready()
    assert loop.next_time() is None
    assert events.reconcile(Request()).requeue_after_s is None
