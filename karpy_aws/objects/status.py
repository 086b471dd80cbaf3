"""What a node class was found to mean: the ``status`` of its object, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from karpy.objects.meta import Condition, Integer, Wire, decode, to_wire
from karpy.objects.nodepool import WireRequirement, read_requirements
from karpy.requirements import Requirements

__all__ = ["AMI", "CapacityReservation", "NodeClassStatusFields", "PlacementGroup", "SecurityGroup", "Subnet"]


class Subnet(Wire, frozen=True):
    id: str
    zone: str
    zone_id: str = msgspec.field(name="zoneID", default="")


class SecurityGroup(Wire, frozen=True):
    id: str
    name: str = ""


class CapacityReservation(Wire, frozen=True):
    """``end_time`` as the API writes it; None when it does not end."""

    id: str
    instance_type: str
    availability_zone: str
    owner_id: str = msgspec.field(name="ownerID")
    instance_match_criteria: str
    reservation_type: str = "default"
    interruptible: bool = False
    state: str = "active"
    end_time: str | None = None


class PlacementGroup(Wire, frozen=True):
    """It is never written to the object's status: what was found last is kept beside it."""

    id: str
    name: str = ""
    strategy: str = "cluster"
    spread_level: str | None = None
    partition_count: Integer = 0
    state: str = "available"


@attrs.frozen(kw_only=True)
class AMI:
    """An image, and the instance types that it fits."""

    id: str
    name: str = ""
    requirements: Requirements = Requirements()
    deprecated: bool = False


class _WireAMI(Wire, frozen=True):
    id: str
    name: str = ""
    deprecated: bool = False
    requirements: tuple[WireRequirement, ...] = ()


class _WireStatus(Wire, frozen=True):
    subnets: tuple[Subnet, ...] = ()
    security_groups: tuple[SecurityGroup, ...] = ()
    amis: tuple[_WireAMI, ...] = ()
    capacity_reservations: tuple[CapacityReservation, ...] = ()
    instance_profile: str = ""
    conditions: tuple[Condition, ...] = ()


@attrs.frozen(kw_only=True)
class NodeClassStatusFields:
    """All that lookups in the account found, in the order in which they prefer it."""

    subnets: tuple[Subnet, ...] = ()
    security_groups: tuple[SecurityGroup, ...] = ()
    amis: tuple[AMI, ...] = ()
    capacity_reservations: tuple[CapacityReservation, ...] = ()
    placement_group: PlacementGroup | None = None
    instance_profile: str = ""
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NodeClassStatusFields:
        """Read the status of a node class of any generation.

        Raises:
            InvalidObject: naming the field path below the status, what was found and what is accepted.
        """
        wire = decode(data, _WireStatus)
        return cls(
            subnets=wire.subnets,
            security_groups=wire.security_groups,
            amis=tuple(_ami(index, ami) for index, ami in enumerate(wire.amis)),
            capacity_reservations=wire.capacity_reservations,
            instance_profile=wire.instance_profile,
            conditions=wire.conditions,
        )

    def to_dict(self) -> dict[str, Any]:
        """The API's form; what is empty is left out."""
        fields: dict[str, Any] = {
            "subnets": self.subnets,
            "securityGroups": self.security_groups,
            "amis": [_wire_ami(ami) for ami in self.amis],
            "capacityReservations": self.capacity_reservations,
            "instanceProfile": self.instance_profile,
            "conditions": self.conditions,
        }
        said: dict[str, Any] = to_wire({name: value for name, value in fields.items() if value})
        return said


def _ami(index: int, wire: _WireAMI) -> AMI:
    requirements = read_requirements(wire.requirements, f"amis[{index}].requirements")
    return AMI(id=wire.id, name=wire.name, requirements=requirements, deprecated=wire.deprecated)


def _wire_ami(ami: AMI) -> dict[str, Any]:
    fields = {"id": ami.id, "name": ami.name, "deprecated": ami.deprecated}
    requirements = ami.requirements.to_selectors()
    return {name: value for name, value in {**fields, "requirements": requirements}.items() if value}
