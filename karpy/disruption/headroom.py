"""Room that CapacityBuffers keep ready stands on some nodes now; taking nodes away must not take it.

It is counted, not followed pod by pod: the virtual pods of a buffer are all alike, and it does not matter which of them stands
where, as long as as many have room afterwards, on nodes that are up or on what replaces the node that goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.scheduling.configured import solve_as_set
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Launch, Plan
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["NO_HEADROOM", "Headroom", "standing_headroom"]


@attrs.frozen(eq=False)
class Headroom:
    """How many virtual pods have room on nodes that are up: by node, and by buffer."""

    by_node: Mapping[str, int] = attrs.field(factory=dict)
    by_buffer: Mapping[str, int] = attrs.field(factory=dict)

    def lost(self, plan: Plan, rest: Snapshot, replacements: Iterable[Launch] = ()) -> frozenset[str]:
        """The buffers that have less room than now on the nodes of ``rest`` that are up, by ``plan``, and ``replacements``."""
        if not self.by_buffer:
            return frozenset()
        left = Counter(_standing(plan, rest).by_buffer)
        for launch in replacements:
            left.update({buffer: len(uids) for buffer, uids in launch.headroom.items()})
        return frozenset(buffer for buffer, count in self.by_buffer.items() if left[buffer] < count)


NO_HEADROOM = Headroom()


def standing_headroom(snapshot: Snapshot, catalog: Catalog, settings: Settings | None = None) -> Headroom:
    """Where the virtual pods have room if nothing is disrupted."""
    if not snapshot.headroom:
        return NO_HEADROOM
    return _standing(solve_as_set(settings, snapshot, catalog, packing=Packing.THRIFTY), snapshot)


def _standing(plan: Plan, snapshot: Snapshot) -> Headroom:
    by_node, by_buffer = Counter[str](), Counter[str]()
    for buffer in plan.buffers:
        for node, count in buffer.on_nodes.items():
            view = snapshot.node(node)
            if view is not None and view.is_initialized:
                by_node[node] += count
                by_buffer[buffer.buffer] += count
    return Headroom(by_node, by_buffer)
