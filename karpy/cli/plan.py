"""``karpy plan``."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from karpy.cli.gates import FeatureGates, SchedulerConfig, settings_of

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
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            "-f",
            metavar="FILE...",
            help="Manifests, what kubectl get -o yaml prints, or recorded scenarios; - is standard input. "
            "Without it: the cluster of the kubeconfig.",
        ),
    ] = None,
    catalogs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the catalogs of recorded scenarios are. By default: catalogs, beside the scenario's folder.",
        ),
    ] = None,
    line: Annotated[
        int | None, typer.Option(metavar="N", help="Of a .jsonl file take this line, counted from 1.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Of .jsonl files take every line, one after another.")] = False,
    only: Annotated[
        Only | None,
        typer.Option(
            help="One half of the answer. For disruption that is the next command for empty nodes or one single node; "
            "drift, several nodes at once and schedules of budgets are not there yet."
        ),
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(help="End with status 3 if a pod finds no place, or if anything would change. May be repeated."),
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Of the live cluster; by default as kubectl finds it.")
    ] = None,
    feature_gates: FeatureGates = "",
    scheduler_config: SchedulerConfig = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A report, JSON with one object a line, or Markdown.")
    ] = Output.TEXT,
) -> None:
    """Show what karpy would do now, for a live cluster or for files. Changes nothing."""
    from karpy.cli.planning import Planning

    planning = Planning(
        provisioning=only is not Only.DISRUPTION,
        disruption=only is not Only.PROVISIONING,
        output=output.value,
        fail_on=frozenset(each.value for each in fail_on or ()),
        settings=settings_of(feature_gates, scheduler_config),
    )
    paths = [*(files or ()), *(more or ())]
    if paths:
        status = planning.for_files(paths, catalogs=catalogs, line=line, every=every, kubeconfig=kubeconfig)
    else:
        status = planning.for_cluster(kubeconfig, catalogs=catalogs, line=line, every=every)
    raise typer.Exit(status)
