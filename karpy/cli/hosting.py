"""What ``karpy cluster`` runs: a world on the wall clock behind an HTTP server."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from karpy.cli.interrupts import on_interrupt
from karpy.cli.logs import stderr_logger
from karpy.cli.options import known_schemas
from karpy.cli.serving import served
from karpy.operator import Operator
from karpy.scenarios.catalogue import read_files
from karpy.scenarios.rehearsal import apply_manifests, installed_models
from karpy.settings import Settings
from karpy.sim.world import World

__all__ = ["build_world", "host"]


def build_world(manifests: Sequence[Path], *, actors: bool, autoscaler: Settings | None, rbac: bool = False) -> World:
    """A world on the machine's time, so that kubectl shows true ages; with karpy by these settings, or without.

    Raises:
        InvalidObject: manifests cannot be used.
    """
    objects = read_files(manifests, known_schemas()) if manifests else ()
    world = World(models=installed_models(), start=time.time(), heartbeats=True, actors=actors, rbac=rbac)
    # shown for people; without them pods have the same patience, and a world of many takes less memory
    world.api.writes.admission.default_tolerations = actors
    if autoscaler is not None:
        world.install(
            Operator(
                kube=world.api,
                providers=(world.site.provider,),
                clock=world.clock,
                settings=autoscaler,
                log=stderr_logger(),
            )
        )
    apply_manifests(world, objects)
    return world


def host(world: World, *, address: str, port: int, tls: bool, kubeconfig: Path, speed: float) -> None:
    """Serve ``world`` until the process is asked to end."""
    stop = threading.Event()
    with on_interrupt(stop.set), served(world.api, port, kubeconfig, host=address, tls=tls) as http:
        sys.stdout.write(f"{kubeconfig.absolute()}\n")
        sys.stdout.flush()
        sys.stderr.write(f"{http.url} is up; kubectl --kubeconfig {kubeconfig} get nodes\n")
        world.run_paced(speed, stop)
