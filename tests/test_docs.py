"""The documentation keeps its word: its code runs, its manifests are read, what it points at is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import typer.main

from karpy import gauges, metrics
from karpy.cli.app import app, run
from karpy.cli.options import known_schemas
from karpy.disruption.command import Method
from karpy.disruption.survey import InTurn
from karpy.disruption.verdicts import Verdict
from karpy.objects.manifest import read_manifests
from karpy.settings import Settings

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


@pytest.mark.parametrize("name", ["churn.md", "disruption.md", "explain.md", "why.md"])
def test_pages_show_what_their_first_block_prints(name: str) -> None:
    page = ROOT / "docs" / name
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


def test_the_page_on_verdicts_has_all_of_them() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/why.md").read_text(), re.MULTILINE)
    assert InTurn.kind in rows
    assert sorted(rows) == sorted(kind.kind for kind in Verdict.__subclasses__())


def test_the_page_on_disruption_has_all_methods_in_their_order() -> None:
    rows = re.findall(r"^\| ([a-z -]+) \| .* \| .* \|", (ROOT / "docs/disruption.md").read_text(), re.MULTILINE)
    assert [row.replace(" ", "-") for row in rows if row != "method"] == [method.value for method in Method]


SETTINGS_OF_DISRUPTION = (ROOT / "docs/disruption-settings.md").read_text()


def test_the_settings_of_disruption_are_there_with_their_defaults() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| `(.+?)` \|", SETTINGS_OF_DISRUPTION, re.MULTILINE)
    defaults = {field.name: field.default for field in attrs.fields(Settings)}
    assert len(rows) > 5
    assert {name: ast.literal_eval(shown) for name, shown in rows} == {name: defaults[name] for name, _ in rows}


def test_the_metrics_of_disruption_are_all_there_with_their_labels() -> None:
    rows = re.findall(r"^\| `(kar\w+)` \| ([\w, ]*?) ?\|", SETTINGS_OF_DISRUPTION, re.MULTILINE)
    everything = (*vars(metrics).values(), *vars(gauges).values())
    declared = {each.name: each.labels for each in everything if isinstance(each, metrics.Metric)}
    about = [name for name in declared if re.search("voluntary_disruption|consolidation|karpy_disruption", name)]
    assert {name for name, _ in rows} >= set(about)
    assert {name: tuple(filter(None, labels.split(", "))) for name, labels in rows} == {
        name: declared[name] for name, _ in rows
    }


def test_the_events_of_disruption_are_given() -> None:
    rows = re.findall(r"^\| (`[A-Z].+?) \|", SETTINGS_OF_DISRUPTION, re.MULTILINE)
    code = "".join(path.read_text() for path in (ROOT / "karpy/controllers").rglob("*.py"))
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 5
    assert {name for name in named if f'"{name}"' not in code} == set()


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


def commands(group: Any, context: Any, name: str = "karpy") -> Iterator[tuple[str, Any]]:
    """All commands by their names, those of plug-ins and those below them too."""
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        yield f"{name} {each}", command
        if hasattr(command, "list_commands"):
            yield from commands(command, context, f"{name} {each}")


def test_every_option_of_every_command_is_documented() -> None:
    text = (ROOT / "docs/cli.md").read_text() + (ROOT / "docs/cluster.md").read_text()
    group = typer.main.get_group(app)
    found = dict(commands(group, group.make_context("karpy", [], resilient_parsing=True)))
    assert "karpy aws iam-policy" in found
    for name, command in found.items():
        assert f"## {name}\n" in text
        for parameter in command.params:
            names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
            assert any(f"`{shown}" in text for shown in names), f"{name} {names}"
