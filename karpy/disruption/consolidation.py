"""A node whose pods fit elsewhere goes; a node whose pods fit a cheaper one is replaced by it (core specification 5.6, 5.8)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, Price, holding
from karpy.disruption.budgets import allowed_disruptions
from karpy.disruption.candidates import Candidate, by_savings, is_consolidatable
from karpy.disruption.command import Command, Reason
from karpy.disruption.screen import Screen
from karpy.objects.nodepool import WHEN_EMPTY
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.configured import solve_as_set
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Launch, Plan
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["consolidate", "may_be_consolidated", "single_node"]


def may_be_consolidated(candidate: Candidate) -> bool:
    """Whether its pool wants it to go if its pods have a cheaper place."""
    is_wanted = candidate.pool.consolidation_policy != WHEN_EMPTY and is_consolidatable(candidate)
    return is_wanted and not candidate.is_empty


def single_node(
    snapshot: Snapshot,
    catalog: Catalog,
    found: Sequence[Candidate],
    settings: Settings | None = None,
) -> Command | None:
    """The first node, by what its disruption saves for what it costs, that can go or be replaced."""
    left: dict[str, int] = {}
    screen: Screen | None = None
    for candidate in by_savings(filter(may_be_consolidated, found)):
        pool = candidate.pool
        if pool.name not in left:
            left[pool.name] = allowed_disruptions(snapshot, pool, Reason.UNDERUTILIZED)
        if left[pool.name] <= 0:
            continue
        screen = screen or Screen(snapshot, catalog, settings)  # dear: not before somebody may go at all
        if screen.passes(candidate):
            command = consolidate(snapshot, catalog, candidate, settings)
            if command is not None:
                return command
    return None


def consolidate(
    snapshot: Snapshot,
    catalog: Catalog,
    candidate: Candidate,
    settings: Settings | None = None,
) -> Command | None:
    """What happens to the pods if this node goes: a command, or None when it had better stay."""
    claim = candidate.view.claim
    rest = snapshot.without([candidate.view.name])
    # One packing is enough here: what counts is whether everything fits, and on how many machines.
    pods = (*rest.to_place, *candidate.pods)
    plan = solve_as_set(settings, rest, catalog, pods, packing=Packing.THRIFTY)
    if claim is None or not _all_placed(plan, rest, candidate):
        return None
    replacement = _replacement_for(plan, rest, candidate)
    if len(replacement) > 1 or candidate.headroom.lost(plan, rest, replacement):
        return None
    savings = candidate.price
    if replacement:
        cheaper = _cheaper(replacement[0], candidate, catalog)
        if cheaper is None:
            return None
        replacement = (cheaper,)
        savings -= cheaper.price
    return Command(
        reason=Reason.UNDERUTILIZED,
        claims=(claim.name,),
        nodes=(candidate.view.name,),
        replacements=replacement,
        savings=savings,
        version=snapshot.version,
    )


def _all_placed(plan: Plan, rest: Snapshot, candidate: Candidate) -> bool:
    """Every pod of the node has a place, and none on a node that may yet fail to come up."""
    moving = {pod.key for pod in candidate.pods}
    if any(moving & set(part.pods) for part in plan.unschedulable):
        return False
    for nomination in plan.nominations:
        view = rest.node(nomination.node)
        if moving & set(nomination.pods) and view is not None and not view.is_initialized:
            return False
    return True


def _replacement_for(plan: Plan, rest: Snapshot, candidate: Candidate) -> tuple[Launch, ...]:
    """The launches that this node's end causes: for its pods, and for room that was kept ready.

    Those for pods that waited anyway, or for room that was not there before, do not count.
    """
    moving = {pod.key for pod in candidate.pods}
    displaced = candidate.headroom.lost(plan, rest)
    return tuple(launch for launch in plan.launches if moving & set(launch.pods) or displaced & launch.headroom.keys())


def _cheaper(launch: Launch, candidate: Candidate, catalog: Catalog) -> Launch | None:
    """The launch narrowed to types that cost less than the node at their worst, or None when there is none.

    A spot node is not replaced by another spot node: the cheapest pool is also the one that is interrupted most.
    """
    capacity_types = _capacity_types(launch, catalog)
    is_spot = candidate.view.labels.get(labels.CAPACITY_TYPE) == labels.SPOT
    if labels.SPOT in capacity_types:
        if is_spot:
            return None
        # If the spot launch failed, on-demand could cost more than the node does now.
        capacity_types = (labels.SPOT,)
    pinned = launch.requirements & Requirements((Requirement.in_(labels.CAPACITY_TYPE, *capacity_types),))
    kept = tuple(
        attrs.evolve(priced, price=best)
        for priced in launch.instance_types
        for best, worst in [_price_range(priced.name, launch, pinned, catalog)]
        if best is not None and worst is not None and worst < candidate.price
    )
    if not kept:
        return None
    return attrs.evolve(
        launch, requirements=pinned, instance_types=tuple(sorted(kept, key=lambda p: (p.price, p.name)))
    )


def _capacity_types(launch: Launch, catalog: Catalog) -> tuple[str, ...]:
    names = {priced.name for priced in launch.instance_types}
    found = {
        offering.capacity_type
        for instance_type in catalog.types[launch.pool.name]
        if instance_type.name in names
        for offering in instance_type.offerings
        if offering.available and offering.requirements.intersects(launch.requirements) is None
    }
    return tuple(sorted(found))


def _price_range(
    name: str, launch: Launch, wanted: Requirements, catalog: Catalog
) -> tuple[Price | None, Price | None]:
    listed = catalog.types[launch.pool.name].by_name(name)
    instance_type = holding(listed, launch.requests) if listed is not None else None
    prices = [
        offering.price
        for offering in (instance_type.offerings if instance_type is not None else ())
        if offering.available and offering.has_price and offering.requirements.intersects(wanted) is None
    ]
    return (min(prices), max(prices)) if prices else (None, None)
