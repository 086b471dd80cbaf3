from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from karpy.errors import InvalidObject
from karpy.testing import Faults, Trial, Weather
from karpy.testing.generations import GENERATIONS, draw_generation
from tests.karpy.testing.broken import raising

ROOT = Path(__file__).parents[3]
SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_trial_is_written_on_one_line_and_read_back(seed: int) -> None:
    trial = Trial.draw(seed)
    assert Trial.parse(str(trial)) == trial
    assert "\n" not in str(trial)


def test_a_seed_alone_is_enough() -> None:
    assert Trial.parse("--seed 12") == Trial.draw(12)


def test_what_a_line_says_counts_more_than_its_seed() -> None:
    trial = Trial.parse("--seed 12 --pods 1,0,2,0 --faults 'lost@3' --weather 'Weather()' --replicas 2 --minutes 4")
    assert trial == Trial(seed=12, minutes=4, pods=(1, 0, 2, 0), faults=Faults.parse("lost@3"), replicas=2)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--seed 1 --replicas",
        "--seed x",
        "--seed 1 --pods a",
        "--seed 1 --faults nothing@1",
        "--seed 1 --weather 'Rain()'",
        "--seed 1 --x 2",
    ],
)
def test_a_line_that_means_nothing_is_refused(line: str) -> None:
    with pytest.raises(InvalidObject, match="accepted"):
        Trial.parse(line)


def test_nothing_is_called_that_a_line_names() -> None:
    with pytest.raises(InvalidObject):
        Trial.parse("--seed 1 --weather \"__import__('os').getcwd()\"")


def test_trials_are_of_many_shapes() -> None:
    drawn = [Trial.draw(seed) for seed in range(300)]
    assert {trial.replicas for trial in drawn} == {1, 2}
    assert {draw_generation(seed) for seed in range(300)} == set(GENERATIONS)
    assert sum(not trial.faults for trial in drawn) < 30
    assert sum(trial.weather.is_calm for trial in drawn) < 150
    assert len({repr(trial.weather) for trial in drawn}) > 100


@pytest.mark.parametrize("seed", [3, 4, 9])
def test_the_same_trial_is_the_same_to_the_last_call(seed: int) -> None:
    trial = attrs.evolve(Trial.draw(seed), minutes=5.0)
    traces = []
    for _ in range(2):
        world = trial.world()
        world.run(300)
        traces.append(str(world.trace))
    assert traces[0] == traces[1] != ""


def test_hashes_of_python_change_nothing() -> None:
    """So that a line fails wherever it is pasted."""
    code = """
import hashlib
from karpy.testing import Trial
for seed in (3, 4, 9):
    world = Trial.draw(seed).world()
    world.run(400)
    print(hashlib.sha256(str(world.trace).encode()).hexdigest())
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "4242")
    }
    assert len(told) == 1


@pytest.mark.parametrize("seed", [3, 4, 9])
def test_what_came_by_chance_comes_again_by_plan(seed: int) -> None:
    trial = Trial.draw(seed)
    outcome = trial.play()
    again = attrs.evolve(trial, faults=trial.faults.by_plan(outcome.happened)).play()
    assert outcome.happened
    assert again.happened == outcome.happened
    assert again.calls == outcome.calls


def test_an_exception_is_a_violation() -> None:
    outcome = Trial.draw(1).play(raising)
    assert outcome.broken == {"runs_through"}
    assert "RuntimeError: no such luck" in outcome.violations[0].words


def test_smaller_trials_have_less_of_one_thing() -> None:
    trial = Trial(
        seed=1, pods=(4, 1), faults=Faults.parse("lost@3"), weather=Weather(tries=2, lasts_s=100.0), replicas=2
    )
    smaller = list(trial.smaller())
    assert attrs.evolve(trial, replicas=1) in smaller
    assert attrs.evolve(trial, pods=(0, 1)) in smaller
    assert attrs.evolve(trial, pods=(4, 0)) in smaller
    assert attrs.evolve(trial, faults=Faults()) in smaller
    assert attrs.evolve(trial, weather=Weather(lasts_s=100.0)) in smaller
    assert attrs.evolve(trial, minutes=5.0) in smaller
    assert trial not in smaller
