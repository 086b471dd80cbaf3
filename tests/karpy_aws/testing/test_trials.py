"""Drawn trials with karpy's provider for EC2, over an EC2 in memory under the weather."""

from __future__ import annotations

import pytest

from karpy.testing import Trial, soak
from karpy.testing.__main__ import main

Captured = pytest.CaptureFixture[str]


def test_some_seeds_break_nothing() -> None:
    told: list[str] = []
    report = soak(range(6), cloud="aws", minutes=6, processes=1, tell=told.append)
    assert report.failed == (), "\n".join(told)
    assert report.calls > 1_000


def test_a_trial_says_its_cloud_and_is_read_back() -> None:
    trial = Trial.draw(3, cloud="aws")
    assert "--cloud aws" in str(trial)
    assert Trial.parse(str(trial)) == trial
    assert Trial.parse("--seed 3").cloud == "sim"


def test_the_same_trial_makes_the_same_calls() -> None:
    first, again = (Trial.draw(11, 3, "aws").world() for _ in range(2))
    for world in (first, again):
        world.run(180)
    assert len(first.trace) > 100
    assert str(first.trace) == str(again.trace)


def test_a_seed_is_played_by_the_command(capsys: Captured) -> None:
    assert main(["--cloud", "aws", "--seed", "8", "--minutes", "2"]) == 0
    assert "0 violations in 2 virtual minutes" in capsys.readouterr().out
    assert main(["--cloud", "acme", "--seeds", "1"]) == 2
    assert "--cloud: found 'acme'" in capsys.readouterr().out
