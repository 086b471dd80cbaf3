from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from karpy.cli.options import known_schemas
from karpy.scenarios.catalogue import read_files, scenario_names

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_examples_run_anywhere_and_say_something(script: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(EXAMPLES.parent), "PATH": ""}
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") >= 3


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_example_manifests_are_read(path: Path) -> None:
    assert read_files([path], known_schemas())


@pytest.mark.parametrize("name", scenario_names())
def test_the_shipped_scenarios_are_among_the_examples(name: str) -> None:
    shipped = EXAMPLES.parent / "karpy" / "scenarios" / f"{name}.yaml"
    assert (EXAMPLES / f"{name}.yaml").read_bytes() == shipped.read_bytes()
