"""Is a new machine cheaper than the nodes that it replaces, however its launch turns out? (core specification 5.6, 5.7)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog, InstanceTypes, Offering, Price, holding
from karpy.disruption.candidates import Candidate
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.offers import PricedType
from karpy.scheduling.plan import Launch
from karpy.settings import Settings

__all__ = ["CANNOT_REPLACE", "cheaper", "lacking_min_values", "without_same_types"]

CANNOT_REPLACE = "Can't replace with a cheaper node"
_IN_ORDER = (labels.RESERVED, labels.SPOT, labels.ON_DEMAND)
"""Of the capacity types that a machine may be launched as, the first one is."""


def cheaper(
    launch: Launch, gone: Sequence[Candidate], limit: Price, catalog: Catalog, settings: Settings
) -> Launch | str:
    """The launch narrowed to what costs less than ``limit``; or why there is no such, in words."""
    if _is_spot(gone) and _allows(launch, labels.SPOT):
        return _cheaper_spot(launch, gone, limit, catalog, settings)
    kept = _below(launch, limit, catalog)
    if isinstance(kept, str):
        return kept
    # If the spot launch failed, on-demand could cost more than the nodes do now.
    return _spot_only(kept, catalog) if _allows(kept, labels.SPOT) and _allows(kept, labels.ON_DEMAND) else kept


def _cheaper_spot(
    launch: Launch, gone: Sequence[Candidate], limit: Price, catalog: Catalog, settings: Settings
) -> Launch | str:
    """Spot nodes are replaced by a cheaper spot node only if people want that, and one alone only if there is so much to choose
    from that what comes will not be replaced again at once."""
    if not settings.spot_to_spot_consolidation:
        return "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
    kept = _below(_pinned(launch, labels.SPOT), limit, catalog)
    if isinstance(kept, str) or len(gone) > 1:
        return kept
    needed, found = settings.spot_to_spot_flexibility, len(kept.instance_types)
    if found < needed:
        return (
            f"SpotToSpotConsolidation requires {needed} cheaper instance type options than the current candidate "
            f"to consolidate, got {found}"
        )
    most = max(needed, _enough_for_min_values(kept, catalog))
    return attrs.evolve(kept, instance_types=kept.instance_types[:most])


def without_same_types(launch: Launch, gone: Sequence[Candidate], catalog: Catalog) -> Launch | str:
    """Two large nodes and a small one are not replaced by a small one: that is to delete the large ones.

    Where the new machine may be of a type that goes, it must cost less than the cheapest of that type.
    """
    by_type: dict[str, Price] = {}
    for candidate in gone:
        name = candidate.view.labels.get(labels.INSTANCE_TYPE, "")
        by_type[name] = min(candidate.price, by_type.get(name, math.inf))
    limit = min((by_type[each.name] for each in launch.instance_types if each.name in by_type), default=math.inf)
    return launch if limit == math.inf else _below(launch, limit, catalog)


def _is_spot(gone: Iterable[Candidate]) -> bool:
    return all(candidate.view.labels.get(labels.CAPACITY_TYPE) == labels.SPOT for candidate in gone)


def _allows(launch: Launch, capacity_type: str) -> bool:
    wanted = launch.requirements.get(labels.CAPACITY_TYPE)
    return wanted is None or wanted.has(capacity_type)


def _pinned(launch: Launch, capacity_type: str) -> Launch:
    only = Requirements((Requirement.in_(labels.CAPACITY_TYPE, capacity_type),))
    return attrs.evolve(launch, requirements=launch.requirements & only, capacity_types=(capacity_type,))


def _spot_only(launch: Launch, catalog: Catalog) -> Launch:
    """As spot machines, if it can be had as one. Types that nobody sells as spot now stay listed behind: they may be by then."""
    pinned = _pinned(launch, labels.SPOT)
    prices = {
        each.name: min((offering.sort_price for offering in _offered(pinned, each.name, catalog)), default=math.inf)
        for each in launch.instance_types
    }
    if min(prices.values()) == math.inf:
        return _pinned(launch, labels.ON_DEMAND)
    priced = [attrs.evolve(each, price=prices[each.name]) for each in launch.instance_types]
    return attrs.evolve(pinned, instance_types=_by_price(priced))


def _by_price(types: Iterable[PricedType]) -> tuple[PricedType, ...]:
    return tuple(sorted(types, key=lambda each: (each.price, each.name)))


def _below(launch: Launch, limit: Price, catalog: Catalog) -> Launch | str:
    """The launch with the types that cost less in any case."""
    kept = []
    for each in launch.instance_types:
        if each.price >= limit:
            break  # they are in the order of their best price
        offered = _offered(launch, each.name, catalog)
        if _worst(offered) < limit:
            kept.append(attrs.evolve(each, price=min(offering.sort_price for offering in offered)))
    if not kept:
        return CANNOT_REPLACE
    narrowed = attrs.evolve(launch, instance_types=_by_price(kept))
    lacking = lacking_min_values(narrowed, catalog)
    if lacking:
        return f"Filtering by price: minValues requirement is not met for label(s) (label(s)=[{' '.join(lacking)}])"
    return narrowed


def _offered(launch: Launch, name: str, catalog: Catalog) -> list[Offering]:
    """The offerings that the machine may be bought by, as this type; those too whose price nobody knows."""
    listed = _types(launch, catalog).by_name(name)
    instance_type = holding(listed, launch.requests) if listed is not None else None
    return [
        offering
        for offering in (instance_type.offerings if instance_type is not None else ())
        if offering.available and offering.requirements.intersects(launch.requirements) is None
    ]


def _types(launch: Launch, catalog: Catalog) -> InstanceTypes:
    return catalog.types[launch.pool.name]


def _worst(offered: Sequence[Offering]) -> Price:
    """What the machine costs at the most, as what it would be launched as."""
    for capacity_type in _IN_ORDER:
        prices = [offering.sort_price for offering in offered if offering.capacity_type == capacity_type]
        if prices:
            return max(prices)
    return max((offering.sort_price for offering in offered), default=math.inf)


def lacking_min_values(launch: Launch, catalog: Catalog) -> list[str]:
    """The keys of which the types have fewer values than ``minValues`` asks for."""
    return sorted(
        wanted.key
        for wanted in launch.requirements.values()
        if wanted.min_values
        and len(_values(launch, wanted.key, len(launch.instance_types), catalog)) < wanted.min_values
    )


def _values(launch: Launch, key: str, count: int, catalog: Catalog) -> set[str]:
    """The values of the label that the first ``count`` types have."""
    found: set[str] = set()
    for each in launch.instance_types[:count]:
        listed = _types(launch, catalog).by_name(each.name)
        value = None if listed is None else listed.requirements.get(key)
        if value is not None and not value.complement:
            found |= set(value.values)
    return found


def _enough_for_min_values(launch: Launch, catalog: Catalog) -> int:
    """How many types, the cheapest first, satisfy every ``minValues``."""
    return max(
        (
            next(
                (
                    count
                    for count in range(1, len(launch.instance_types) + 1)
                    if len(_values(launch, wanted.key, count, catalog)) >= wanted.min_values
                ),
                len(launch.instance_types),
            )
            for wanted in launch.requirements.values()
            if wanted.min_values
        ),
        default=0,
    )
