from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karpy.controllers.provisioning.patience import Patience
from karpy.objects.nodeclaim import INITIALIZED, LAUNCHED, REGISTERED
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_machine, make_pod

POD = make_pod("p")
UID: str = POD["metadata"]["uid"]
UP = (LAUNCHED, REGISTERED, INITIALIZED)


class Waiting:
    """A pod, the claims that were made for it, and what became of them."""

    def __init__(self) -> None:
        self.patience = Patience()
        self.objects: list[Any] = [POD]
        self.count = 0

    def comes(self, at: float, reached: Sequence[str] = UP) -> None:
        """A machine was launched for the pod, and is so far now."""
        self.count += 1
        name = f"m{self.count}"
        self.patience.note_launch(name, [UID])
        self.objects += make_machine(name, reached=reached)
        self.look(at)

    def look(self, at: float) -> None:
        self.patience.look(Snapshot.from_objects(self.objects), START + at)

    def is_held(self, at: float) -> bool:
        return self.patience.holds(UID, START + at)


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


def test_one_machine_in_vain_is_nobodys_fault(waiting: Waiting) -> None:
    waiting.comes(0)
    assert not waiting.is_held(0)


def test_from_the_second_on_the_pod_waits_longer_and_longer(waiting: Waiting) -> None:
    waiting.comes(0)
    waits = []
    for number in range(10):
        at = 10_000.0 * (number + 1)
        waiting.comes(at)
        waits.append(next(wait for wait in (30, 60, 120, 240, 480, 960, 1920, 3600) if not waiting.is_held(at + wait)))
        assert waiting.is_held(at + waits[-1] - 1)
    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_a_machine_counts_once_and_only_when_it_is_up(waiting: Waiting) -> None:
    waiting.comes(0)
    waiting.comes(0, reached=(LAUNCHED,))
    waiting.look(1)
    assert waiting.patience.came_in_vain(UID) == 1


def test_what_was_refused_does_not_count(waiting: Waiting) -> None:
    for number in range(5):
        waiting.patience.note_launch(f"refused-{number}", [UID])
        waiting.look(number)
    assert waiting.patience.came_in_vain(UID) == 0


def test_a_pod_that_has_a_place_is_forgotten(waiting: Waiting) -> None:
    for _ in range(3):
        waiting.comes(0)
    waiting.objects[0] = make_pod("p", node="m1")
    waiting.look(1)
    assert not waiting.is_held(1)
    assert waiting.patience.came_in_vain(UID) == 0


def test_a_clock_that_jumps_back_makes_nobody_wait_for_longer(waiting: Waiting) -> None:
    for _ in range(2):
        waiting.comes(1000)
    assert waiting.is_held(1000)
    assert not waiting.is_held(900)
