"""``karpy plan``."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from karpy.cli.gates import FeatureGates, SchedulerConfig, settings_of
from karpy.cli.inputs import Catalogs, Every, Files, Kubeconfig, Line

__all__ = ["plan"]


class Output(enum.StrEnum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class Only(enum.StrEnum):
    PROVISIONING = "provisioning"
    DISRUPTION = "disruption"


class FailOn(enum.StrEnum):
    UNSCHEDULABLE = "unschedulable"
    CHANGES = "changes"


def plan(
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="More files, so that --from *.yaml works.")
    ] = None,
    files: Files = None,
    catalogs: Catalogs = None,
    line: Line = None,
    every: Every = False,
    only: Annotated[
        Only | None,
        typer.Option(
            help="One half of the answer: machines for the pods that wait, or the machines that should go, and why the "
            "others stay."
        ),
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(help="End with status 3 if a pod finds no place, or if anything would change. May be repeated."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    feature_gates: FeatureGates = "",
    scheduler_config: SchedulerConfig = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A report, JSON with one object a line, or Markdown.")
    ] = Output.TEXT,
) -> None:
    """Show what karpy would do now, for a live cluster or for files. Changes nothing."""
    from karpy.cli.planning import Planning
    from karpy.cli.situations import Asked

    asked = Asked(
        paths=(*(files or ()), *(more or ())), catalogs=catalogs, line=line, every=every, kubeconfig=kubeconfig
    )
    planning = Planning(
        provisioning=only is not Only.DISRUPTION,
        disruption=only is not Only.PROVISIONING,
        output=output.value,
        fail_on=frozenset(each.value for each in fail_on or ()),
    )
    raise typer.Exit(planning.show(asked.situations(settings_of(feature_gates, scheduler_config))))
