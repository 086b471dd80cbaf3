"""Many trials; and what breaks is made small, and told as one line that plays it again."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from karpy.testing import Trial, shrink, soak
from karpy.testing.__main__ import main
from karpy.testing.soaking import command
from tests.karpy.testing.broken import careless, leaking

ROOT = Path(__file__).parents[3]


def test_three_hundred_seeds_of_ten_minutes_break_nothing() -> None:
    """What `make soak` does with any number."""
    told: list[str] = []
    report = soak(range(300), tell=told.append)
    assert told == []
    assert report.failed == ()
    assert (report.seeds, report.virtual_s) == (300, 300 * 600)
    assert len(report.injected) == 12
    assert min(report.injected.values()) > 20


def test_the_report_tells_how_fast_which_faults_and_what_broke() -> None:
    lines = str(soak(range(6), minutes=2, processes=1)).splitlines()
    assert "6 seeds, 0.2 virtual hours" in lines[0]
    assert "seeds/s" in lines[0]
    assert lines[1].startswith("faults injected: ")
    assert lines[2] == "violations: 0 of 6 seeds"


def test_a_broken_controller_gives_a_line_that_breaks_it_again() -> None:
    told: list[str] = []
    report = soak(range(30, 40), program=careless, processes=1, tell=told.append)
    assert len(report.failed) == len(told) >= 1
    line, *violations = told[0].splitlines()
    assert line.startswith("python -m karpy.testing --program tests.karpy.testing.broken:careless --seed ")
    assert "claims_have_instances" in violations[0]
    again = subprocess.run(
        [sys.executable, *shlex.split(line)[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1, again.stderr
    assert again.stdout.splitlines()[: len(violations)] == [each.strip() for each in violations]


def test_what_breaks_is_made_small() -> None:
    trial = Trial.draw(9)
    small, outcome = shrink(trial, leaking)
    assert outcome.broken & trial.play(leaking).broken
    assert not any(each.play(leaking).broken & outcome.broken for each in small.smaller())
    assert sum(small.pods) <= 1
    assert len(small.faults.plan) + len(small.faults.rates) <= 2
    assert small.minutes < trial.minutes


def test_what_does_not_break_stays_as_it_is() -> None:
    trial = Trial.draw(2)
    assert shrink(trial)[0] is trial


def test_a_program_that_nobody_can_import_is_left_to_the_reader() -> None:
    assert "--program MODULE:FUNCTION" in command(Trial.draw(1), lambda _surroundings: ())
    assert "--program" not in command(Trial.draw(1))


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--seed", "2", "--minutes", "2"], 0, "0 violations in 2 virtual minutes"),
        (["--seed", "2", "--minutes", "1", "--trace"], 0, "karpy list pods → ok"),
        (["--seeds", "2", "--minutes", "1"], 0, "violations: 0 of 2 seeds"),
        (["--pods", "1"], 2, "accepted: --seed"),
        ([], 2, "found neither --seeds nor --seed"),
        (["--seeds", "0"], 2, "accepted: one or more"),
        (["--seeds", "2", "--seed", "1"], 2, "--seeds: found '--seed 1'"),
        (["--seeds", "2", "--minutes", "-1"], 2, "accepted: more than zero"),
        (["--seed", "35", "--pods", "1,0"], 2, "accepted: 3 numbers"),
        (["--seed", "35", "--replicas", "0"], 2, "accepted: one or more"),
        (["--seed", "1", "--program", "nowhere:nothing"], 2, "accepted: MODULE:FUNCTION"),
        (["--seed", "1", "--program", "nothing"], 2, "accepted: MODULE:FUNCTION"),
        (["--seed", "1", "--program", "tests.karpy.testing.broken:raising"], 1, "no such luck"),
        (["--seed", "1", "--program", "tests.karpy.testing.broken:raising", "--trace"], 1, "no such luck"),
    ],
)
def test_the_command_says_what_came_of_it_and_fails_if_something_broke(
    arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == status
    assert said in capsys.readouterr().out


def test_help_names_the_options_of_the_line_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"  {option} " in said for option in shlex.split(str(Trial.draw(1)))[::2])


def test_the_guide_shows_a_line_that_can_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (ROOT / "docs" / "testing.md").read_text()
    (line,) = [each for each in guide.splitlines() if each.startswith("python -m karpy.testing --seed ")]
    assert main(shlex.split(line)[3:]) == 0
    assert "0 violations" in capsys.readouterr().out
