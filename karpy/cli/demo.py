"""``karpy demo``."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from karpy.cli.bad_input import BadInput
from karpy.cli.gates import FeatureGates, SchedulerConfig, settings_of

__all__ = ["demo"]

DEFAULT_SPEED = 50.0


class Output(enum.StrEnum):
    TEXT = "text"
    JSON = "json"


class Cloud(enum.StrEnum):
    SIM = "sim"
    AWS = "aws"
    AZURE = "azure"


def demo(
    scenario: Annotated[
        str, typer.Option(help="eks, eks-v0.5.3, aks, aks-nap, or the path of manifests.", metavar="NAME or PATH")
    ] = "eks",
    cloud: Annotated[Cloud, typer.Option(help="The cloud to launch on; so far the simulated one.")] = Cloud.SIM,
    speed: Annotated[
        str, typer.Option(help="How many times as fast as the wall clock, or max.", metavar="FACTOR or max")
    ] = f"{DEFAULT_SPEED:g}",
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    until: Annotated[str | None, typer.Option(help="Stop after so much virtual time.", metavar="DURATION")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Let kubectl in, and keep running at the end until Ctrl-C.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(help="Write the story to this file too, as JSON lines.", metavar="FILE")
    ] = None,
    feature_gates: FeatureGates = "",
    scheduler_config: SchedulerConfig = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="Lines or a live view, or JSON lines.")
    ] = Output.TEXT,
) -> None:
    """Play a scenario with the reference controller on an embedded cluster and a simulated cloud."""
    from karpy.cli.options import parse_seconds, parse_speed
    from karpy.cli.stage import Stage

    factor, until_s = parse_speed(speed, may_be_max=True), parse_seconds("--until", until)
    if cloud is not Cloud.SIM:
        _refuse(cloud.value)
    stage = Stage(
        scenario,
        seed=seed,
        until_s=until_s,
        settings=settings_of(feature_gates, scheduler_config),
        as_json=output is Output.JSON,
        record=record,
    )
    stage.play(factor, serve=serve)


def _refuse(cloud: str) -> None:
    """Say what keeps a real cloud's provider from starting, or that it starts but cannot be shown."""
    from karpy.cloud.registry import load_provider

    load_provider(cloud)
    raise BadInput(f"--cloud: the demonstration cannot run on {cloud} in this version (accepted: sim)")
