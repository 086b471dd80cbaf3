from __future__ import annotations

import io
import json

import attrs
import pytest
from rich.console import Console

from karpy.lifecycle.states import State
from karpy.report.happening import Happening, What
from karpy.report.live import draw
from karpy.report.machines import Machine
from karpy.report.scene import Scene, Summary
from karpy.report.views import JsonLines, LiveView, PlainLines

SUMMARY = Summary(
    scenario="eks",
    seed=3,
    virtual_seconds=125.5,
    pods_pending=1,
    pods_running=2,
    nodes_left=3,
    instances_left=4,
    launches=5,
    terminations=1,
    most_nodes=4,
    highest_price=1.25,
    cost=0.5,
    reached_end=False,
)
DECISION = Happening(60.0, What.LAUNCH_DECIDED, "5 pods fit 328 of 820 instance types; the cheapest is c6a.2xlarge")
MACHINE = Machine(
    claim="default-1",
    pool="default",
    state=State.INITIALIZED,
    created=10.0,
    node="n1",
    instance_type="c6a.2xlarge",
    zone="us-west-2a",
    capacity_type="spot",
    price=0.306,
)
SCENE = Scene(
    start=0.0,
    seconds=70.0,
    price=0.306,
    cost=0.01,
    pods_pending=1,
    pods_starting=2,
    pods_running=5,
    machines=(MACHINE,),
    pods_on={"n1": 7},
    decisions=(DECISION,),
    recent=(Happening(65.0, What.NODE_READY, "n1 (c6a.2xlarge)"),),
)


def drawn(scene: Scene, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(draw(scene, "demo", width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_json_ends_with_the_summary() -> None:
    out = io.StringIO()
    with JsonLines(out) as view:
        view.tell(DECISION, 0.0)
        view.say("for people only")
        view.end(SUMMARY)
    event, summary = (json.loads(line) for line in out.getvalue().splitlines())
    assert event["event"] == "launch-decided"
    promised = {"podsPending": 1, "podsRunning": 2, "nodesLeft": 3, "instancesLeft": 4, "launches": 5, "cost": 0.5}
    assert promised.items() <= summary.items()


def test_plain_lines_end_with_the_summary_in_words() -> None:
    out = io.StringIO()
    with PlainLines(out) as view:
        view.tell(DECISION, 0.0)
        view.end(SUMMARY)
    first, *rest = out.getvalue().splitlines()
    assert first.startswith("01:00  launch-decided")
    assert rest[1] == "eks, seed 3: 02:05 of virtual time (stopped before the end of the script)"


@pytest.mark.parametrize("width", [80, 140])
def test_the_picture_shows_pods_machines_decisions_and_the_bill(width: int) -> None:
    text = drawn(SCENE, width)
    for part in (
        "5 running",
        "2 starting",
        "1 pending",
        "$0.3060/h now",
        "default-1",
        "c6a.2xlarge",
        "n1 (c6a.2xlarge)",
    ):
        assert part in text
    assert "328 of 820" in text


def test_a_wide_terminal_shows_zones_and_ages_too() -> None:
    assert "us-west-2a" in drawn(SCENE, 140)
    assert "us-west-2a" not in drawn(SCENE, 80)


def test_many_machines_are_cut_short_and_counted() -> None:
    assert "and 8 more" in drawn(attrs.evolve(SCENE, machines=(MACHINE,) * 20), 140)


def test_the_live_view_is_drawn_anew_only_when_there_is_something_new() -> None:
    out = io.StringIO()
    with LiveView("demo", Console(file=out, width=100, force_terminal=True)) as view:
        for moved, expected in ((0.0, 1), (0.4, 1), (1.0, 2)):
            view.frame(attrs.evolve(SCENE, seconds=SCENE.seconds + moved))
            assert out.getvalue().count("last decisions") == expected
        view.tell(DECISION, 0.0)
        view.frame(attrs.evolve(SCENE, seconds=SCENE.seconds + 1.0))
        assert out.getvalue().count("last decisions") == 3
        view.end(SUMMARY)
    assert "eks, seed 3" in out.getvalue()
