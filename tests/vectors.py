"""Reading the conformance vectors: recorded inputs, and the answers that Karpenter's own code gave to them."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceType, InstanceTypes, Offering, Overhead
from karpy.labels import CORE_LABELS, LabelSpec
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.state.snapshot import Snapshot

GROUP = "cloud.test"
"""The group of the vectors' node class; pools of other groups belong to somebody else."""

WELL_KNOWN = CORE_LABELS.well_known | {
    f"{GROUP}/{name}"
    for name in (
        *("instance-family", "instance-size", "instance-cpu", "instance-memory", "instance-generation"),
        *("instance-gpu-name", "instance-gpu-count", "reservation-id"),
    )
}


def read(shared: Path, name: str) -> Iterator[dict[str, Any]]:
    """The lines of ``vectors/<name>``, compressed or not."""
    path = shared / "data" / "vectors" / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        yield from map(json.loads, lines)


@functools.cache
def catalog(shared: Path, name: str) -> tuple[InstanceTypes, LabelSpec]:
    """The instance types of ``vectors/catalogs/<name>.json`` and the label keys that they define."""
    text = json.loads((shared / "data" / "vectors" / "catalogs" / f"{name}.json").read_text())
    reservation = text["reservationIdLabel"]
    types = InstanceTypes(_instance_type(entry, reservation) for entry in text["instanceTypes"])
    return types, LabelSpec(frozenset(text["wellKnownLabels"]))


def scenario(shared: Path, line: dict[str, Any]) -> tuple[Snapshot, Catalog]:
    """The cluster of a scheduling or disruption line, and what its pools can buy."""
    types, spec = catalog(shared, line["catalog"])
    snapshot = Snapshot.from_objects(line["objects"])
    ours = tuple(pool for pool in snapshot.pools if pool.node_class.group == GROUP)
    return attrs.evolve(snapshot, pools=ours), Catalog({pool.name: types for pool in ours}, CORE_LABELS | spec)


def _instance_type(entry: dict[str, Any], reservation: str) -> InstanceType:
    return InstanceType(
        entry["name"],
        Requirements.from_selectors(entry["requirements"]),
        tuple(_offering(offering, reservation) for offering in entry["offerings"]),
        Resources.parse(entry["capacity"]),
        Overhead(Resources.parse(entry["overhead"])),
    )


def _offering(entry: dict[str, Any], reservation: str) -> Offering:
    held = entry.get("reservationId")
    requirements = Requirements(
        (
            Requirement.in_(labels.ZONE, entry["zone"]),
            Requirement.in_(labels.CAPACITY_TYPE, entry["capacityType"]),
            Requirement.in_(reservation, held) if held else Requirement.absent(reservation),
        )
    )
    return Offering(
        *(entry["zone"], entry["capacityType"], entry["price"], entry["available"], requirements, held),
        reservation_capacity=entry.get("reservationCapacity", 0),
    )
