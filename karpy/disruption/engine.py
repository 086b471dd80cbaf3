"""Which nodes should go? The methods are asked in order; the first that has an answer gives it."""

from __future__ import annotations

from collections.abc import Sequence

from karpy.cloud.instancetype import Catalog
from karpy.disruption.candidates import candidates
from karpy.disruption.command import Command, Reason
from karpy.disruption.consolidation import single_node
from karpy.disruption.emptiness import empty_nodes
from karpy.objects.pod import TopologySpreadConstraint
from karpy.state.snapshot import Snapshot

__all__ = ["next_command", "still_valid"]


def next_command(
    snapshot: Snapshot, catalog: Catalog, *, now: float, default_spread: Sequence[TopologySpreadConstraint] = ()
) -> Command | None:
    """What to disrupt now, or None. Pure: the same input gives the same command.

    ``default_spread`` holds for pods that name no spread constraint, as in `karpy.scheduling.scheduler.solve`.
    """
    found, _refused = candidates(snapshot, catalog, now=now)
    return empty_nodes(snapshot, found) or single_node(snapshot, catalog, found, default_spread)


def still_valid(
    command: Command,
    newer: Snapshot,
    catalog: Catalog,
    *,
    now: float,
    default_spread: Sequence[TopologySpreadConstraint] = (),
) -> Command | None:
    """The command as the newer snapshot allows it, or None (core specification 5.10).

    Of several empty nodes those that still are may go. A consolidation must be found again, for the same node, with a
    replacement that the first one allowed.
    """
    found, _refused = candidates(newer, catalog, now=now)
    named = [candidate for candidate in found if candidate.view.name in command.nodes]
    if command.reason is Reason.EMPTY:
        return empty_nodes(newer, named)
    again = single_node(newer, catalog, named, default_spread)
    if again is None or len(again.replacements) != len(command.replacements):
        return None
    for old, new in zip(command.replacements, again.replacements, strict=True):
        if not {priced.name for priced in old.instance_types} <= {priced.name for priced in new.instance_types}:
            return None
    return again
