"""A simulated world's site over moto: karpy's provider for EC2 runs, and the SDK speaks HTTP to a server that acts like AWS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from karpy.clock import SystemClock
from karpy.sim.clock import VirtualClock
from karpy.sim.region.colocation import Colocation
from karpy.sim.region.timing import Timing
from karpy.sim.site import MakeSite
from karpy_aws.catalog import REGION
from karpy_aws.testing.cloud import FakeAWS
from karpy_aws.testing.fakesite import provider, sold_types
from karpy_aws.testing.motobackend import MotoBackend
from karpy_aws.testing.motoserver import add_images, serving
from karpy_aws.testing.regions import CLUSTER, images, region
from karpy_aws.testing.standin import StandIn

__all__ = ["moto_site"]

_TIMING: Final = Timing(terminate=(0.0, 0.0))
"""moto's machines are gone as soon as they are asked to go."""


@contextmanager
def moto_site() -> Iterator[MakeSite]:
    """A server for one world, which must have begun just now: moto's machines are as old as the wall clock says.

    Raises:
        PluginError: moto is not installed.
    """
    with serving(REGION) as transport:
        clock = SystemClock()
        backend = MotoBackend(transport, FakeAWS(region(clock.now()), clock=clock))
        backend.set_up()
        add_images(REGION, dict(images()))

        def make(clock: VirtualClock, seed: int) -> StandIn:
            machines = Colocation("aws", clock, seed, timing=_TIMING)
            return StandIn(backend, machines, provider, clock, types=sold_types(), cluster=CLUSTER)

        yield make
