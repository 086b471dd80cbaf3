"""The weather over a fake EC2: its words for shortages, quotas, throttling, and launches that go wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from karpy import labels as core
from karpy.errors import Throttled
from karpy.resources import CPU, Resources
from karpy.sim.region.colocation import Colocation
from karpy.sim.region.fleet import NO_STOCK
from karpy.sim.region.throttles import CloudCall, Limiter
from karpy.sim.region.troubles import TroubleKind
from karpy.sim.region.where import OfferingKey
from karpy_aws.api import Request
from karpy_aws.errors import TIMED_OUT, AWSError, aws_error
from karpy_aws.testing.world import Pool, World

__all__ = ["EC2Weather"]

_FLEET: Final = "ec2:CreateFleet"
_TEMPLATE_LAG_S: Final = 1.0
"""Templates are found sooner than machines."""
_REFUSALS: Final[Mapping[TroubleKind, tuple[str, int]]] = {
    TroubleKind.NO_CAPACITY: ("MaxFleetCountExceeded", 400),
    TroubleKind.FAILS: ("PendingVerification", 400),
    TroubleKind.NOT_READY: ("InvalidAMIID.NotFound", 400),
    TroubleKind.ERROR: ("InternalError", 500),
    TroubleKind.TIMEOUT: (TIMED_OUT, 0),
}
"""Code and status of what a launch is refused with."""


class EC2Weather:
    """Asked before each call what it meets, and after a launch what is wrong with it."""

    def __init__(self, world: World, machines: Colocation) -> None:
        self._world = world
        self._machines = machines
        self._limiter = Limiter(machines.weather.throttles)
        self._orders = 0
        self._troubles: Mapping[TroubleKind, float] = {}
        world.lag_s = max(machines.weather.read_lag_s)
        world.template_lag_s = min(world.lag_s, _TEMPLATE_LAG_S)
        machines.on_clear(self._clear_up)

    def before(self, service: str, operation: str, request: Request, now: float) -> None:
        """Raises: AWSError: the call comes to nothing."""
        kind = _kind_of_call(service, operation, request)
        if kind is not None:
            try:
                self._limiter.admit(kind, now)
            except Throttled as error:
                raise aws_error(f"{service}:{operation}", "RequestLimitExceeded", str(error), status=503) from error
        if operation == "CreateFleet" and not request.get("DryRun"):
            self._before_fleet(request)

    @property
    def troubles(self) -> Mapping[TroubleKind, float]:
        """Of the launch that was just let through."""
        return self._troubles

    def lost_answer(self) -> AWSError | None:
        """What to raise though the launch took place."""
        lost = TroubleKind.ANSWER_LOST in self._troubles
        return aws_error(_FLEET, TIMED_OUT, "the connection broke") if lost else None

    def _before_fleet(self, request: Request) -> None:
        self._orders += 1
        pools = dict.fromkeys(_pools(self._world, request))
        for pool in pools:
            self._shelve(pool)
        first = next((pool for pool in pools if pool not in self._world.pool_errors), None)
        self._troubles = {} if first is None else self._machines.troubles.of(self._orders, _key(first))
        for kind, (code, status) in _REFUSALS.items():
            if kind in self._troubles:
                raise aws_error(_FLEET, code, "so it is today", status=status)

    def _shelve(self, pool: Pool) -> None:
        """Put into a pool what the weather leaves of it."""
        key, since = _key(pool), self._machines.since_began()
        vcpus = self._world.instance_types.get(pool[1], {}).get("VCpuInfo", {}).get("DefaultVCpus", 0)
        code = "" if self._machines.stock.has(key, since) else NO_STOCK
        code = code or self._machines.quotas.refusal(key, Resources({CPU: 1_000 * vcpus}))
        self._world.pool_errors.pop(pool, None)
        if code:
            self._world.pool_errors[pool] = (code, "there is none to be had")

    def _clear_up(self) -> None:
        self._limiter.clear_up()
        self._world.pool_errors.clear()
        self._world.lag_s = self._world.template_lag_s = 0.0
        self._world.found_at.clear()


def _kind_of_call(service: str, operation: str, request: Request) -> CloudCall | None:
    if service != "ec2":
        return None
    if operation == "DescribeInstances":
        return CloudCall.GET if request.get("InstanceIds") else CloudCall.LIST
    return {"CreateFleet": CloudCall.CREATE, "TerminateInstances": CloudCall.DELETE}.get(operation)


def _pools(world: World, request: Mapping[str, Any]) -> Iterator[Pool]:
    """What a fleet may launch, in the order in which it says so."""
    capacity_type = request["TargetCapacitySpecification"].get("DefaultTargetCapacityType", "on-demand")
    for config in request["LaunchTemplateConfigs"]:
        for override in config.get("Overrides") or ():
            subnet = world.subnets.get(override.get("SubnetId", ""), {})
            zone = override.get("AvailabilityZone") or subnet.get("AvailabilityZone", "")
            yield capacity_type, override.get("InstanceType", ""), zone


def _key(pool: Pool) -> OfferingKey:
    capacity_type, instance_type, zone = pool
    return instance_type, zone, core.SPOT if capacity_type == "spot" else core.ON_DEMAND
