"""The group of all commands: karpy's own, and those of plug-ins.

A plug-in brings a `typer.Typer` under the entry-point group ``karpy.cli_commands``, and its name is the command's. None is imported
before it is asked for, by name or by ``--help``. One that cannot be loaded says so by its entry point and its distribution
when it is called, and is in nobody's way.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from karpy.cli.pipes import abandon_stdout
from karpy.errors import PluginError

__all__ = ["GROUP", "Commands"]

GROUP = "karpy.cli_commands"


class Commands(TyperGroup):
    """Own commands in the order in which they were added, then plug-ins' by name. A plug-in takes no own command's place."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return [*own, *sorted({point.name for point in entry_points(group=GROUP)} - {*own})]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or _plugged_in(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Ends well when the output is closed: whoever read it has seen enough."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            abandon_stdout()
            raise typer.Exit(0) from None


def _plugged_in(name: str) -> Any:
    """The command of the plug-in called ``name``; None when there is none."""
    point = next(iter(entry_points(group=GROUP, name=name)), None)
    if point is None:
        return None
    try:
        app = _load(point)
    except PluginError as error:
        app = _refusing(error)
    command = get_command(app)
    command.name = name
    return command


def _load(point: EntryPoint) -> typer.Typer:
    """
    Raises:
        PluginError: it cannot be imported, or is no typer application.
    """
    where = f"command {point.name!r} ({point.dist.name if point.dist else 'unknown distribution'}: {point.value})"
    try:
        app = point.load()
    except Exception as error:  # whatever a plug-in does wrong must not end in a traceback of ours
        raise PluginError(f"{where} cannot be imported: {error}") from error
    if not isinstance(app, typer.Typer):
        raise PluginError(f"{where} is no typer.Typer")
    return app


def _refusing(error: PluginError) -> typer.Typer:
    """A command that only says what is the matter with it, whatever it is called with."""
    app = typer.Typer(add_completion=False)

    @app.command(help=str(error), context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def refuse() -> None:
        raise error

    return app
