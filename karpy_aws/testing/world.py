"""What there is in the cloud of the fake, in EC2's own shapes, and what shall go wrong in it.

A world is changed freely by tests between calls; `karpy_aws.testing.cloud.FakeAWS` reads and changes it under its lock.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy_aws.testing.models import as_answered

__all__ = ["ACCOUNT", "FleetScript", "Pool", "World", "time_of"]

ACCOUNT: Final = "111122223333"
Record = dict[str, Any]
Pool = tuple[str, str, str]
"""Capacity type (``on-demand``, ``spot``), instance type, zone."""


def time_of(seconds: float) -> dt.datetime:
    """A time as the SDK gives it."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


@attrs.frozen(kw_only=True)
class FleetScript:
    """What one CreateFleet does instead of what the world would allow.

    ``errors`` have ``code`` and ``message``, and hit the overrides of their ``instanceType`` and ``zone``, or all; with
    ``withSubnet`` they name the subnet. The first override that none hits, by priority, type and zone, gets the machines,
    unless ``launches`` is false.
    """

    refusal: Mapping[str, Any] | None = None
    errors: Sequence[Mapping[str, Any]] = ()
    launches: bool = True

    @classmethod
    def from_dict(cls, script: Mapping[str, Any]) -> FleetScript:
        """As recorded scenarios write it."""
        return cls(
            refusal=script.get("apiError"), errors=script.get("errors") or (), launches=script.get("launch", True)
        )


