"""The documentation keeps its word: its code runs, its manifests are read, what it points at is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from karpy.cli.app import app, run
from karpy.cli.options import known_schemas
from karpy.objects.manifest import read_manifests

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PATH = re.compile(r"`((?:karpy|karpy_aws|karpy_azure|tests|examples|docs)/[\w./-]*)`")


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text()) if found == language]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_python_blocks_run_one_after_another(page: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_page_on_explanations_shows_what_its_first_block_prints() -> None:
    page = ROOT / "docs/explain.md"
    code, shown = blocks(page, "python")[0], blocks(page, "text")[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == shown


def test_the_readme_tells_the_story_that_the_demonstration_tells(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--speed", "max"]) == 0
    told = capsys.readouterr().out.splitlines()
    shown = next(block for block in blocks(ROOT / "README.md", "text") if "launch-decided" in block).splitlines()
    # Names and the moments at which pods start come from chance, and may change with anything; what is decided may not.
    assert [line for line in shown if "-decided" in line] == [line for line in told if "-decided" in line]
    assert [line for line in shown if " scale " in line] == [line for line in told if " scale " in line]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_yaml_blocks_are_manifests(page: Path) -> None:
    for block in blocks(page, "yaml"):
        assert read_manifests(block, named(page), known_schemas()).problems == ()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []


def test_the_architecture_page_shows_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    rooms = {entry.name for entry in (ROOT / "karpy").iterdir() if entry.is_dir() or entry.suffix == ".py"}
    hidden = {"__init__.py", "__main__.py", "__pycache__"}
    assert {room for room in rooms - hidden if room not in text} == set()


def test_the_map_of_scheduling_shows_every_module() -> None:
    text = (ROOT / "docs/architecture.md").read_text().split("## Inside scheduling")[1].split("\n## ")[0]
    modules = {path.name for path in (ROOT / "karpy/scheduling").glob("*.py")} - {"__init__.py"}
    assert {name for name in modules if f"`{name}`" not in text} == set()


def test_every_option_of_every_command_is_documented() -> None:
    text = (ROOT / "docs/cli.md").read_text() + (ROOT / "docs/cluster.md").read_text()
    commands = typer.main.get_group(app).commands
    for name, command in commands.items():
        assert f"## karpy {name}" in text
        for parameter in command.params:
            names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
            assert any(f"`{shown}" in text for shown in names), f"{name} {names}"
