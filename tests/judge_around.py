"""The judge's second half: what pods ask of the pods and disks around them holds where a plan puts them.

As a promise must hold however the launches turn out, a machine that is not settled on one domain may be in each of those that it
can still get. Like the first half it shares nothing with the solver but the value types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import LabelSelector, Pod, PodAffinity, PodAffinityTerm, TopologySpreadConstraint
from karpy.requirements import Operator, Requirement, Requirements
from karpy.scheduling.plan import Launch, Plan
from karpy.state.snapshot import Snapshot
from karpy.taints import PREFER_NO_SCHEDULE, Taint

JUDGED_TYPES = 10
"""How many types of a launch are looked at; all of them would take minutes for the recorded scenarios."""


@attrs.define(eq=False)
class Place:
    """A machine after the plan: ``machines`` are the forms that it may still take."""

    name: str
    machines: Sequence[Requirements]
    taints: Sequence[Taint]
    running: list[Pod]
    newcomers: list[Pod]
    is_new: bool
    known: dict[str, frozenset[str]] = attrs.field(init=False, factory=dict)

    @property
    def pods(self) -> list[Pod]:
        return [*self.running, *self.newcomers]

    def domains(self, key: str) -> frozenset[str]:
        """Every value of ``key`` that the machine may turn out to have; none where it will lack the label."""
        if key not in self.known:
            self.known[key] = self._domains(key)
        return self.known[key]

    def _domains(self, key: str) -> frozenset[str]:
        if key == labels.HOSTNAME:
            return frozenset({self.name})
        held = [machine[key] for machine in self.machines if key in machine]
        open_ones = {f"some {key} of {self.name}"} if any(r.complement for r in held) else set()
        return frozenset(open_ones.union(*(r.values for r in held if not r.complement)))

    def shares(self, key: str, other: Place) -> bool:
        """Whether the two may end up in one domain."""
        return bool(self.domains(key) & other.domains(key))


@attrs.define(eq=False)
class World:
    """All places, and what the pools can still buy."""

    snapshot: Snapshot
    catalog: Catalog
    places: list[Place]

    @property
    def newcomers(self) -> Iterator[tuple[Place, Pod]]:
        return ((place, pod) for place in self.places for pod in place.newcomers)

    @property
    def counted(self) -> Iterator[tuple[Place, Pod]]:
        return ((place, pod) for place in self.places for pod in place.pods if pod.is_active)

    def offered(self, key: str, pool: str) -> frozenset[str]:
        """The values of ``key`` that a pool's new machines may have."""
        found = self.snapshot.pool(pool)
        assert found is not None
        own = found.template_requirements
        types = [t for t in self.catalog.types.get(pool, ()) if t.requirements.intersects(own) is None]
        held = (
            [(own & t.requirements).get(key) for t in types] if key in own else [t.requirements.get(key) for t in types]
        )
        held.append(own.get(key))
        return frozenset().union(*(r.values for r in held if r is not None and not r.complement))


def world_after(plan: Plan, snapshot: Snapshot, catalog: Catalog, pods: Mapping[str, Pod]) -> World:
    moving = {pod.metadata.uid for pod in pods.values()}
    coming = {nomination.node: [pods[key] for key in nomination.pods] for nomination in plan.nominations}
    places = []
    for view in snapshot.nodes:
        staying = [pod for pod in view.pods if pod.metadata.uid not in moving]
        places.append(Place(view.name, [view.requirements], view.taints, staying, coming.get(view.name, []), False))
    for number, launch in enumerate(plan.launches):
        placed = [pods[key] for key in launch.pods]
        places.append(Place(f"new-{number}", _machines(launch, catalog), launch.pool.taints, [], placed, True))
    return World(snapshot, catalog, places)


