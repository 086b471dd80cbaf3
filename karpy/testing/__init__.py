"""The kit for authors of controllers and cloud packages: builders of objects, a clock that obeys, and a world in which everything
goes wrong that can.

`World` runs a controller as a process that meets faults, and watches over invariants; `Trial` is a drawn world that one line plays
again, `soak` plays many, and `shrink` makes a failing one small; `sweep` tells a `Story` again for each call that may fail in it.
`ProviderConformance` tries whether a cloud package keeps what clouds promise. For pytest there are the fixtures of
`karpy.testing.plugin`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karpy.sim.faults import Fault, Faults, Planned
    from karpy.sim.invariants.witness import Violation
    from karpy.sim.processes.process import Program, Surroundings
    from karpy.sim.processes.trace import Call, Trace
    from karpy.sim.weather import Weather
    from karpy.sim.world import World
    from karpy.testing.builders import (
        NODE_CLASS,
        make_buffer,
        make_catalog,
        make_claim,
        make_condition,
        make_daemon_set,
        make_instance_type,
        make_instance_types,
        make_machine,
        make_node,
        make_nodepool,
        make_overlay,
        make_pod,
        make_pod_template,
        make_workload,
        selector,
    )
    from karpy.testing.clock import START, FakeClock
    from karpy.testing.conformance import Conforming, ProviderConformance
    from karpy.testing.shrinking import shrink
    from karpy.testing.soaking import Report, soak
    from karpy.testing.sweeping import FAILURES, KILLS, Act, Point, Story, points, sweep
    from karpy.testing.trials import Outcome, Trial, reference

__all__ = [
    "FAILURES",
    "KILLS",
    "NODE_CLASS",
    "START",
    "Act",
    "Call",
    "Conforming",
    "FakeClock",
    "Fault",
    "Faults",
    "Outcome",
    "Planned",
    "Point",
    "Program",
    "ProviderConformance",
    "Report",
    "Story",
    "Surroundings",
    "Trace",
    "Trial",
    "Violation",
    "Weather",
    "World",
    "make_buffer",
    "make_catalog",
    "make_claim",
    "make_condition",
    "make_daemon_set",
    "make_instance_type",
    "make_instance_types",
    "make_machine",
    "make_node",
    "make_nodepool",
    "make_overlay",
    "make_pod",
    "make_pod_template",
    "make_workload",
    "points",
    "reference",
    "selector",
    "shrink",
    "soak",
    "sweep",
]

_HOMES = {
    "karpy.sim.faults": ("Fault", "Faults", "Planned"),
    "karpy.sim.processes.process": ("Program", "Surroundings"),
    "karpy.sim.processes.trace": ("Call", "Trace"),
    "karpy.sim.weather": ("Weather",),
    "karpy.sim.invariants.witness": ("Violation",),
    "karpy.sim.world": ("World",),
    "karpy.testing.clock": ("START", "FakeClock"),
    "karpy.testing.conformance": ("Conforming", "ProviderConformance"),
    "karpy.testing.shrinking": ("shrink",),
    "karpy.testing.soaking": ("Report", "soak"),
    "karpy.testing.sweeping": ("FAILURES", "KILLS", "Act", "Point", "Story", "points", "sweep"),
    "karpy.testing.trials": ("Outcome", "Trial", "reference"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Names are imported when they are used: a plugin of pytest is loaded by tests that have nothing to do with it, too."""
    if name not in __all__:
        raise AttributeError(f"module 'karpy.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF.get(name, "karpy.testing.builders")), name)
    globals()[name] = value
    return value
