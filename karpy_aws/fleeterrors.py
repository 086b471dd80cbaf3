"""What a fleet's errors mean: which offerings are not to be had for now, and what to say of a launch that came to nothing.

A fleet's reply succeeds even if it holds no machine. Its errors come one for each pool that was tried, and each teaches something
about that pool, whether another pool had a machine or not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.errors import CreateFailed, InsufficientCapacity, ProviderError
from karpy_aws.errors import ErrorClass, classify, launch_reason
from karpy_aws.unavailable import OfferingKey

__all__ = ["FleetError", "Launched", "Lessons", "failure_labels", "launch_error", "lessons", "read_fleet_errors"]


@attrs.frozen(kw_only=True)
class FleetError:
    """One error of one pool. What the reply does not say of the pool is empty."""

    code: str
    message: str = ""
    instance_type: str = ""
    zone: str = ""
    subnet: str = ""

    @property
    def classes(self) -> frozenset[ErrorClass]:
        return classify(self.code, self.message)

    @property
    def text(self) -> str:
        return f"{self.code}: {self.message}"


def read_fleet_errors(answer: Mapping[str, Any]) -> tuple[FleetError, ...]:
    """The errors of a CreateFleet's answer."""
    return tuple(_read(error) for error in answer.get("Errors") or ())


def _read(error: Mapping[str, Any]) -> FleetError:
    override = (error.get("LaunchTemplateAndOverrides") or {}).get("Overrides") or {}
    return FleetError(
        code=error.get("ErrorCode", ""),
        message=error.get("ErrorMessage", ""),
        instance_type=override.get("InstanceType", ""),
        zone=override.get("AvailabilityZone", ""),
        subnet=override.get("SubnetId", ""),
    )


@attrs.frozen(kw_only=True)
class Launched:
    """What a fleet was asked for, as far as its errors are about it.

    ``reservations`` are those that its launch templates name, by the type and zone of their offering.
    """

    capacity_type: str
    instance_types: Collection[str] = ()
    reservations: Mapping[tuple[str, str], str] = attrs.field(factory=dict)
    group: str = ""
    partition: int = 0


@attrs.frozen(kw_only=True)
class Lessons:
    """What is not to be had for now."""

    offerings: Mapping[OfferingKey, str] = attrs.field(factory=dict)
    """With what EC2 said of each."""
    capacity_types: frozenset[str] = frozenset()
    subnets: frozenset[str] = frozenset()
    """Without free addresses."""
    reservations: frozenset[str] = frozenset()
    """That are used up."""


def lessons(errors: Iterable[FleetError], launched: Launched) -> Lessons:
    """What the errors say of offerings, subnets and reservations. Errors of the request, or of AWS itself, say nothing of them."""
    offerings: dict[OfferingKey, str] = {}
    reservations = set()
    errors = tuple(errors)
    for error in errors:
        if ErrorClass.UNFULFILLABLE not in error.classes:
            continue
        if launched.capacity_type == core.RESERVED:
            reservations.add(launched.reservations.get((error.instance_type, error.zone), ""))
        elif not _is_of_subnet(error):
            offerings.update(dict.fromkeys(_sold_out(error, launched), error.code))
    return Lessons(
        offerings=offerings,
        capacity_types=frozenset({core.SPOT} if _lacks_spot_role(errors, launched) else ()),
        subnets=frozenset(error.subnet for error in errors if _is_of_subnet(error)),
        reservations=frozenset(filter(None, reservations)),
    )


def _is_of_subnet(error: FleetError) -> bool:
    return ErrorClass.NO_ADDRESSES in error.classes and bool(error.subnet)


def _sold_out(error: FleetError, launched: Launched) -> Sequence[OfferingKey]:
    """A spread group that is full in a zone is full for every type."""
    is_full = ErrorClass.SPREAD_LIMIT in error.classes
    types = sorted(launched.instance_types) if is_full else [error.instance_type]
    partition = 0 if is_full else launched.partition
    return [OfferingKey(launched.capacity_type, name, error.zone, launched.group, partition) for name in types]


def _lacks_spot_role(errors: Iterable[FleetError], launched: Launched) -> bool:
    """Spot is left alone then whatever was asked for, except that a reservation is never spot."""
    is_told = any(ErrorClass.NO_SERVICE_LINKED_ROLE in error.classes for error in errors)
    return is_told and launched.capacity_type != core.RESERVED


def launch_error(errors: Sequence[FleetError]) -> ProviderError:
    """What to raise for a fleet that gave no machine.

    When every error is one of capacity, another choice may do better: InsufficientCapacity. Otherwise somebody has to do something
    about the reason, or it passes: CreateFailed. A fleet that gave neither machines nor errors is told as that.
    """
    texts = list(dict.fromkeys(error.text for error in errors))
    if not texts:
        return CreateFailed("EC2 launched nothing and gave no reason")
    told = "; ".join(texts)
    if all(error.classes & _OF_CAPACITY for error in errors):
        keys = dict.fromkeys((error.instance_type, error.zone) for error in errors if error.instance_type)
        return InsufficientCapacity(f"with fleet error(s), {told}", tuple(keys))
    reason = launch_reason("", told)
    return CreateFailed(f"{reason.message}: {told}", reason.reason)


_OF_CAPACITY: Final = frozenset({ErrorClass.UNFULFILLABLE, ErrorClass.NO_SERVICE_LINKED_ROLE})
_UNKNOWN: Final = "unknown"


def failure_labels(error: FleetError, capacity_type: str, zone_ids: Mapping[str, str]) -> dict[str, str]:
    """The labels under which Karpenter's metric of failed launches counts an error; ``zone_ids`` are by zone."""
    return {
        "zone": error.zone or _UNKNOWN,
        "zone_id": zone_ids.get(error.zone, _UNKNOWN),
        "capacity_type": capacity_type,
        "reason": error.code or _UNKNOWN,
    }
