"""CreateFleet of type instant: which pools a fleet tries, in which order, what it gets there and what it is told.

A pool is one override: a type in a zone with an image, from one launch template. A fleet goes through its pools by its allocation
strategy, takes from each what there is, and reports an error for each that refused, until it has what it wants.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from karpy_aws.testing.describing import Answer, Handler, Request
from karpy_aws.testing.launching import Launch, launch, refusal_of
from karpy_aws.testing.refusals import Refused
from karpy_aws.testing.templates import template
from karpy_aws.testing.world import FleetScript, World

__all__ = ["HANDLERS"]

_DEEP_ENOUGH: Final = 0.5
"""Price-capacity-optimised spot takes the cheapest of the pools that have at least this part of what the deepest has."""


@attrs.frozen
class _Tried:
    """One override with what its template and the fleet add to it."""

    launch: Launch
    told: Mapping[str, Any]
    """``LaunchTemplateAndOverrides`` of the answer."""
    priority: float

    @property
    def is_spot(self) -> bool:
        return self.launch.capacity_type == "spot"


def _create(world: World, request: Request, now: float) -> Answer:
    if request.get("Type") != "instant":
        raise Refused("InvalidParameterValue", "Only fleets of type instant answer with machines")
    script = world.fleet_scripts.popleft() if world.fleet_scripts else None
    if script is not None and script.refusal is not None:
        status = 500 if script.refusal.get("fault") == "server" else 400
        raise Refused(script.refusal["code"], script.refusal.get("message", ""), status)
    if script is None and world.only_scripts:
        script = FleetScript()
    fleet = world.new_id("fleet")
    tried = list(_overrides(world, request, now, fleet))
    if not tried:
        raise Refused("InvalidFleetConfig", "The fleet configuration has no overrides")
    if script is not None:
        return _scripted(world, script, tried, _wanted(request), now) | {"FleetId": fleet}
    return _from_pools(world, _ordered(world, tried, request, now), _wanted(request), now) | {"FleetId": fleet}


def _wanted(request: Request) -> int:
    return int(request["TargetCapacitySpecification"]["TotalTargetCapacity"])


def _overrides(world: World, request: Request, now: float, fleet: str) -> Iterator[_Tried]:
    for config in request["LaunchTemplateConfigs"]:
        made = _template(world, config["LaunchTemplateSpecification"], now)
        overrides: Sequence[Mapping[str, Any]] = config.get("Overrides") or ({},)
        for override in overrides:
            told = {
                "LaunchTemplateSpecification": {"LaunchTemplateId": made["LaunchTemplateId"], "Version": "1"},
                "Overrides": dict(override),
            }
            wanted = _launch(world, request, made, override, fleet)
            yield _Tried(wanted, told, override.get("Priority", math.inf))


def _template(world: World, named: Mapping[str, Any], now: float) -> Answer:
    """The template that a fleet names; recorded scenarios do without it."""
    if world.only_scripts and named.get("LaunchTemplateName") not in world.launch_templates:
        return {"LaunchTemplateId": "lt-0", "LaunchTemplateData": {}}
    return template(world, named, now)


def _launch(world: World, request: Request, made: Answer, override: Mapping[str, Any], fleet: str) -> Launch:
    data: Mapping[str, Any] = made["LaunchTemplateData"]
    cards = data.get("NetworkInterfaces") or ()
    subnet = override.get("SubnetId") or next((card["SubnetId"] for card in cards if card.get("SubnetId")), "")
    if subnet and subnet not in world.subnets:
        raise Refused("InvalidSubnetID.NotFound", f"The subnet ID '{subnet}' does not exist")
    zone = world.subnets[subnet]["AvailabilityZone"] if subnet else override.get("AvailabilityZone", "")
    if override.get("AvailabilityZone", zone) != zone:
        raise Refused("InvalidParameterValue", f"The subnet '{subnet}' is not in {override['AvailabilityZone']}")
    return Launch(
        capacity_type=request["TargetCapacitySpecification"].get("DefaultTargetCapacityType", "on-demand"),
        instance_type=override.get("InstanceType") or data.get("InstanceType", ""),
        zone=zone,
        subnet=subnet,
        image=override.get("ImageId") or data.get("ImageId", ""),
        template_id=made["LaunchTemplateId"],
        fleet_id=fleet,
        data=data,
        tags=[
            tag
            for specification in request.get("TagSpecifications") or ()
            if specification["ResourceType"] == "instance"
            for tag in specification["Tags"]
        ],
    )


def _ordered(world: World, tried: Sequence[_Tried], request: Request, now: float) -> list[_Tried]:
    """The pools in the order of the fleet's allocation strategy."""
    if not tried[0].is_spot:
        strategy = (request.get("OnDemandOptions") or {}).get("AllocationStrategy", "lowest-price")
        if strategy == "prioritized":
            return sorted(tried, key=lambda pool: pool.priority)
        return sorted(tried, key=lambda pool: _price(world, pool, now))
    strategy = (request.get("SpotOptions") or {}).get("AllocationStrategy", "lowest-price")
    depths = {id(pool): world.stock.get(pool.launch.pool, math.inf) for pool in tried}
    deepest = max(depths.values())

    def is_shallow(pool: _Tried) -> bool:
        return depths[id(pool)] < (deepest if deepest == math.inf else deepest * _DEEP_ENOUGH)

    orders: Mapping[str, Any] = {
        "lowest-price": lambda pool: _price(world, pool, now),
        "price-capacity-optimized": lambda pool: (is_shallow(pool), _price(world, pool, now)),
        "capacity-optimized": lambda pool: (-depths[id(pool)], _price(world, pool, now)),
        "capacity-optimized-prioritized": lambda pool: (-depths[id(pool)], pool.priority),
    }
    if strategy not in orders:
        raise Refused("InvalidParameterValue", f"The allocation strategy {strategy} is not one that this fleet knows")
    return sorted(tried, key=orders[strategy])


