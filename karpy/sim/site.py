"""`Site`: where the machines of a world stand, and the cloud that sells them, as far as the world has to know.

The simulated cloud is one. A stand-in for a real cloud is another: it has the machines, and the provider through which they are
bought is the very one that production runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from karpy.cloud.instancetype import Price
from karpy.cloud.provider import CloudProvider
from karpy.sim.clock import VirtualClock
from karpy.sim.machines import Machine
from karpy.sim.processes.gate import Gate
from karpy.sim.weather import Weather

__all__ = ["MakeSite", "Site"]


class Site(Protocol):
    """Machines on a world's time. Methods are safe from several threads."""

    # The cloud

    @property
    def provider(self) -> CloudProvider:
        """The cloud past all faults: for whoever looks on, and for autoscalers that are no process of their own."""
        ...

    def connect(self, gate: Gate) -> CloudProvider:
        """The cloud as a process has it that starts now, and knows nothing yet: whatever it asks of the cloud crosses ``gate``."""
        ...

    @property
    def weather(self) -> Weather:
        """What the cloud does to its customers."""
        ...

    @property
    def launches_once(self) -> bool:
        """Whether the cloud itself knows what it has launched already, whatever its API tells yet. EC2 does not."""
        ...

    # The machines

    @property
    def machines(self) -> Sequence[Machine]:
        """All that exist, in the order of their launch."""
        ...

    def machine(self, provider_id: str) -> Machine | None:
        """The machine as it is, whatever the cloud's API tells of it; None when it does not exist."""
        ...

    @property
    def launches(self) -> int:
        """How many machines were ever launched."""
        ...

    def cost_per_hour(self) -> Price: ...

    def cost(self, until: float | None = None) -> float:
        """Dollars spent until now, or until a later time if nothing changes."""
        ...

    # Time

    def subscribe(self, listener: Callable[[Machine], None]) -> None:
        """Call ``listener`` whenever a machine is launched, begins to terminate, dies, is stopped or vanishes."""
        ...

    def on_plan(self, listener: Callable[[float], None]) -> None:
        """Call ``listener`` with every time at which something will happen by itself; `catch_up` lets it happen."""
        ...

    def catch_up(self) -> float | None:
        """Let happen what is due by now. Returns when there will be more."""
        ...


MakeSite = Callable[[VirtualClock, int], Site]
"""Makes the site of one world, on its clock and from its seed."""
