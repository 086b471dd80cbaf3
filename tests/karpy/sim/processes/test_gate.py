"""What each fault does to a call, as the caller and the other side see it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from karpy.errors import KubeError, ProviderError, Throttled
from karpy.objects.kinds import LEASE, NODE
from karpy.sim.clock import VirtualClock
from karpy.sim.faults import Fault, Faults
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.gate import Crashed, Gate


def gate_with(faults: str, *, elects: bool = False) -> Gate:
    clock = VirtualClock(0.0)
    boundary = Boundary(clock, Faults.parse(faults))
    boundary.pass_time = lambda seconds: clock.set(clock.now() + seconds)
    return Gate(boundary, "me", elects=elects)


class Other:
    """The other side: remembers when it was reached."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.reached: list[float] = []

    def patch(self) -> str:
        return self.gate.call(self._act, "patch", NODE, "n", body={})

    def launch(self) -> str:
        return self.gate.call(self._act, "create", None, "claim")

    def renew(self) -> str:
        return self.gate.call(self._act, "replace", LEASE, "l", "kube-system")

    def _act(self) -> str:
        self.reached.append(self.gate.boundary.clock.now())
        return "done"


def test_without_faults_calls_cross_at_once() -> None:
    gate = gate_with("")
    other = Other(gate)
    assert (other.patch(), other.launch()) == ("done", "done")
    assert other.reached == [0.0, 0.0]
    assert [str(call) for call in gate.boundary.trace] == [
        "00:00:00.000 #1 me patch nodes/n → ok",
        "00:00:00.000 #2 me create cloud/claim → ok",
    ]


@pytest.mark.parametrize(("fault", "code"), [("conflict", 409), ("throttled", 429), ("error", 500)])
def test_a_refused_call_does_nothing(fault: str, code: int) -> None:
    other = Other(gate_with(f"{fault}@1"))
    with pytest.raises(KubeError) as error:
        other.patch()
    assert error.value.code == code
    assert other.reached == []
    assert other.patch() == "done"


@pytest.mark.parametrize(("fault", "raised"), [("throttled", Throttled), ("error", ProviderError)])
def test_the_cloud_refuses_in_its_own_words(fault: str, raised: type[Exception]) -> None:
    other = Other(gate_with(f"{fault}@1"))
    with pytest.raises(raised):
        other.launch()
    assert other.reached == []


def test_a_conflict_comes_only_where_something_may_have_changed() -> None:
    other = Other(gate_with("conflict@1"))
    assert other.launch() == "done"
    assert other.gate.boundary.injected == {}


def test_an_answer_may_be_lost_after_the_call_took_effect() -> None:
    other = Other(gate_with("lost@1"))
    with pytest.raises(KubeError) as error:
        other.patch()
    assert error.value.code == 504
    assert len(other.reached) == 1
    assert "ok, but the answer was lost" in str(other.gate.boundary.trace)


@pytest.mark.parametrize(("fault", "effects"), [("crash-before", 0), ("crash-after", 1)])
def test_a_crash_is_nothing_that_a_controller_catches(fault: str, effects: int) -> None:
    other = Other(gate_with(f"{fault}@1"))
    with pytest.raises(Crashed):
        catching_everything(other.patch)
    assert len(other.reached) == effects


def catching_everything(act: Callable[[], Any]) -> None:
    try:
        act()
    except Exception:  # as careless controllers do
        return


def test_a_slow_call_takes_effect_in_the_midst_of_its_time() -> None:
    other = Other(gate_with("slow@1"))
    assert other.patch() == "done"
    (effect,) = other.reached
    assert 0 <= effect <= other.gate.boundary.clock.now()
    assert 5 <= other.gate.boundary.clock.now() <= 15


def test_what_was_sent_takes_effect_though_its_sender_ends() -> None:
    gate = gate_with("slow@1")
    other = Other(gate)
    passes = gate.boundary.pass_time

    def end_meanwhile(seconds: float) -> None:
        passes(seconds)
        gate.is_closed = True

    gate.boundary.pass_time = end_meanwhile
    with pytest.raises(Crashed):
        other.patch()
    assert len(other.reached) == 1
    with pytest.raises(Crashed):
        other.patch()
    assert len(other.reached) == 1


def test_a_stalled_call_fails_after_time_has_passed() -> None:
    gate = gate_with("stall@1")
    with pytest.raises(KubeError, match="no answer"):
        Other(gate).patch()
    assert gate.boundary.clock.now() == gate.stalled_until >= 2


def test_a_clock_that_jumped_is_wrong_for_the_process_only() -> None:
    gate = gate_with("jump@1")
    assert Other(gate).patch() == "done"
    assert gate.boundary.clock.now() == 0.0
    assert gate.now() == gate.offset != 0.0


def test_who_is_deposed_does_not_reach_its_lease_for_a_while_but_all_else() -> None:
    gate = gate_with("deposed@1", elects=True)
    other = Other(gate)
    assert other.patch() == "done"
    with pytest.raises(KubeError, match="out of reach"):
        other.renew()
    gate.boundary.pass_time(30)
    assert other.renew() == "done"


def test_who_does_not_elect_has_no_lease_to_lose() -> None:
    gate = gate_with("deposed@1")
    assert Other(gate).patch() == "done"
    assert Other(gate).renew() == "done"
    assert gate.boundary.injected == {}


def test_who_may_not_act_any_more_ends_at_its_next_call() -> None:
    gate = gate_with("", elects=True)
    other = Other(gate)
    gate.may_act = lambda: False
    assert other.renew() == "done"
    with pytest.raises(Crashed):
        other.patch()
    assert len(other.reached) == 1


def test_chances_end_when_they_are_said_to() -> None:
    gate = gate_with("error:1 until:60")
    other = Other(gate)
    with pytest.raises(KubeError):
        other.patch()
    assert not gate.boundary.is_calm
    gate.boundary.pass_time(60)
    assert gate.boundary.is_calm
    assert other.patch() == "done"


def test_what_happened_is_a_plan_that_brings_it_again() -> None:
    def play(gate: Gate) -> list[str]:
        for _ in range(40):
            with contextlib.suppress(KubeError):
                Other(gate).patch()
        return [str(call) for call in gate.boundary.trace]

    chance = gate_with("error:0.1 lost:0.1 slow:0.1 seed:5")
    told = play(chance)
    plan = chance.boundary.faults.by_plan(tuple(chance.boundary.happened))
    assert {each.fault for each in plan.plan} == {Fault.ERROR, Fault.LOST, Fault.SLOW}
    assert play(gate_with(str(plan))) == told
