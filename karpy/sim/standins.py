"""Stand-ins for real clouds, as cloud packages bring them: entry points of the group ``karpy.stand_ins``.

Behind a stand-in karpy's own provider for that cloud is at work. What it talks to only acts like the cloud, and has no machines but
those that kubelets of the simulated world run on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from karpy.cloud.model import CloudModel
from karpy.errors import PluginError
from karpy.kube.client import RawObject
from karpy.sim.region.timing import Timing
from karpy.sim.site import MakeSite
from karpy.sim.weather import Weather

__all__ = ["CloudStandIn", "load_stand_in", "stand_in_names"]

GROUP = "karpy.stand_ins"


class CloudStandIn(Protocol):
    """What stands in for one cloud."""

    @property
    def name(self) -> str:
        """As the provider's entry point."""
        ...

    @property
    def models(self) -> Sequence[CloudModel]:
        """Those whose node classes are known."""
        ...

    @property
    def zones(self) -> Sequence[str]: ...

    @property
    def node_class(self) -> RawObject:
        """A node class called ``default`` that machines can be launched from there."""
        ...

    def served(self) -> AbstractContextManager[MakeSite]:
        """The cloud as a server, which its own SDK reaches over HTTP: the site of one world that begins now.

        Raises:
            PluginError: something that it needs is not installed.
        """
        ...

    def in_memory(self, timing: Timing, weather: Weather) -> MakeSite:
        """The cloud as a value, a small one that is quick to make and knows all weather that it `has`."""
        ...

    def has(self, weather: Weather) -> Weather:
        """As much of the weather as there can be over the cloud in memory."""
        ...


def stand_in_names() -> tuple[str, ...]:
    """The clouds that can be stood in for. Nothing is imported."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def load_stand_in(name: str) -> CloudStandIn:
    """The stand-in for the cloud called ``name``.

    Raises:
        PluginError: there is none, or it cannot be imported.
    """
    found: Iterator[CloudStandIn] = (_load(name, point) for point in entry_points(group=GROUP, name=name))
    stand_in = next(found, None)
    if stand_in is None:
        known = ", ".join(stand_in_names()) or "none"
        raise PluginError(f"nothing stands in for the cloud {name!r}; installed: {known}")
    return stand_in


def _load(name: str, point: EntryPoint) -> CloudStandIn:
    try:
        loaded: CloudStandIn = point.load()()
    except ImportError as error:
        raise PluginError(
            f"what stands in for the cloud {name!r} cannot be imported: {error}; run: pip install 'karpy[{name}]'"
        ) from error
    return loaded
