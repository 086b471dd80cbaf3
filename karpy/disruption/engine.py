"""Which nodes should go? The methods are asked in order; the first that has an answer gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from karpy.cloud.instancetype import Catalog
from karpy.disruption.candidates import Candidate, candidates
from karpy.disruption.command import Command, Reason
from karpy.disruption.consolidation import may_be_consolidated, single_node
from karpy.disruption.emptiness import empty_nodes, may_go_empty
from karpy.objects.nodeclaim import DRIFTED
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["Search", "eligible", "next_command", "still_valid"]

Search = Callable[[], Command | None]


def _just(_reason: Reason, search: Search) -> Command | None:
    return search()


def next_command(
    snapshot: Snapshot,
    catalog: Catalog,
    *,
    now: float,
    settings: Settings | None = None,
    through: Callable[[Reason, Search], Command | None] = _just,
) -> Command | None:
    """What to disrupt now, or None. Pure: the same input gives the same command.

    Pods are placed elsewhere by ``settings``, as they are when nodes are launched for them. ``through`` is handed each search, to
    carry it out and see how long it takes.
    """
    found, _refused = candidates(snapshot, catalog, now=now, settings=settings)
    return through(Reason.EMPTY, lambda: empty_nodes(snapshot, found)) or through(
        Reason.UNDERUTILIZED, lambda: single_node(snapshot, catalog, found, settings)
    )


def eligible(found: Iterable[Candidate]) -> Mapping[Reason, int]:
    """How many of the candidates each reason is about."""
    found = tuple(found)
    return {
        Reason.EMPTY: sum(map(may_go_empty, found)),
        Reason.UNDERUTILIZED: sum(map(may_be_consolidated, found)),
        Reason.DRIFTED: sum(candidate.view.claim.is_true(DRIFTED) for candidate in found if candidate.view.claim),
    }


def still_valid(
    command: Command,
    newer: Snapshot,
    catalog: Catalog,
    *,
    now: float,
    settings: Settings | None = None,
) -> Command | None:
    """The command as the newer snapshot allows it, or None (core specification 5.10).

    Of several empty nodes those that still are may go. A consolidation must be found again, for the same node, with a
    replacement that the first one allowed.
    """
    found, _refused = candidates(newer, catalog, now=now, settings=settings)
    named = [candidate for candidate in found if candidate.view.name in command.nodes]
    if command.reason is Reason.EMPTY:
        return empty_nodes(newer, named)
    again = single_node(newer, catalog, named, settings)
    if again is None or len(again.replacements) != len(command.replacements):
        return None
    for old, new in zip(command.replacements, again.replacements, strict=True):
        if not {priced.name for priced in old.instance_types} <= {priced.name for priced in new.instance_types}:
            return None
    return again
