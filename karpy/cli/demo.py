"""``karpy demo``."""

from __future__ import annotations

import contextlib
import enum
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karpy.cli.bad_input import BadInput
from karpy.cli.gates import FeatureGates, SchedulerConfig, settings_of

if TYPE_CHECKING:  # nothing of the world is loaded for --help
    from karpy.sim.site import MakeSite

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
    cloud: Annotated[
        Cloud, typer.Option(help="The cloud to launch on: simulated, or a real one's provider on a stand-in.")
    ] = Cloud.SIM,
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
    """Play a scenario with the reference controller on an embedded cluster, and a simulated cloud or a real one's stand-in."""
    from karpy.cli.options import parse_seconds, parse_speed
    from karpy.cli.stage import Stage
    from karpy.sim.clock import DEFAULT_START

    factor, until_s = parse_speed(speed, may_be_max=True), parse_seconds("--until", until)
    with contextlib.ExitStack() as stack:
        site = None if cloud is Cloud.SIM else stack.enter_context(_stand_in(cloud.value))
        stage = Stage(
            scenario,
            seed=seed,
            until_s=until_s,
            settings=settings_of(feature_gates, scheduler_config),
            as_json=output is Output.JSON,
            record=record,
            site=site,
            start=DEFAULT_START if site is None else time.time(),  # a server has no clock but the machine's
        )
        stage.play(factor, serve=serve)


def _stand_in(cloud: str) -> AbstractContextManager[MakeSite]:
    from karpy.sim.standins import load_stand_in, stand_in_names

    if cloud not in stand_in_names():
        accepted = ", ".join(("sim", *stand_in_names()))
        raise BadInput(f"--cloud: the demonstration cannot run on {cloud} in this version (accepted: {accepted})")
    return load_stand_in(cloud).served()
