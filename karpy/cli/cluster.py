"""``karpy cluster``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from karpy.cli.gates import FeatureGates, SchedulerConfig, settings_of

__all__ = ["cluster"]

DEFAULT_PORT = 8001


def cluster(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any that is free.")] = DEFAULT_PORT,
    address: Annotated[
        str, typer.Option("--host", help="Address to listen on; by default only this machine can reach it.")
    ] = "127.0.0.1",
    plain_http: Annotated[
        bool,
        typer.Option("--plain-http", help="Without TLS and without a token; on the loopback interface only."),
    ] = False,
    rbac: Annotated[bool, typer.Option("--rbac", help="Requests must be allowed by Roles and ClusterRoles.")] = False,
    kubeconfig: Annotated[Path, typer.Option(help="Where to write the kubeconfig.")] = Path("karpy.kubeconfig"),
    speed: Annotated[str, typer.Option(help="How many times as fast as the wall clock.", metavar="FACTOR")] = "1",
    no_autoscaler: Annotated[bool, typer.Option("--no-autoscaler", help="Without karpy's controllers.")] = False,
    no_world: Annotated[
        bool,
        typer.Option("--no-world", help="The API server alone: no scheduler, workload controllers, kubelets, karpy."),
    ] = False,
    feature_gates: FeatureGates = "",
    scheduler_config: SchedulerConfig = None,
    manifests: Annotated[
        list[Path] | None, typer.Option("-f", "--filename", help="Manifests to apply at the start; may be repeated.")
    ] = None,
) -> None:
    """Serve an embedded cluster over HTTP until it is interrupted; kubectl works against it."""
    from karpy.cli.hosting import build_world, host
    from karpy.cli.options import parse_speed

    factor = parse_speed(speed)
    assert factor is not None, "max was not allowed"
    settings = settings_of(feature_gates, scheduler_config)
    autoscaler = None if no_autoscaler or no_world else settings
    world = build_world(manifests or (), actors=not no_world, autoscaler=autoscaler, rbac=rbac)
    host(world, address=address, port=port, tls=not plain_http, kubeconfig=kubeconfig, speed=factor)