def _machines(launch: Launch, catalog: Catalog) -> list[Requirements]:
    """What the machine can be: each of the cheapest types, in each place where it can be had."""
    known = catalog.types[launch.pool.name]
    types = (known.by_name(priced.name) for priced in launch.instance_types[:JUDGED_TYPES])
    return [
        launch.requirements & instance_type.requirements & offering.requirements
        for instance_type in types
        if instance_type is not None
        for offering in instance_type.offerings
        if offering.available and offering.requirements.intersects(launch.requirements) is None
    ]


# Spread


def spread(world: World) -> Iterator[str]:
    """Where a pod with the constraint came to, there are at most ``maxSkew`` more such pods than where fewest are."""
    for place, pod in world.newcomers:
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable == "DoNotSchedule":
                yield from _skew(world, place, pod, constraint)


def _skew(world: World, place: Place, pod: Pod, constraint: TopologySpreadConstraint) -> Iterator[str]:
    key = constraint.topology_key
    here = place.domains(key)
    if len(here) != 1:
        yield f"{pod.key} is to be spread by {key}, and {place.name} has {sorted(here)}"
        return
    alike = [(p, q) for p, q in world.counted if _is_meant(constraint, pod, q, p)]
    carefree = any(
        q in p.newcomers and constraint not in q.spec.topology_spread_constraints and p.domains(key) & here
        for p, q in alike
    )
    if carefree or len(_terms(pod)) > 1:
        return  # others may come after it; and which of its terms counts is the solver's choice
    certain = sum(1 for p, q in alike if p.domains(key) == here)
    possible = Counter(value for p, _q in alike for value in p.domains(key))
    eligible = _eligible(world, pod, constraint)
    least = min((possible[value] for value in eligible), default=0)
    if key == labels.HOSTNAME or len(eligible) < (constraint.min_domains or 0):
        least = 0
    if certain - least > constraint.max_skew:
        yield f"{pod.key}: {certain} by {key} in {sorted(here)}, and {least} elsewhere ({dict(possible)})"


def _is_meant(constraint: TopologySpreadConstraint, pod: Pod, other: Pod, place: Place) -> bool:
    if other.metadata.namespace != pod.metadata.namespace:
        return False
    if not _selected(constraint.label_selector, other, pod, constraint.match_label_keys):
        return False
    return _passes(constraint, pod, place.machines, place.taints)


def _passes(
    constraint: TopologySpreadConstraint, pod: Pod, machines: Sequence[Requirements], taints: Sequence[Taint]
) -> bool:
    if constraint.node_taints_policy == "Honor" and not _tolerates(pod, taints):
        return False
    return constraint.node_affinity_policy == "Ignore" or any(may_run(pod, machine) for machine in machines)


def _eligible(world: World, pod: Pod, constraint: TopologySpreadConstraint) -> set[str]:
    key = constraint.topology_key
    found: set[str] = set()
    for pool in world.snapshot.pools:
        if pool.may_grow and (constraint.node_taints_policy != "Honor" or _tolerates(pod, pool.taints)):
            found |= world.offered(key, pool.name)
    for place in world.places:
        if not place.is_new and _passes(constraint, pod, place.machines, place.taints):
            found |= place.domains(key)
    wanted = [need for need in _wanted(pod)[0] if need.key == key]
    return {value for value in found if all(need.has(value) for need in wanted)}


# Affinity


def together(world: World) -> Iterator[str]:
    """Each required affinity has a pod to be with, or its pod is the first of its kind."""
    for place, pod in world.newcomers:
        for term in _required(pod, anti=False):
            key = term.topology_key
            friends = [
                (p, q) for p, q in world.counted if q is not pod and _about(term, pod, q, world.snapshot.namespaces)
            ]
            settled = {value for p, _q in friends if len(p.domains(key)) == 1 for value in p.domains(key)}
            beside = any(p is place for p, _q in friends) and place.domains(key)
            if beside or (place.domains(key) and place.domains(key) <= settled):
                continue
            reachable = {value for value in settled if all(n.has(value) for n in _wanted(pod)[0] if n.key == key)}
            begins = _about(term, pod, pod, world.snapshot.namespaces) and not (reachable and key != labels.HOSTNAME)
            if not begins or not place.domains(key):
                yield f"{pod.key} wants others by {key}, and is on {place.name} with none"


