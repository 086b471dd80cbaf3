"""Several nodes at once: their pods together may fit elsewhere, or on one cheaper node (core specification 5.7)."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

from karpy import labels
from karpy.cloud.instancetype import Price
from karpy.disruption.budgets import Allowance
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.consolidation import consolidate, is_wanted
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import Chosen, NoCheaper, Verdict
from karpy.state.nodeview import NodeView

__all__ = ["multi_node"]

_METHOD = Method.MULTI_NODE
_SHARE, _SHARE_OF_OTHERS = 0.5, 0.2
"""Which part of the work of a pass may be done when the search ends, and when it still begins with another order. The rest is for
those that look at nodes one by one."""
_LEAST = 2
"""What becomes of one node alone is found by another method."""
_NOTHING = 1e-9
"""Dollars that are no reason to prefer one set."""


def multi_node(scene: Scene) -> tuple[Command, ...]:
    """The set of nodes that saves the most by going, of those that were tried: as many as can of all, by what their disruption
    saves for what it costs; and of each pool in each zone those that are used the least."""
    within = _within_budgets(scene)
    best: Command | None = None
    for order in _orders(within):
        best = _longest(scene, order, 0.0 if best is None else best.savings) or best
        if scene.has_done(_SHARE_OF_OTHERS):
            break
    if best is None:
        return ()
    for candidate in within:
        if candidate.claim in best.claims:
            scene.spend(candidate, _METHOD)
            scene.docket.say(candidate.view.name, Chosen(best), _METHOD)
    return (best,)


def _within_budgets(scene: Scene) -> list[Candidate]:
    """Those that may all go at once."""
    left: dict[str, Allowance] = {}
    found = []
    wanted = (each for each in scene.candidates(_METHOD) if is_wanted(scene, each, _METHOD))
    for candidate in wanted:
        pool = candidate.pool
        if pool.name not in left:
            left[pool.name] = scene.allowance(pool, _METHOD.reason)
        if left[pool.name].allowed > 0:
            left[pool.name] = left[pool.name].less(1)
            found.append(candidate)
        else:
            scene.keep_for_budget(candidate, left[pool.name], _METHOD)
    return found


def _orders(found: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    """The nodes in the orders in which beginnings of them are tried."""
    yield found
    groups: dict[tuple[str, str], list[Candidate]] = {}
    for candidate in found:
        groups.setdefault((candidate.pool.name, candidate.view.labels.get(labels.ZONE, "")), []).append(candidate)
    for _, members in sorted(groups.items()):
        yield sorted(members, key=lambda each: (each.view.derived(_use), each.view.name))


def _use(view: NodeView) -> float:
    """Which part of the node its pods take, of what they take the most of."""
    return max(
        (view.used.get(name, 0) / amount for name, amount in view.allocatable.items() if amount > 0), default=0.0
    )


def _longest(scene: Scene, order: Sequence[Candidate], at_least: Price) -> Command | None:
    """The most nodes from the beginning that can go together and save more than ``at_least``, found by halving: where so many can,
    mostly fewer can too."""
    cap = scene.settings.multi_node_candidates or len(order)
    # The search counts from zero, so that it comes to one node more than the cap says. So does Karpenter's.
    reach = order[: cap + 1]
    # No set saves more than what its nodes cost.
    costs = list(itertools.accumulate(each.price for each in reach))
    low, high = max(_LEAST - 1, bisect.bisect_right(costs, at_least + _NOTHING)), len(reach) - 1
    best: Command | None = None
    while low <= high and not scene.has_done(_SHARE):
        middle = (low + high) // 2
        found = _judged(scene, reach[: middle + 1])
        if isinstance(found, Command):
            low = middle + 1
            if best is None or found.savings > best.savings - _NOTHING:
                best = found
        else:
            high = middle - 1
    return best if best is not None and best.savings > at_least + _NOTHING else None


def _judged(scene: Scene, gone: Sequence[Candidate]) -> Command | Verdict:
    if not scene.is_thorough and not scene.is_known(gone) and not scene.screen.may_go_together(gone):
        scene.learn(gone, NoCheaper(None, sum(candidate.price for candidate in gone)))
    return consolidate(scene, gone, _METHOD)
