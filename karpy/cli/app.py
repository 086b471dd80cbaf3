"""All commands in one typer application, and how errors become one line and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from karpy.cli.bad_input import BadInput
from karpy.cli.cluster import cluster
from karpy.cli.commands import Commands
from karpy.cli.crds import crds
from karpy.cli.demo import demo
from karpy.cli.plan import plan
from karpy.cli.providers import providers
from karpy.cli.version import version
from karpy.cli.why import why
from karpy.errors import InvalidObject, KarpyError, PluginError

__all__ = ["app", "run"]

DONE, FAILED, BAD_INPUT = 0, 1, 2

app = typer.Typer(
    name="karpy",
    cls=Commands,
    help="A node autoscaler for Kubernetes: pods that wait get nodes, nodes that are not worth their price go.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (demo, cluster, plan, why, providers, crds, version):
    app.command()(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's) and return its exit status."""
    try:
        app(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE
    except (BadInput, InvalidObject, PluginError) as error:
        sys.stderr.write(_lines(error))
        return BAD_INPUT
    except KarpyError as error:
        sys.stderr.write(_lines(error))
        return FAILED
    return DONE


def _lines(error: KarpyError) -> str:
    return "".join(f"karpy: {line}\n" for line in str(error).splitlines())