@attrs.define(kw_only=True)
class World:
    """One region of one account."""

    region: str = "us-west-2"
    zones: dict[str, str] = attrs.field(factory=dict)
    """Zone ids by zone."""
    instance_types: dict[str, Record] = attrs.field(factory=dict)
    offerings: dict[str, list[str]] = attrs.field(factory=dict)
    """The zones of each type."""
    on_demand_prices: dict[str, float] = attrs.field(factory=dict)
    spot_prices: dict[tuple[str, str], list[tuple[float, float]]] = attrs.field(factory=dict)
    """By type and zone, when a price began and what it is; the oldest first."""
    subnets: dict[str, Record] = attrs.field(factory=dict)
    security_groups: dict[str, Record] = attrs.field(factory=dict)
    images: dict[str, Record] = attrs.field(factory=dict)
    parameters: dict[str, str] = attrs.field(factory=dict)
    reservations: dict[str, Record] = attrs.field(factory=dict)
    placement_groups: dict[str, Record] = attrs.field(factory=dict)
    launch_templates: dict[str, Record] = attrs.field(factory=dict)
    """By name, as CreateLaunchTemplate was asked for them, with ``LaunchTemplateId`` and ``CreateTime``."""
    instances: dict[str, Record] = attrs.field(factory=dict)
    user_data: dict[str, str] = attrs.field(factory=dict)
    """What each machine was told to run, as the launch template has it."""
    statuses: dict[str, Record] = attrs.field(factory=dict)
    """By instance, what DescribeInstanceStatus says of it beside that all is well."""
    roles: set[str] | None = None
    """The roles that exist; None: any."""
    profiles: dict[str, Record] = attrs.field(factory=dict)
    knows_every_profile: bool = False
    """Whether machines may be launched with profiles that are not among ``profiles``."""
    queues: dict[str, list[Record]] = attrs.field(factory=dict)
    clusters: dict[str, Record] = attrs.field(factory=dict)
    managed_resources: dict[str, Record] = attrs.field(factory=dict)
    """By ARN, what zonal shift says of it."""

    stock: dict[Pool, int] = attrs.field(factory=dict)
    """How many machines are left in a pool; any number, where it is not said."""
    pool_errors: dict[Pool, tuple[str, str]] = attrs.field(factory=dict)
    """Code and message that a launch into a pool gets."""
    vcpu_limits: dict[str, int] = attrs.field(factory=dict)
    """The account's quotas by capacity type."""
    has_spot_role: bool = True
    fleet_scripts: deque[FleetScript] = attrs.field(factory=deque)
    only_scripts: bool = False
    """Whether fleets never look at the world: what recorded scenarios leave out is not missing then."""
    failures: dict[str, deque[tuple[str, str, int]]] = attrs.field(factory=dict)
    """By operation, code, message and status of what the next calls are refused with."""
    denied: set[str] = attrs.field(factory=set)
    """IAM actions that the caller may not take: ``ec2:CreateFleet``."""

    lag_s: float = 0.0
    """For so long what was made is not found yet."""
    boot_s: float = 0.0
    """From pending to running."""
    shutdown_s: float = 0.0
    """From shutting-down to terminated."""
    page_size: int = 0
    """The longest page; 0: as long as was asked for."""
    found_at: dict[str, float] = attrs.field(factory=dict)
    """From when on something is found, by its id."""
    serial: int = 0

    def new_id(self, prefix: str) -> str:
        """An id that nothing had before."""
        self.serial += 1
        return f"{prefix}-{self.serial:017x}"

    def is_found(self, id_: str, now: float) -> bool:
        return self.found_at.get(id_, 0.0) <= now

    def fail(self, operation: str, code: str, message: str = "", *, status: int = 400, times: int = 1) -> None:
        """Have the next calls of this operation refused."""
        self.failures.setdefault(operation, deque()).extend([(code, message, status)] * times)

    def send(self, queue: str, body: str, now: float) -> None:
        """Put a message into a queue."""
        self.queues[queue].append({"MessageId": self.new_id("message"), "Body": body, "sent": now, "visible": now})

    def spot_price(self, instance_type: str, zone: str, now: float) -> float | None:
        history = self.spot_prices.get((instance_type, zone), ())
        return next((price for since, price in reversed(history) if since <= now), None)

    @classmethod
    def recorded(cls, world: Mapping[str, Any], catalog: Mapping[str, Any], now: float) -> World:
        """The world of a recorded scenario, with what its catalog says of the instance types that it names."""
        names = set(world.get("instanceTypes") or ())
        prices = {**catalog["OnDemandPrices"], **(world.get("onDemandPrices") or {})}
        spot = {**catalog["SpotPrices"], **(world.get("spotPrices") or {})}
        zones = {**catalog["Offerings"], **(world.get("offerings") or {})}
        found = cls(
            region=catalog["Region"],
            zones={zone["Name"]: zone["ID"] for zone in catalog["Zones"]},
            instance_types={
                item["InstanceType"]: item for item in catalog["InstanceTypes"] if item["InstanceType"] in names
            },
            offerings={name: zones.get(name) or [] for name in names},
            on_demand_prices={name: prices[name] for name in names if prices.get(name) is not None},
            spot_prices={
                (name, zone): [(now, price)]
                for name in names
                for zone, price in (spot.get(name) or {}).items()
                if price is not None
            },
            parameters=dict(world.get("ssmParameters") or {}),
            fleet_scripts=deque(FleetScript.from_dict(script) for script in world.get("fleet") or ()),
            only_scripts=True,
            knows_every_profile=True,
        )
        found.load(
            subnets=world.get("subnets") or (),
            images=world.get("images") or (),
            reservations=world.get("reservations") or (),
            placement_groups=world.get("placementGroups") or (),
            instances=world.get("instances") or (),
        )
        for operation, member in (
            ("CreateLaunchTemplate", "createLTErrors"),
            ("DescribeLaunchTemplates", "describeLTErrors"),
        ):
            for error in world.get(member) or ():
                found.fail(operation, error["code"], error.get("message", ""), status=_status(error))
        return found

    def load(
        self,
        *,
        subnets: Iterable[Mapping[str, Any]] = (),
        security_groups: Iterable[Mapping[str, Any]] = (),
        images: Iterable[Mapping[str, Any]] = (),
        reservations: Iterable[Mapping[str, Any]] = (),
        placement_groups: Iterable[Mapping[str, Any]] = (),
        instances: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Add resources as EC2 lists them; times may be texts."""
        for table, operation, member, key, records in (
            (self.subnets, "DescribeSubnets", "Subnets", "SubnetId", subnets),
            (self.security_groups, "DescribeSecurityGroups", "SecurityGroups", "GroupId", security_groups),
            (self.images, "DescribeImages", "Images", "ImageId", images),
            (
                self.reservations,
                "DescribeCapacityReservations",
                "CapacityReservations",
                "CapacityReservationId",
                reservations,
            ),
            (self.placement_groups, "DescribePlacementGroups", "PlacementGroups", "GroupId", placement_groups),
        ):
            table.update({record[key]: record for record in as_answered("ec2", operation, member, list(records))})
        found = as_answered("ec2", "DescribeInstances", "Reservations", [{"Instances": list(instances)}])
        self.instances.update({record["InstanceId"]: record for record in found[0]["Instances"]})


def _status(error: Mapping[str, Any]) -> int:
    return 500 if error.get("fault") == "server" else 400
