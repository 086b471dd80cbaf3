"""Reading the conformance vectors: recorded inputs, and the answers that Karpenter's own code gave to them."""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from karpy.cloud.instancetype import Catalog
from karpy.labels import CORE_LABELS
from karpy.scenarios.recorded import GROUP, read_recorded
from karpy.scenarios.recorded_catalog import CatalogFolder, RecordedCatalog
from karpy.scenarios.situation import Situation
from karpy.state.snapshot import Snapshot

__all__ = ["GROUP", "WELL_KNOWN", "catalog", "read", "scenario", "situation"]

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
def _catalogs(shared: Path) -> CatalogFolder:
    return CatalogFolder(shared / "data" / "vectors" / "catalogs")


def catalog(shared: Path, name: str) -> RecordedCatalog:
    """The instance types of ``vectors/catalogs/<name>.json`` and the label keys that they define."""
    return _catalogs(shared).get(name)


def situation(shared: Path, line: dict[str, Any]) -> Situation:
    """What a scheduling or disruption line asks to be decided."""
    return read_recorded(line, line["name"]).situation(catalog(shared, line["catalog"]))


def scenario(shared: Path, line: dict[str, Any]) -> tuple[Snapshot, Catalog]:
    """The cluster of a scheduling or disruption line, and what its pools can buy."""
    found = situation(shared, line)
    return found.snapshot, found.catalog