def _price(world: World, pool: _Tried, now: float) -> float:
    wanted = pool.launch
    if pool.is_spot:
        price = world.spot_price(wanted.instance_type, wanted.zone, now)
    else:
        price = world.on_demand_prices.get(wanted.instance_type)
    return math.inf if price is None else price


def _from_pools(world: World, tried: Sequence[_Tried], wanted: int, now: float) -> Answer:
    instances: list[Answer] = []
    errors: list[Answer] = []
    for pool in tried:
        ids = []
        while wanted and (problem := refusal_of(world, pool.launch)) is None:
            ids.append(launch(world, pool.launch, now))
            wanted -= 1
        if ids:
            instances.append(_launched(pool, ids))
        if not wanted:
            break
        assert problem is not None  # a pool is left when it refuses, or when nothing is wanted any more
        errors.append(_failed(pool, problem.code, problem.message))
    return {"Instances": instances, "Errors": errors}


def _launched(pool: _Tried, ids: list[str]) -> Answer:
    return {
        "LaunchTemplateAndOverrides": dict(pool.told),
        "Lifecycle": "spot" if pool.is_spot else "on-demand",
        "InstanceIds": ids,
        "InstanceType": pool.launch.instance_type,
    }


def _failed(pool: _Tried, code: str, message: str) -> Answer:
    return {
        "LaunchTemplateAndOverrides": copy.deepcopy(dict(pool.told)),
        "Lifecycle": "spot" if pool.is_spot else "on-demand",
        "ErrorCode": code,
        "ErrorMessage": message,
    }


def _scripted(world: World, script: FleetScript, tried: Sequence[_Tried], wanted: int, now: float) -> Answer:
    errors: list[Answer] = []
    free: list[_Tried] = []
    for pool in sorted(tried, key=lambda pool: (pool.priority, pool.launch.instance_type, pool.launch.zone)):
        hits = [
            error
            for error in script.errors
            if error.get("instanceType", pool.launch.instance_type) == pool.launch.instance_type
            and error.get("zone", pool.launch.zone) == pool.launch.zone
        ]
        errors.extend(_as_scripted(pool, error) for error in hits)
        if not hits:
            free.append(pool)
    if not free or not script.launches:
        return {"Instances": [], "Errors": errors}
    ids = [launch(world, free[0].launch, now) for _ in range(wanted)]
    return {"Instances": [_launched(free[0], ids)], "Errors": errors}


def _as_scripted(pool: _Tried, error: Mapping[str, Any]) -> Answer:
    """EC2 does not always say which subnet it tried: recorded scenarios say when it does."""
    failed = _failed(pool, error["code"], error.get("message", ""))
    if not error.get("withSubnet"):
        failed["LaunchTemplateAndOverrides"]["Overrides"].pop("SubnetId", None)
    return failed


HANDLERS: Final[Mapping[str, Handler]] = {"CreateFleet": _create}
