"""Short ways to ask the engine, for tests that care about one command, and machines to ask about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.disruption.command import Command, Method
from karpy.disruption.engine import METHODS, look
from karpy.disruption.scene import Scene
from karpy.disruption.validation import validate
from karpy.state.snapshot import Snapshot
from karpy.testing import make_condition, make_machine, make_pod

__all__ = ["Json", "commands_by", "flat", "machine", "next_command", "pod", "still_valid"]

Json = dict[str, Any]


def machine(name: str, instance_type: str, cpu: int, **arguments: Any) -> list[Json]:
    """A machine that has been left alone for long enough."""
    arguments.setdefault("conditions", [make_condition("Consolidatable")])
    room = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    known = {labels.ARCH: "amd64", labels.OS: "linux"}
    return list(make_machine(name, instance_type=instance_type, room=room, labels=known, **arguments))


def pod(name: str, node: str, cpu: str = "1", **arguments: Any) -> Json:
    return make_pod(name, node=node, requests={"cpu": cpu}, **arguments)


def make_budget(name: str, *, allowed: int) -> Json:
    """A PodDisruptionBudget of all pods of the namespace, of which so many may be evicted now."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {}},
        "status": {"disruptionsAllowed": allowed},
    }


def flat(objects: Sequence[Sequence[Json] | Json]) -> list[Json]:
    """The objects of machines and others, one after another."""
    return [part for obj in objects for part in ([obj] if isinstance(obj, dict) else obj)]


def next_command(snapshot: Snapshot, catalog: Catalog, **more: Any) -> Command | None:
    """The first command of a pass, if any."""
    return next(iter(look(snapshot, catalog, **more).commands), None)


def commands_by(method: Method, snapshot: Snapshot, catalog: Catalog, **more: Any) -> Sequence[Command]:
    """What one method finds when it is asked first."""
    return METHODS[method](Scene(snapshot, catalog, **more))


def still_valid(command: Command, newer: Snapshot, catalog: Catalog, **more: Any) -> Command | None:
    """The command as the newer picture allows it, if it does."""
    found = validate(command, newer, catalog, **more)
    return found if isinstance(found, Command) else None
