from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from karpy.controllers.base import DONE, Request, Result, Source, by_name, singleton
from karpy.errors import InternalError, KubeError, Throttled
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import DEFAULT_START, VirtualClock
from karpy.sim.generic import NODE_CLASS, GenericModel
from karpy.sim.loop import Loop


class Recording:
    """A controller that notes when it is called and does what it is told."""

    def __init__(
        self, clock: VirtualClock, act: Callable[[Request], Result] = lambda _: DONE, *sources: Source, name: str = "r"
    ) -> None:
        self.name = name
        self.sources: Sequence[Source] = sources
        self.calls: list[tuple[float, Request]] = []
        self._clock = clock
        self._act = act

    def reconcile(self, request: Request) -> Result:
        self.calls.append((self._clock.now() - DEFAULT_START, request))
        return self._act(request)

    @property
    def times(self) -> list[float]:
        return [round(at, 3) for at, _ in self.calls]


class Setup:
    def __init__(self, seed: int = 0) -> None:
        self.clock = VirtualClock()
        self.api = ApiServer(self.clock)
        self.loop = Loop(self.api, self.clock, seed)

    def config(self, name: str) -> None:
        self.api.create(kinds.CONFIG_MAP, {"metadata": {"name": name}}, "default")


CONFIGS = Source(kinds.CONFIG_MAP, by_name)


def test_an_event_wakes_the_request_that_it_names() -> None:
    it = Setup()
    controller = Recording(it.clock, lambda _: DONE, CONFIGS)
    it.loop.add(controller)
    it.config("a")
    it.loop.run_ready()
    assert controller.calls == [(0.0, Request("a", "default"))]


def test_several_events_for_one_request_are_one_reconcile() -> None:
    it = Setup()
    controller = Recording(it.clock, lambda _: DONE, Source(kinds.CONFIG_MAP, singleton))
    it.loop.add(controller)
    it.config("a")
    it.config("b")
    it.loop.run_ready()
    assert controller.calls == [(0.0, Request())]


def test_a_controller_added_later_hears_of_what_exists() -> None:
    it = Setup()
    it.loop.add(Recording(it.clock, lambda _: DONE, CONFIGS))
    it.config("a")
    it.loop.run_ready()
    late = Recording(it.clock, lambda _: DONE, CONFIGS)
    it.loop.add(late)
    it.loop.run_ready()
    assert [request.name for _, request in late.calls] == ["a"]


def test_listeners_hear_an_event_before_controllers_do() -> None:
    it, order = Setup(), []
    controller = Recording(it.clock, lambda _: order.append("controller") or DONE, CONFIGS)  # type: ignore[func-returns-value]
    it.loop.add(controller)
    it.loop.subscribe(kinds.CONFIG_MAP, lambda event: order.append(event.type.value))
    it.config("a")
    it.loop.run_ready()
    assert order == ["ADDED", "controller"]


def test_the_clock_jumps_to_the_next_timer() -> None:
    it = Setup()
    controller = Recording(it.clock, lambda _: Result(30.0))
    it.loop.add(controller)
    it.loop.wake(controller, Request())
    it.loop.run(DEFAULT_START + 70)
    assert controller.times == [0.0, 30.0, 60.0]
    assert it.clock.now() == DEFAULT_START + 70


def test_an_idle_controller_is_never_called() -> None:
    it = Setup()
    controller = Recording(it.clock, lambda _: DONE, CONFIGS)
    it.loop.add(controller)
    it.loop.run(DEFAULT_START + 1_000_000)
    assert controller.calls == []
    assert it.loop.next_time() is None


def test_the_newest_answer_replaces_an_older_timer() -> None:
    it = Setup()
    answers = iter([Result(10.0), DONE])
    controller = Recording(it.clock, lambda _: next(answers), CONFIGS)
    it.loop.add(controller)
    it.config("a")
    it.loop.run_ready()
    it.api.patch(kinds.CONFIG_MAP, "a", {"data": {"k": "v"}}, "default")
    it.loop.run(DEFAULT_START + 60)
    assert controller.times == [0.0, 0.0]


def test_waking_never_postpones_a_timer() -> None:
    it = Setup()
    controller = Recording(it.clock)
    it.loop.add(controller)
    it.loop.wake(controller, Request(), 5.0)
    it.loop.wake(controller, Request(), 50.0)
    it.loop.run(DEFAULT_START + 100)
    assert controller.times == [5.0]


def test_errors_of_the_api_are_retried_with_doubling_back_off() -> None:
    it = Setup()

    def fail(_: Request) -> Result:
        raise KubeError("busy", code=500)

    controller = Recording(it.clock, fail)
    it.loop.add(controller)
    it.loop.wake(controller, Request())
    it.loop.run(DEFAULT_START + 100)
    assert controller.times == [0.0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7, 25.5, 51.1, 81.1]
    assert it.loop.errors == {("r", "KubeError"): 11}


def test_success_forgets_the_back_off() -> None:
    it = Setup()
    outcomes = iter([True, True, False, True, True])

    def act(_: Request) -> Result:
        if next(outcomes, False):
            raise KubeError("busy", code=500)
        return Result(10.0)

    controller = Recording(it.clock, act)
    it.loop.add(controller)
    it.loop.wake(controller, Request())
    it.loop.run(DEFAULT_START + 15)
    assert controller.times == [0.0, 0.1, 0.3, 10.3, 10.4, 10.6]


