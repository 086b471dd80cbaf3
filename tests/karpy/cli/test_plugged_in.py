"""Commands that plug-ins bring."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints

import pytest
import typer

from karpy.cli import commands
from karpy.cli.app import run
from karpy.errors import InvalidObject

Captured = pytest.CaptureFixture[str]

acme = typer.Typer(help="What acme can do.")


@acme.callback()
def group() -> None: ...


@acme.command()
def greet(name: str) -> None:
    typer.echo(f"hello {name}")


@acme.command()
def refuse() -> None:
    raise InvalidObject("found nothing", path="--name")


@acme.command()
def close() -> None:
    raise BrokenPipeError


not_an_app = 17

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Has plug-ins installed: names, and what of this module (or of another) each is."""

    def installed(**targets: str) -> None:
        points = [
            EntryPoint(name, target if ":" in target else f"{__name__}:{target}", commands.GROUP)
            for name, target in targets.items()
        ]
        monkeypatch.setattr(commands, "entry_points", lambda **wanted: EntryPoints(points).select(**wanted))

    return installed


def test_a_plug_in_has_a_command_of_its_name(capsys: Captured, install: Install) -> None:
    install(acme="acme")
    assert run(["acme", "greet", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"


def test_its_bad_input_ends_like_all_bad_input(capsys: Captured, install: Install) -> None:
    install(acme="acme")
    assert run(["acme", "refuse"]) == 2
    assert capsys.readouterr().err == "karpy: --name: found nothing\n"


def test_help_lists_it_after_the_own_commands(capsys: Captured, install: Install) -> None:
    install(zeta="acme", acme="acme")
    assert run(["--help"]) == 0
    told = capsys.readouterr().out
    assert told.index("version ") < told.index("acme ") < told.index("zeta ")
    assert "What acme can do." in told


def test_an_own_command_keeps_its_name(capsys: Captured, install: Install) -> None:
    install(version="acme")
    assert run(["version"]) == 0
    assert capsys.readouterr().out.startswith("karpy ")


def test_it_is_not_loaded_for_other_commands(capsys: Captured, install: Install) -> None:
    install(acme="no_such_module:app")
    assert run(["version"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("no_such_module:app", "no_such_module:app) cannot be imported: No module named 'no_such_module'"),
        ("no_such_name", ":no_such_name) cannot be imported: module"),
        ("not_an_app", ":not_an_app) is no typer.Typer"),
    ],
)
def test_one_that_cannot_be_loaded_says_so_when_it_is_called(
    capsys: Captured, install: Install, target: str, told: str
) -> None:
    install(broken=target, acme="acme")
    assert run(["broken", "some", "--thing"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("karpy: command 'broken' (unknown distribution: ")
    assert told in complaint
    assert run(["--help"]) == 0
    assert "acme " in capsys.readouterr().out


def test_output_that_nobody_reads_ends_the_command_well(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    abandoned: list[bool] = []
    monkeypatch.setattr(commands, "abandon_stdout", lambda: abandoned.append(True))
    install(acme="acme")
    assert run(["acme", "close"]) == 0
    assert abandoned == [True]
