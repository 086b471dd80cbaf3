"""karpy's run of every recorded scenario against what Karpenter wrote.

All that differs is listed, and all that is listed differs.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.scenarios.lifecycle.comparing import unlisted
from tests.scenarios.lifecycle.differences import LISTED
from tests.scenarios.lifecycle.order import lives, orders
from tests.scenarios.lifecycle.playing import Play
from tests.scenarios.lifecycle.recording import Recording, scenarios
from tests.scenarios.lifecycle.scripts import SCRIPTS, compare


@functools.cache
def _recorded(shared: Path, scenario: str) -> Recording:
    return Recording.read(shared, scenario)


@functools.cache
def _orders(shared: Path) -> frozenset[tuple[str, str]]:
    return orders(life for scenario in SCRIPTS for life in lives(_recorded(shared, scenario).tape))


@functools.cache
def _found(shared: Path, scenario: str) -> tuple[str, ...]:
    return tuple(compare(_recorded(shared, scenario), SCRIPTS[scenario], _orders(shared)))


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


def test_two_runs_of_a_scenario_write_the_same(shared: Path) -> None:
    tapes = []
    for _ in range(2):
        play = Play(_recorded(shared, "01-scale-up"))
        SCRIPTS["01-scale-up"].play(play)
        tapes.append([(change.kind, change.key, change.after) for change in play.tape.changes])
    assert tapes[0] == tapes[1]
