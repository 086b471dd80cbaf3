"""The best that can be done about a few pods, found by trying everything.

It works on plain values by the rules of Kubernetes and shares nothing with karpy. Sets of pods are the bits of an ``int``: what
each set costs on one machine of its own, in each place, is looked up among all machines that can be bought; then every way to split
the pods into such sets is tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import attrs

Labels = Mapping[str, str]


@attrs.frozen(kw_only=True)
class Workload:
    """Pods that are alike.

    ``selector``: labels that the node must have; ``bears``: keys of taints that it may have. ``spread``: key and largest skew, and
    ``domains`` is its ``minDomains``. ``apart``: no two of them on one host.
    """

    name: str
    count: int
    cpu: int
    memory: int
    selector: Labels = attrs.field(factory=dict)
    bears: frozenset[str] = frozenset()
    spread: tuple[str, int] | None = None
    domains: int = 0
    apart: bool = False


@attrs.frozen(kw_only=True)
class Offer:
    """One way to buy a model: the labels that the node gets from it, and the price per hour."""

    labels: Labels
    price: float


@attrs.frozen(kw_only=True)
class Model:
    """What a machine has for pods."""

    name: str
    cpu: int
    memory: int
    pods: int
    labels: Labels
    offers: tuple[Offer, ...]


@attrs.frozen(kw_only=True)
class Pool:
    """Which machines may be bought, and what their nodes are given. ``allows``: the values of labels that it is limited to."""

    name: str
    allows: Mapping[str, frozenset[str]] = attrs.field(factory=dict)
    labels: Labels = attrs.field(factory=dict)
    taints: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class Daemon:
    """A pod that runs on every node that it may run on. It bears every taint."""

    cpu: int
    selector: Labels = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Problem:
    workloads: tuple[Workload, ...]
    models: tuple[Model, ...]
    pools: tuple[Pool, ...]
    daemons: tuple[Daemon, ...] = ()

    @property
    def pods(self) -> tuple[Workload, ...]:
        """Each pod, as the workload that it belongs to."""
        return tuple(workload for workload in self.workloads for _ in range(workload.count))


@attrs.frozen
class Best:
    """How many pods must wait whatever is done, and the least that machines for all others cost."""

    waiting: int
    price: float


@attrs.frozen
class _Form:
    """A machine that can be bought, once its daemons run."""

    labels: Labels
    taints: frozenset[str]
    cpu: int
    memory: int
    pods: int
    price: float


_Place = tuple[str | None, ...]
"""The domain of a machine for each workload: none where it is not to be spread, or where the machine lacks the label."""

_Counts = tuple[tuple[int, ...], ...]
"""For each workload how many of its pods are in each of its domains."""


def best(problem: Problem) -> Best:
    """Try everything."""
    pods = problem.pods
    prices = _prices(problem, pods)
    universe = [sorted(_universe(problem, workload)) for workload in problem.workloads]
    nowhere: _Counts = tuple((0,) * len(domains) for domains in universe)
    # For each set of pods that have a machine: how they may be spread, and the least that it costs.
    reached: dict[int, dict[_Counts, float]] = {0: {nowhere: 0.0}}
    everyone = (1 << len(pods)) - 1
    for placed in range(1, everyone + 1):
        found = reached[placed] = {}
        first = placed & -placed
        rest = placed ^ first
        part = rest
        while True:  # every set on one machine that has the first of these pods in it
            for place, price in prices.get(part | first, {}).items():
                for counts, cost in reached[rest ^ part].items():
                    after = _added(counts, place, part | first, problem, universe)
                    if price + cost < found.get(after, math.inf):
                        found[after] = price + cost
            if not part:
                break
            part = (part - 1) & rest
    outcomes = (
        (len(pods) - placed.bit_count(), cost)
        for placed, ways in reached.items()
        for counts, cost in ways.items()
        if _is_even(counts, problem, universe)
    )
    return Best(*min(outcomes))


def _prices(problem: Problem, pods: Sequence[Workload]) -> dict[int, dict[_Place, float]]:
    """For each set of pods that one machine can hold: where there are such machines, and the cheapest in each place."""
    found: dict[int, dict[_Place, float]] = {}
    for form in _forms(problem):
        allowed = sum(1 << number for number, pod in enumerate(pods) if _may_run(pod, form))
        place = tuple(form.labels.get(each.spread[0]) if each.spread else None for each in problem.workloads)
        some = allowed
        while some:
            members = [pod for number, pod in enumerate(pods) if some >> number & 1]
            if _fit(members, form):
                ways = found.setdefault(some, {})
                ways[place] = min(form.price, ways.get(place, math.inf))
            some = (some - 1) & allowed
    return found


def _forms(problem: Problem) -> Iterator[_Form]:
    for pool in problem.pools:
        for model in problem.models:
            for offer in model.offers:
                given = {**model.labels, **offer.labels}
                allowed = all(given.get(key) in values for key, values in pool.allows.items())
                # A label of the pool that the machine has too must agree with it.
                if not allowed or any(given.get(key, value) != value for key, value in pool.labels.items()):
                    continue
                node = {**given, **pool.labels, "pool": pool.name}
                daemons = [d for d in problem.daemons if _has(node, d.selector)]
                cpu, room = model.cpu - sum(d.cpu for d in daemons), model.pods - len(daemons)
                if cpu >= 0 and room >= 0:
                    yield _Form(node, pool.taints, cpu, model.memory, room, offer.price)


def _has(node: Labels, selector: Labels) -> bool:
    return all(node.get(key) == value for key, value in selector.items())


def _may_run(pod: Workload, form: _Form) -> bool:
    if pod.spread and pod.spread[0] not in form.labels:
        return False
    return _has(form.labels, pod.selector) and form.taints <= pod.bears


def _fit(members: Sequence[Workload], form: _Form) -> bool:
    if len(members) > form.pods or sum(pod.cpu for pod in members) > form.cpu:
        return False
    if sum(pod.memory for pod in members) > form.memory:
        return False
    return not any(pod.apart and members.count(pod) > 1 for pod in members)


# Spread


def _universe(problem: Problem, workload: Workload) -> set[str]:
    """The domains that count for a workload: those that its own selector does not rule out, and that some pool may have.

    As in Karpenter, a value that a pool lists is one that it may have, though no model is sold there.
    """
    if workload.spread is None:
        return set()
    key = workload.spread[0]
    found: set[str] = set()
    for pool in problem.pools:
        sold = {offer.labels[key] for model in problem.models for offer in model.offers if key in offer.labels}
        sold |= {model.labels[key] for model in problem.models if key in model.labels}
        found |= pool.allows.get(key, sold)
    return {value for value in found if workload.selector.get(key, value) == value}


def _added(
    counts: _Counts, place: _Place, members: int, problem: Problem, universe: Sequence[Sequence[str]]
) -> _Counts:
    """The counts when this set of pods comes to a machine in this place."""
    found: list[tuple[int, ...]] = []
    start = 0
    for workload, domain, domains, held in zip(problem.workloads, place, universe, counts, strict=True):
        more = (members >> start & (1 << workload.count) - 1).bit_count()
        start += workload.count
        found.append(tuple(n + more * (name == domain) for name, n in zip(domains, held, strict=True)))
    return tuple(found)


def _is_even(counts: _Counts, problem: Problem, universe: Sequence[Sequence[str]]) -> bool:
    """Whether every pod could be bound: of pods that are alike, in the order in which the emptiest domain is filled first."""
    for workload, domains, held in zip(problem.workloads, universe, counts, strict=True):
        if workload.spread is None or not any(held):
            continue
        least = min(held) if len(domains) >= workload.domains else 0
        if max(held) - least > workload.spread[1]:
            return False
    return True