def test_a_throttled_request_waits_as_long_as_it_is_told() -> None:
    it = Setup()
    outcomes = iter([True])

    def act(_: Request) -> Result:
        if next(outcomes, False):
            raise Throttled("slow down", retry_after_s=7.0)
        return DONE

    controller = Recording(it.clock, act)
    it.loop.add(controller)
    it.loop.wake(controller, Request())
    it.loop.run(DEFAULT_START + 60)
    assert controller.times == [0.0, 7.0]


def test_a_bug_in_a_controller_is_seen() -> None:
    it = Setup()

    def act(_: Request) -> Result:
        raise ZeroDivisionError

    controller = Recording(it.clock, act)
    it.loop.add(controller)
    it.loop.wake(controller, Request())
    with pytest.raises(ZeroDivisionError):
        it.loop.run_ready()


def test_controllers_that_never_come_to_rest_are_a_bug() -> None:
    it = Setup()
    controller = Recording(it.clock, lambda _: Result(0.0), name="restless")
    it.loop.add(controller)
    it.loop.wake(controller, Request())
    with pytest.raises(InternalError, match="restless"):
        it.loop.run_ready()


def test_a_kind_that_is_not_served_is_asked_for_again_later() -> None:
    it = Setup()
    unknown = Kind("example.com", "v1", "Gadget", "gadgets")
    controller = Recording(it.clock, lambda _: DONE, Source(unknown, by_name))
    it.loop.add(controller)
    it.loop.run(DEFAULT_START + 5)
    assert it.loop.errors == {("watch", "gadgets.example.com"): 3}
    assert controller.calls == []


def test_a_deleted_object_is_told_and_forgotten() -> None:
    it, told = Setup(), []
    it.loop.subscribe(kinds.CONFIG_MAP, lambda event: told.append(event.type))
    it.config("a")
    it.loop.run_ready()
    assert ("default", "a") in it.loop.objects(kinds.CONFIG_MAP)
    it.api.delete(kinds.CONFIG_MAP, "a", "default")
    it.loop.run_ready()
    assert told == [EventType.ADDED, EventType.DELETED]
    assert not it.loop.objects(kinds.CONFIG_MAP)


def order_of(seed: int) -> list[str]:
    it = Setup(seed)
    controller = Recording(it.clock, lambda _: DONE, CONFIGS)
    it.loop.add(controller)
    for letter in "abcdefgh":
        it.config(letter)
    it.loop.run_ready()
    return [request.name for _, request in controller.calls]


def test_the_order_of_ready_requests_comes_from_the_seed_alone() -> None:
    assert order_of(1) == order_of(1)
    assert len({tuple(order_of(seed)) for seed in range(5)}) > 1


def test_events_are_the_same_object_for_everyone() -> None:
    it = Setup()
    seen: list[WatchEvent] = []
    it.loop.subscribe(kinds.CONFIG_MAP, seen.append)
    it.loop.subscribe(kinds.CONFIG_MAP, seen.append)
    it.config("a")
    it.loop.run_ready()
    assert seen[0] is seen[1]


def test_only_watches_that_have_something_to_say_are_asked() -> None:
    clock = VirtualClock()
    api = ApiServer(clock)
    loop = Loop(api, clock, news=api.store)
    controller = Recording(clock, lambda _: DONE, CONFIGS)
    loop.add(controller)
    loop.subscribe(kinds.NODE, lambda _: None)
    loop.run_ready()
    asked = spied_watches(loop)
    loop.run_ready()
    assert asked == []
    api.create(kinds.CONFIG_MAP, {"metadata": {"name": "a"}}, "default")
    loop.run_ready()
    assert asked == [kinds.CONFIG_MAP]
    assert [request.name for _, request in controller.calls] == ["a"]


def spied_watches(loop: Loop) -> list[Kind]:
    """The kinds whose watches are asked from now on."""
    asked: list[Kind] = []
    for feed in loop._feeds.values():
        reflector = feed.reflector

        def poll(real: Callable[[], int] = reflector.poll, kind: Kind = reflector.kind) -> int:
            asked.append(kind)
            return real()

        reflector.poll = poll  # type: ignore[method-assign]
    return asked


def test_a_kind_that_ceases_to_be_served_is_news() -> None:
    clock = VirtualClock()
    api = ApiServer(clock)
    for crd in GenericModel().crds():
        api.install_crd(crd)
    api.create(NODE_CLASS, {"metadata": {"name": "x"}, "spec": {}})
    loop = Loop(api, clock, news=api.store)
    told: list[EventType] = []
    loop.subscribe(NODE_CLASS, lambda event: told.append(event.type))
    loop.run_ready()
    api.delete(kinds.CRD, f"{NODE_CLASS.plural}.{NODE_CLASS.group}")
    loop.run(DEFAULT_START + 60)
    assert told == [EventType.ADDED, EventType.DELETED]
    assert not loop.objects(NODE_CLASS)
