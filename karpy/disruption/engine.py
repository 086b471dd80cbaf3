"""Which nodes should go? The methods are asked in order; the first that has an answer gives it (core specification 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method, Reason
from karpy.disruption.drift import drifted_nodes
from karpy.disruption.emptiness import empty_nodes
from karpy.disruption.multinode import multi_node
from karpy.disruption.past import Past
from karpy.disruption.scene import Scene
from karpy.disruption.singlenode import leave_for_later, single_node
from karpy.disruption.staticdrift import drifted_static_nodes
from karpy.disruption.verdicts import Docket, Verdict
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["METHODS", "Pass", "Search", "eligible", "look"]

Search = Callable[[], Sequence[Command]]

METHODS: Mapping[Method, Callable[[Scene], Sequence[Command]]] = {
    Method.EMPTINESS: empty_nodes,
    Method.STATIC_DRIFT: drifted_static_nodes,
    Method.DRIFT: drifted_nodes,
    Method.MULTI_NODE: multi_node,
    Method.SINGLE_NODE: single_node,
}
"""How each method finds its commands, in the order in which they are asked."""


@attrs.frozen(kw_only=True, eq=False)
class Pass:
    """What one look at the cluster came to: the commands to begin, a verdict for each managed node, how many pods were put
    somewhere on paper for it, and what the next pass should know."""

    commands: tuple[Command, ...] = ()
    docket: Docket = attrs.field(factory=Docket)
    """What each method found of each node; `verdicts` has the last word of each."""
    candidates: tuple[Candidate, ...] = ()
    verdicts: Mapping[str, Verdict] = attrs.field(factory=dict)
    work: int = 0
    past: Past = Past()

    @property
    def longest_wait(self) -> int:
        """Each node that was to be looked at has been, within so many passes before this one; 0: in this one."""
        return max(self.past.waiting.values(), default=0)


def _just(_method: Method, search: Search) -> Sequence[Command]:
    return search()


def look(
    snapshot: Snapshot,
    catalog: Catalog,
    *,
    now: float,
    settings: Settings | None = None,
    past: Past | None = None,
    after: Method | None = None,
    through: Callable[[Method, Search], Sequence[Command]] = _just,
) -> Pass:
    """What to disrupt now, and why the other nodes stay. Pure: the same input gives the same answer.

    Pods are placed elsewhere by ``settings``, as they are when nodes are launched for them. Only the methods ``after`` that one are
    asked, if it is given. ``through`` is handed each search, to carry it out and see how long it takes.
    """
    scene = Scene(snapshot, catalog, now=now, settings=settings, past=past)
    commands: Sequence[Command] = ()
    methods = tuple(METHODS.items())
    skipped = 0 if after is None else list(METHODS).index(after) + 1
    for method, search in methods[skipped:]:
        commands = through(method, lambda search=search: search(scene))  # type: ignore[misc]
        if commands:
            if method is not Method.SINGLE_NODE:
                leave_for_later(scene)
            break
    return Pass(
        commands=tuple(commands),
        docket=scene.docket,
        candidates=scene.all_candidates,
        verdicts=scene.docket.final(),
        work=scene.work,
        past=scene.leaves(),
    )


def eligible(found: Iterable[Candidate]) -> Mapping[Reason, int]:
    """How many of the candidates each reason is about."""
    found = tuple(found)
    return {
        Reason.EMPTY: sum(candidate.may_go_empty for candidate in found),
        Reason.UNDERUTILIZED: sum(candidate.may_be_consolidated for candidate in found),
        Reason.DRIFTED: sum(candidate.has_drifted for candidate in found),
    }
