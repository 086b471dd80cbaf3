"""A simulated world's site over `FakeAWS`: karpy's provider for EC2 runs, and no socket is opened."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NoReturn

import structlog

from karpy.clock import Clock
from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import CloudProvider
from karpy.sim.clock import VirtualClock
from karpy.sim.region.colocation import Colocation
from karpy.sim.region.timing import Timing
from karpy.sim.weather import Weather
from karpy_aws.api import APIs
from karpy_aws.batching import AT_ONCE
from karpy_aws.model import AWSModel
from karpy_aws.provider import AWSProvider
from karpy_aws.settings import AWSSettings
from karpy_aws.testing.backends import FakeBackend
from karpy_aws.testing.cloud import FakeAWS
from karpy_aws.testing.regions import CLUSTER, PROFILE, QUEUE, region
from karpy_aws.testing.standin import StandIn

__all__ = ["SETTINGS", "fake_site", "provider", "sold_types"]

SETTINGS: Final = AWSSettings(cluster_name=CLUSTER, interruption_queue=QUEUE, default_instance_profile=PROFILE)
_USUAL: Final = Timing()


def _drop(*_line: Any) -> NoReturn:
    raise structlog.DropEvent


def provider(apis: APIs, clock: Clock) -> CloudProvider:
    """karpy's, on the time of a world, in which nobody could join a batch; nobody reads its log."""
    return AWSProvider(
        apis, SETTINGS, clock=clock, windows=AT_ONCE, log=structlog.wrap_logger(None, processors=[_drop])
    )


@cache
def sold_types() -> InstanceTypes:
    """What machines of each type of the shipped catalog have."""
    return AWSModel().instance_types()


def fake_site(
    clock: VirtualClock,
    seed: int = 0,
    *,
    timing: Timing | None = None,
    weather: Weather | None = None,
    sells: Callable[[str], bool] = lambda _name: True,
) -> StandIn:
    """A region of its own, with those instance types that ``sells`` says."""
    timing = timing or _USUAL
    machines = Colocation("aws", clock, seed, timing=timing, weather=weather)
    world = region(clock.now(), sells)
    world.boot_s, world.shutdown_s = timing.boot[0], timing.terminate[0]
    backend = FakeBackend(FakeAWS(world, clock=clock), machines, clock)
    return StandIn(backend, machines, provider, clock, types=sold_types(), cluster=CLUSTER)
