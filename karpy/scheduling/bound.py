"""What a plan could cost at the very least: a bound to hold a packing against.

Whatever machines are bought, they must together hold what the pods ask for, and there must be as many of them as pods that keep
each other off a host. As a linear program: buy any fraction of any type, so that each amount is covered, for the least price.
Weights of the resources, taken as prices of a unit, bound that from below once they are scaled so that no type is worth more than
it costs; the best weights are looked for by going up and down one resource at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from karpy.cloud.instancetype import Price
from karpy.labels import HOSTNAME
from karpy.resources import NODES, total
from karpy.scheduling.claims import PlannedClaim
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import AffinityTerm
from karpy.scheduling.templates import Template

__all__ = ["bound_of", "price_bound", "rough_bound"]

_STEPS = (4.0, 2.0, 1.4, 1.15, 1.05)
"""The factors by which the weight of a resource is tried to be changed."""


def bound_of(claims: Sequence[PlannedClaim], classes: Iterable[PodClass], templates: Iterable[Template]) -> Price:
    """The bound for the pods that were put on planned machines."""
    needed = dict(total(claim.amounts for claim in claims))
    return price_bound({**needed, NODES: _most_apart(claims, classes)}, templates)


def _most_apart(claims: Iterable[PlannedClaim], classes: Iterable[PodClass]) -> int:
    """Of the pods on these machines, the most that keep each other off a host."""
    terms: dict[int, list[AffinityTerm]] = {}
    for found in classes:
        own = [term for term in dict.fromkeys(found.constraints.anti_affinity) if term.key == HOSTNAME]
        for pod in found.pods if own else ():
            labels = pod.metadata.labels or {}
            terms[id(pod)] = [term for term in own if term.selector.selects(pod.metadata.namespace, labels)]
    counts = Counter(term for claim in claims for pod in claim.pods for term in terms.get(id(pod), ()))
    return max(counts.values(), default=0)


def rough_bound(needed: Mapping[str, int], templates: Iterable[Template]) -> Price:
    """A lower bound that is quick to find: the best of those that each resource gives alone."""
    names = [name for name, amount in needed.items() if amount > 0]
    return _best_alone(names, _offers(names, [needed[name] for name in names], templates))


def price_bound(needed: Mapping[str, int], templates: Iterable[Template]) -> Price:
    """Dollars per hour below which no machines of these pools hold ``needed``, in which ``nodes`` counts machines.

    Zero when nothing can be said.
    """
    names = [name for name, amount in needed.items() if amount > 0]
    amounts = [needed[name] for name in names]
    offers = _offers(names, amounts, templates)
    if not offers or any(all(room[i] == 0 for _, room in offers) for i in range(len(names))):
        return 0.0
    weights = [1.0] * len(names)
    best = _worth(weights, offers)
    alone = _best_alone(names, offers)
    for step in _STEPS:
        improved = True
        while improved:
            improved = False
            for place in range(len(weights)):
                for factor in (step, 1 / step):
                    changed = [*weights[:place], weights[place] * factor, *weights[place + 1 :]]
                    worth = _worth(changed, offers)
                    if worth > best * (1 + 1e-9):
                        best, weights, improved = worth, changed, True
    return max(best, alone)


def _best_alone(names: Sequence[str], offers: Sequence[Offer]) -> Price:
    """What the resource that is the dearest costs if it is bought for itself."""
    return max((_worth_alone(place, offers) for place in range(len(names))), default=0.0)


def _worth_alone(place: int, offers: Iterable[Offer]) -> Price:
    return min((price / shares[place] for price, shares in offers if shares[place] > 0), default=0.0)


Offer = tuple[Price, tuple[float, ...]]
"""The price of a machine, and the share of each needed amount that it holds."""


def _offers(names: Sequence[str], amounts: Sequence[int], templates: Iterable[Template]) -> list[Offer]:
    found: dict[tuple[float, ...], Price] = {}
    for template in templates:
        for priced, bit in template.columns.choice(template.requirements).by_price:
            if bit & template.base.mask and math.isfinite(priced.price):
                room = template.room(bit)
                held = (1 if name == NODES else max(room.get(name, 0), 0) for name in names)
                shares = tuple(has / amount for has, amount in zip(held, amounts, strict=True))
                found[shares] = min(priced.price, found.get(shares, priced.price))
    return [(price, shares) for shares, price in found.items()]


def _worth(weights: Sequence[float], offers: Iterable[Offer]) -> Price:
    """What all that is needed is worth at these weights, when the machine that is the best bargain costs what it is worth."""
    bargains = (
        price / value
        for price, shares in offers
        if (value := sum(w * share for w, share in zip(weights, shares, strict=True))) > 0
    )
    return sum(weights) * min(bargains, default=0.0)
