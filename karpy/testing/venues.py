"""Where trials are played: on the simulated cloud, or on what stands in for a real one."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs

from karpy.errors import InvalidObject, PluginError, shown
from karpy.kube.client import RawObject
from karpy.sim.cloud import Timing
from karpy.sim.faults import Faults
from karpy.sim.generic import NODE_CLASS, ZONES
from karpy.sim.standins import CloudStandIn, load_stand_in, stand_in_names
from karpy.sim.weather import Weather
from karpy.sim.world import World

__all__ = ["SIM", "Venue", "venue"]

SIM = "sim"
_TIMING = Timing(boot=(5.0, 20.0), ready=(1.0, 5.0), terminate=(2.0, 8.0))


@attrs.frozen
class Venue:
    """What a story has to know of its cloud, and a world with that cloud."""

    zones: Sequence[str]
    node_class: RawObject
    stand_in: CloudStandIn | None = None

    def weather(self, forecast: Weather) -> Weather:
        """As much of it as there can be."""
        return forecast if self.stand_in is None else self.stand_in.has(forecast)

    def world(self, seed: int, faults: Faults, weather: Weather) -> World:
        if self.stand_in is None:
            return World(seed, timing=_TIMING, faults=faults, weather=weather)
        site = self.stand_in.in_memory(_TIMING, weather)
        return World(seed, self.stand_in.models, site=site, faults=faults)


@functools.cache
def venue(cloud: str = SIM) -> Venue:
    """The venue of this name.

    Raises:
        InvalidObject: there is none, or it cannot be loaded.
    """
    if cloud == SIM:
        return Venue(
            ZONES, {"apiVersion": NODE_CLASS.api_version, "kind": NODE_CLASS.kind, "metadata": {"name": "default"}}
        )
    if cloud not in stand_in_names():
        raise InvalidObject(f"found {shown(cloud)}", path="--cloud", accepted=", ".join((SIM, *stand_in_names())))
    try:
        found = load_stand_in(cloud)
    except PluginError as error:
        raise InvalidObject(str(error), path="--cloud") from error
    return Venue(found.zones, found.node_class, found)
