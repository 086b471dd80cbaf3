"""``karpy why``."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from karpy.cli.gates import FeatureGates, SchedulerConfig, settings_of
from karpy.cli.inputs import Catalogs, Every, Files, Kubeconfig, Line

__all__ = ["why"]


class Output(enum.StrEnum):
    TEXT = "text"
    JSON = "json"


def why(
    things: Annotated[
        list[str],
        typer.Argument(
            metavar="TYPE/NAME...",
            help="node/NAME, nodeclaim/NAME, nodepool/NAME, pod/NAME or pod/NAMESPACE/NAME; one or more. "
            "Files may stand here too, so that --from *.yaml works.",
        ),
    ],
    files: Files = None,
    catalogs: Catalogs = None,
    line: Line = None,
    every: Every = False,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Of pods that are named without one.")
    ] = "",
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="As if it were then, such as 2026-11-20T17:00:00Z: what budgets allow, say."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    feature_gates: FeatureGates = "",
    scheduler_config: SchedulerConfig = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Text, or JSON with one object a line.")
    ] = Output.TEXT,
) -> None:
    """Say why a node stays or goes, why a pod waits, or what a pool's budgets allow. Changes nothing."""
    from karpy.cli.asking import Asking, read_time
    from karpy.cli.situations import Asked
    from karpy.cli.targets import read_targets

    targets, more = read_targets(things, namespace)
    asked = Asked(paths=(*(files or ()), *more), catalogs=catalogs, line=line, every=every, kubeconfig=kubeconfig)
    asking = Asking(targets=targets, as_json=output is Output.JSON, at=read_time(at))
    raise typer.Exit(asking.show(asked.situations(settings_of(feature_gates, scheduler_config))))