def apart(world: World) -> Iterator[str]:
    """No required anti-affinity, of newcomers or of pods that run, is broken by this plan."""
    counted = list(world.counted)
    new = {id(pod) for _place, pod in world.newcomers}
    for place, pod in counted:
        for term in _required(pod, anti=True):
            for there, other in counted:
                if other is pod or not (id(pod) in new or id(other) in new):
                    continue
                if place.shares(term.topology_key, there) and _about(term, pod, other, world.snapshot.namespaces):
                    yield f"{pod.key} and {other.key} may meet by {term.topology_key} on {place.name} and {there.name}"


def _required(pod: Pod, *, anti: bool) -> Sequence[PodAffinityTerm]:
    affinity = pod.spec.affinity
    found: PodAffinity | None = None
    if affinity is not None:
        found = affinity.pod_anti_affinity if anti else affinity.pod_affinity
    return found.required if found is not None else ()


def _about(term: PodAffinityTerm, owner: Pod, other: Pod, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    within = set(term.namespaces)
    if term.namespace_selector is not None:
        within |= {name for name, given in namespaces.items() if _matches(term.namespace_selector, given)}
    elif not within:
        within = {owner.metadata.namespace}
    return other.metadata.namespace in within and _selected(
        term.label_selector, other, owner, term.match_label_keys, term.mismatch_label_keys
    )


def _selected(
    selector: LabelSelector | None, other: Pod, owner: Pod, same: Iterable[str] = (), different: Iterable[str] = ()
) -> bool:
    mine, theirs = owner.metadata.labels or {}, other.metadata.labels or {}
    if selector is None or not _matches(selector, theirs):
        return False
    alike = all(theirs.get(key) == mine[key] for key in same if key in mine)
    return alike and all(theirs.get(key) != mine[key] for key in different if key in mine)


def _matches(selector: LabelSelector, given: Mapping[str, str]) -> bool:
    if any(given.get(key) != value for key, value in (selector.match_labels or {}).items()):
        return False
    return all(_expression(e.operator, e.values, given.get(e.key)) for e in selector.match_expressions)


def _expression(operator: str, values: Sequence[str], value: str | None) -> bool:
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return bool(values) and value not in values
        case "Exists":
            return value is not None and not values
        case "DoesNotExist":
            return value is None and not values
    return False


# What the node affinity of a pod and the taints of a machine say


def _tolerates(pod: Pod, taints: Iterable[Taint]) -> bool:
    hard = (taint for taint in taints if taint.effect != PREFER_NO_SCHEDULE)
    return all(any(toleration.tolerates(taint) for toleration in pod.spec.tolerations) for taint in hard)


def _terms(pod: Pod) -> list[list[Requirement]]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else ()
    return [[Requirement.parse(e.key, e.operator, e.values) for e in term.match_expressions] for term in terms]


def _wanted(pod: Pod) -> list[list[Requirement]]:
    """Alternatives of what the machine's labels must be."""
    chosen = [Requirement.in_(key, value) for key, value in (pod.spec.node_selector or {}).items()]
    return [[*chosen, *term] for term in _terms(pod) or [[]]]


def may_run(pod: Pod, machine: Requirements) -> bool:
    """The node selector and one term of the required affinity hold for every node that ``machine`` may stand for."""
    return any(all(holds(machine, need) for need in wanted) for wanted in _wanted(pod))


def holds(machine: Requirements, need: Requirement) -> bool:
    held = machine.get(need.key)
    if held is None or held.operator is Operator.DOES_NOT_EXIST:
        return need.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
    both = held & need
    return (both.complement, both.values, both.gte, both.lte) == (held.complement, held.values, held.gte, held.lte)
