"""karpy's run of every recorded scenario against what Karpenter wrote.

All that differs is listed, and all that is listed differs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from tests.scenarios.lifecycle.comparing import differences, unlisted
from tests.scenarios.lifecycle.differences import LISTED
from tests.scenarios.lifecycle.order import lives, orders
from tests.scenarios.lifecycle.playing import Play
from tests.scenarios.lifecycle.recording import Recording, scenarios
from tests.scenarios.lifecycle.scripts import SCRIPTS, compare
from tests.scenarios.lifecycle.tape import Change, Counted


@functools.cache
def _recorded(shared: Path, scenario: str) -> Recording:
    return Recording.read(shared, scenario)


@functools.cache
def _orders(shared: Path) -> frozenset[tuple[str, str]]:
    return orders(life for scenario in SCRIPTS for life in lives(_recorded(shared, scenario).tape))


@functools.cache
def _found(shared: Path, scenario: str) -> tuple[str, ...]:
    return tuple(compare(_recorded(shared, scenario), SCRIPTS[scenario], _orders(shared)))


def _taints(change: Change) -> list[Mapping[str, str]]:
    return (change.after or {}).get("spec", {}).get("taints") or []


def test_every_recorded_scenario_is_played(shared: Path) -> None:
    assert scenarios(shared) == sorted(SCRIPTS)


@pytest.mark.parametrize("scenario", SCRIPTS)
def test_what_karpy_does_otherwise_than_karpenter_is_listed(shared: Path, scenario: str) -> None:
    assert unlisted(scenario, _found(shared, scenario), LISTED) == []


@pytest.mark.parametrize("scenario", SCRIPTS)
def test_what_is_listed_for_a_scenario_differs_there(shared: Path, scenario: str) -> None:
    listed = [each for each in LISTED if each.scenarios and each.is_about(scenario)]
    found = _found(shared, scenario)
    assert [each.pattern for each in listed if not any(map(each.matches, found))] == []


def test_what_is_listed_for_all_scenarios_differs_in_one(shared: Path) -> None:
    found = [difference for scenario in SCRIPTS for difference in _found(shared, scenario)]
    everywhere = [each for each in LISTED if not each.scenarios]
    assert [each.pattern for each in everywhere if not any(map(each.matches, found))] == []


@pytest.mark.parametrize("scenario", SCRIPTS)
def test_nothing_differs_between_a_recording_and_itself(shared: Path, scenario: str) -> None:
    tape = _recorded(shared, scenario).tape
    assert differences(tape, tape, _orders(shared)) == []


def test_what_is_left_out_added_or_done_in_another_order_differs(shared: Path) -> None:
    tape = _recorded(shared, "02-empty").tape
    silent = attrs.evolve(tape, log=[line for line in tape.log if line.message != "tainted node"])
    assert [each for each in differences(tape, silent, _orders(shared)) if "|" not in each] == [
        "- Log INFO node.termination: tainted node [Node, NodeClaim, taint.Effect, taint.Key, taint.Value]"
    ]
    talkative = attrs.evolve(
        tape, counted=[*(tape.counted or ()), Counted("karpenter_x_total", {"zone": "test-zone-a"})]
    )
    assert differences(tape, talkative, _orders(shared)) == ["+ Counter karpenter_x_total [zone=<zone>]"]
    is_taint = [any(taint["key"] == "karpenter.sh/disrupted" for taint in _taints(each)) for each in tape.changes]
    late = attrs.evolve(
        tape,
        changes=[
            each for taint in (False, True) for each, is_ in zip(tape.changes, is_taint, strict=True) if is_ is taint
        ],
    )
    assert "! Order: NodeClaim is DisruptionReason, before Node is tainted disrupted" in differences(
        tape, late, _orders(shared)
    )


def test_two_runs_of_a_scenario_write_the_same(shared: Path) -> None:
    tapes = []
    for _ in range(2):
        play = Play(_recorded(shared, "01-scale-up"))
        SCRIPTS["01-scale-up"].play(play)
        tapes.append([(change.kind, change.key, change.after) for change in play.tape.changes])
    assert tapes[0] == tapes[1]
