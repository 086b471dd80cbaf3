"""The catalogs that recorded scenarios refer to by name: one JSON file each, in one folder."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import attrs

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering, Overhead
from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.meta import Wire, decode
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources

__all__ = ["CatalogFolder", "RecordedCatalog", "parse_catalog"]


@attrs.frozen(eq=False)
class RecordedCatalog:
    """What can be bought, and the label keys that are well known there beside Karpenter's own."""

    types: InstanceTypes
    labels: LabelSpec


class CatalogFolder:
    """The catalogs in a folder, each read once, when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, RecordedCatalog] = {}

    def get(self, name: str) -> RecordedCatalog:
        """The catalog ``<folder>/<name>.json``.

        Raises:
            InvalidObject: there is none of this name, or it cannot be read.
        """
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = parse_catalog(self._content(name), str(self.folder / f"{name}.json"))
        return found

    def _content(self, name: str) -> bytes:
        names = sorted(path.stem for path in self.folder.glob("*.json"))
        if name not in names:  # so a name with slashes in it leads nowhere else
            raise InvalidObject(f"found {name!r}", path="catalog", accepted=self._choices(names))
        path = self.folder / f"{name}.json"
        try:
            return path.read_bytes()
        except OSError as error:
            raise InvalidObject(f"cannot be read: {error.strerror}", object_name=str(path)) from None

    def _choices(self, names: list[str]) -> str:
        if names:
            return f"{', '.join(names)}, as in {self.folder}"
        return f"a catalog in {self.folder}, which has none; --catalogs names another folder"


class _WireRequirement(Wire, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class _WireOffering(Wire, frozen=True):
    zone: str
    capacity_type: str
    price: float | None = None
    available: bool = True
    reservation_id: str | None = None
    reservation_capacity: int = 0


class _WireType(Wire, frozen=True):
    name: str
    capacity: dict[str, str | int | float]
    requirements: tuple[_WireRequirement, ...] = ()
    overhead: dict[str, str | int | float] | None = None
    offerings: tuple[_WireOffering, ...] = ()


class _WireCatalog(Wire, frozen=True):
    instance_types: tuple[_WireType, ...]
    well_known_labels: tuple[str, ...] = ()
    reservation_id_label: str = ""


def parse_catalog(text: bytes, source: str) -> RecordedCatalog:
    """The catalog that the JSON text is.

    Raises:
        InvalidObject: naming the source, the field path, what was found and what is accepted.
    """
    try:
        wire = decode(text, _WireCatalog)
        types = (_type(each, index, wire.reservation_id_label) for index, each in enumerate(wire.instance_types))
        return RecordedCatalog(InstanceTypes(types), LabelSpec(frozenset(wire.well_known_labels)))
    except InvalidObject as error:
        raise error.at(object_name=source) from None


def _type(wire: _WireType, index: int, reservation_label: str) -> InstanceType:
    field = "requirements"
    try:
        requirements = Requirements(Requirement.parse(r.key, r.operator, r.values) for r in wire.requirements)
        field = "capacity"
        capacity = Resources.parse(wire.capacity)
        field = "overhead"
        overhead = Overhead(Resources.parse(wire.overhead or {}))
    except InvalidObject as error:
        raise error.at(path=f"instanceTypes[{index}].{field}") from None
    offerings = tuple(_offering(offering, reservation_label) for offering in wire.offerings)
    return InstanceType(wire.name, requirements, offerings, capacity, overhead)


def _offering(wire: _WireOffering, reservation_label: str) -> Offering:
    held = wire.reservation_id
    return Offering(
        zone=wire.zone,
        capacity_type=wire.capacity_type,
        price=math.nan if wire.price is None else wire.price,
        available=wire.available,
        requirements=_asked(wire.zone, wire.capacity_type, reservation_label, held),
        reservation_id=held,
        reservation_capacity=wire.reservation_capacity,
    )


@functools.lru_cache(maxsize=4_096)
def _asked(zone: str, capacity_type: str, reservation_label: str, reservation: str | None) -> Requirements:
    """What an offering asks for, as one object for all that are alike."""
    asked = [Requirement.in_(labels.ZONE, zone), Requirement.in_(labels.CAPACITY_TYPE, capacity_type)]
    if reservation_label:
        held = Requirement.in_(reservation_label, reservation) if reservation else None
        asked.append(held or Requirement.absent(reservation_label))
    return Requirements(asked)
