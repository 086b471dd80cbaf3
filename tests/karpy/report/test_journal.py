from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Command, Method
from karpy.objects.kinds import POD
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.report.happening import Happening, What
from karpy.report.journal import Journal
from karpy.scheduling.plan import Plan, Unschedulable
from karpy.sim.clock import VirtualClock


class Story:
    """A journal and what it told, on a clock of its own."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.told: list[Happening] = []
        self.journal = Journal(self.clock, self.told.append, {}.get)

    def pod(self, name: str, node: str = "", phase: str = "Pending") -> None:
        obj: dict[str, Any] = {"metadata": {"name": name, "namespace": "default"}, "status": {"phase": phase}}
        obj["spec"] = {"nodeName": node} if node else {}
        self.journal.take(WatchEvent(EventType.MODIFIED, POD, obj))

    @property
    def kinds(self) -> list[What]:
        return [happening.what for happening in self.told]


@pytest.fixture
def story() -> Story:
    return Story()


def test_what_happens_at_one_instant_is_told_when_time_moves_on(story: Story) -> None:
    story.pod("a")
    story.pod("b")
    assert story.told == []
    story.clock.advance(1)
    story.pod("c")
    (first,) = story.told
    assert first.fields["pods"] == ["default/a", "default/b"]
    assert first.at == story.journal.start


def test_causes_are_told_before_effects(story: Story) -> None:
    story.pod("a", "n1")
    story.pod("b")
    story.journal.note(What.SCALE, "more")
    story.journal.flush()
    assert story.kinds == [What.SCALE, What.PODS_PENDING, What.PODS_BOUND]


def test_pods_that_start_one_after_another_are_told_together(story: Story) -> None:
    for index in range(5):
        story.pod(f"pod-{index}", "n1", "Running")
        story.clock.advance(0.2)
    story.journal.flush()
    assert [happening.fields["count"] for happening in story.told] == [5]


def test_starts_are_told_before_time_moves_past_something_else(story: Story) -> None:
    story.pod("a", "n1", "Running")
    story.clock.advance(0.1)
    story.journal.note(What.SCALE, "more")
    story.clock.advance(0.1)
    story.journal.flush()
    assert [happening.at for happening in story.told] == sorted(happening.at for happening in story.told)


def test_a_refusal_is_told_once(story: Story) -> None:
    plan = Plan(version=1, unschedulable=(Unschedulable(("default/a",), "too large"),))
    for _ in range(3):
        story.journal.decide(story.clock.now(), plan)
        story.clock.advance(10)
    story.journal.flush()
    assert [happening.text for happening in story.told] == ["1 pod(s) cannot be placed: too large"]


def test_disruption_is_told_with_its_reason(story: Story) -> None:
    command = Command(method=Method.EMPTINESS, claims=("c1",), nodes=("n1",), savings=0.5)
    story.journal.decide(story.clock.now(), command)
    story.journal.flush()
    (happening,) = story.told
    assert happening.fields["decision"] == "delete"
    assert happening.fields["reason"] == "Empty"
    assert "$0.5000/h" in happening.text


def test_only_what_moves_counts_as_change(story: Story) -> None:
    story.pod("a")
    story.clock.advance(5)
    story.pod("a")
    assert story.journal.last_change == story.journal.start


def test_the_scene_counts_pods_and_keeps_the_newest(story: Story) -> None:
    for index in range(30):
        story.pod(f"pod-{index}")
        story.clock.advance(2)
    story.journal.flush()
    scene = story.journal.scene(price=1.5, cost=0.25)
    assert (scene.pods_pending, scene.price, scene.cost, scene.seconds) == (30, 1.5, 0.25, 60)
    assert scene.recent[-1].fields["pods"] == ["default/pod-29"]
    assert len(scene.recent) < 30
