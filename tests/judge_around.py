"""The judge's second half: what pods ask of the pods around them holds where a plan puts them. Here: spread over domains.

As a promise must hold however the launches turn out, a machine that is not settled on one domain may be in each of those that it
can still get. Like the first half it shares nothing with the solver but the value types.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.errors import InvalidObject
from karpy.labels import normalize
from karpy.objects.pod import Pod
from karpy.objects.podspec import TopologySpreadConstraint
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.plan import Launch, Plan
from karpy.state.snapshot import Snapshot
from karpy.taints import Taint
from tests.judge_catalog import labelled, sold, ways
from tests.judge_pods import could_run, may_run, required, selected, tolerates, wanted_by


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
    """Where all pods are when everything that the plan says has come true."""
    moving = {pod.metadata.uid for pod in pods.values()}
    coming: dict[str, list[Pod]] = {}
    for nomination in plan.nominations:
        coming.setdefault(nomination.node, []).extend(pods[key] for key in nomination.pods if key in pods)
    places = []
    for view in snapshot.nodes:
        staying = [pod for pod in view.pods if pod.metadata.uid not in moving]
        places.append(Place(view.name, [view.requirements], view.taints, staying, coming.get(view.name, []), False))
    forms = Forms(catalog, frozenset(_keys_that_matter(snapshot, pods.values())))
    for number, launch in enumerate(plan.launches):
        placed = [pods[key] for key in launch.pods if key in pods]
        places.append(Place(f"new-{number}", forms.of(launch), launch.pool.taints, [], placed, True))
    return World(snapshot, catalog, places)


class Forms:
    """What a machine can turn out to be: each of its types, in each place where it can be had now.

    Only the keys that some pod or disk asks about are kept, so that hundreds of types come down to a few forms.
    """

    def __init__(self, catalog: Catalog, keys: frozenset[str]) -> None:
        self._catalog = catalog
        self._keys = keys
        self._projected: dict[Requirements, Requirements] = {}
        self._one: dict[Requirements, Requirements] = {}

    def of(self, launch: Launch) -> list[Requirements]:
        known = sold(self._catalog, launch.pool.name)
        found: dict[tuple[Requirements, Requirements], None] = {}
        for name, offerings in ways(launch, self._catalog).items():
            instance_type = known.by_name(name)
            if instance_type is not None:
                machine = self._projection(instance_type.requirements)
                found.update(dict.fromkeys((machine, self._projection(given)) for _offering, given in offerings))
        by_machine = {machine: self._projection(labelled(launch, machine)) for machine, _given in found}
        return list(dict.fromkeys(by_machine[machine] & machine & given for machine, given in found))

    def _projection(self, given: Requirements) -> Requirements:
        """Only the keys that matter; what is equal is one object."""
        if given not in self._projected:
            found = Requirements(r for r in given.values() if r.key in self._keys)
            self._projected[given] = self._one.setdefault(found, found)
        return self._projected[given]


def _keys_that_matter(snapshot: Snapshot, moving: Iterable[Pod]) -> Iterator[str]:
    for pod in (*moving, *(pod for view in snapshot.nodes for pod in view.pods)):
        yield from (normalize(constraint.topology_key) for constraint in pod.spec.topology_spread_constraints)
        yield from (normalize(term.topology_key) for anti in (True, False) for term in required(pod, anti=anti))
        with contextlib.suppress(InvalidObject):  # such a pod is placed nowhere
            yield from (need.key for wanted in wanted_by(pod) for need in wanted)
    for volume in snapshot.storage.volumes.values():
        affinity = volume.spec.node_affinity
        for term in affinity.required.node_selector_terms if affinity and affinity.required else ():
            yield from (normalize(expression.key) for expression in term.match_expressions)
    for storage_class in snapshot.storage.classes.values():
        for topology in storage_class.allowed_topologies:
            yield from (normalize(expression.key) for expression in topology.match_label_expressions)


# Spread


def spread(world: World) -> Iterator[str]:
    """Where a pod with the constraint came to, there are at most ``maxSkew`` more such pods than where fewest are."""
    for place, pod in world.newcomers:
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable == "DoNotSchedule":
                yield from _skew(world, place, pod, constraint)


def _skew(world: World, place: Place, pod: Pod, constraint: TopologySpreadConstraint) -> Iterator[str]:
    key = normalize(constraint.topology_key)
    here = place.domains(key)
    if len(here) != 1:
        yield f"{pod.key} is to be spread by {key}, and {place.name} has {sorted(here)}"
        return
    alike = [(p, q) for p, q in world.counted if _is_meant(constraint, pod, q)]
    # Newcomers that the pod's presence does not bind may come after it, so they count elsewhere only. A machine of which it is not
    # certain that it counts does so elsewhere only, too.
    bound = [(p, q) for p, q in alike if q not in p.newcomers or _is_bound(constraint, q, pod)]
    certain = sum(1 for p, _q in bound if p.domains(key) == here and _passes(constraint, pod, p, may_run))
    alike = [(p, q) for p, q in alike if _passes(constraint, pod, p, could_run)]
    possible = Counter(value for p, _q in alike for value in p.domains(key))
    least = max((_least(world, pod, constraint, wanted, possible) for wanted in wanted_by(pod)), default=0)
    if certain - least > constraint.max_skew:
        yield f"{pod.key}: {certain} by {key} in {sorted(here)}, and {least} elsewhere ({dict(possible)})"


def _least(
    world: World,
    pod: Pod,
    constraint: TopologySpreadConstraint,
    wanted: Sequence[Requirement],
    counts: Mapping[str, int],
) -> int:
    """How many pods are in the emptiest domain, when these are the pod's needs. Which of its terms counts is up to the solver."""
    eligible = _eligible(world, pod, constraint, wanted)
    if normalize(constraint.topology_key) == labels.HOSTNAME or len(eligible) < (constraint.min_domains or 0):
        return 0  # a new host can always be had
    return min((counts.get(value, 0) for value in eligible), default=0)


def _is_meant(constraint: TopologySpreadConstraint, pod: Pod, other: Pod) -> bool:
    if other.metadata.namespace != pod.metadata.namespace:
        return False
    return selected(constraint.label_selector, other, pod, constraint.match_label_keys)


def _is_bound(constraint: TopologySpreadConstraint, pod: Pod, other: Pod) -> bool:
    """Whether the pod has the constraint too, and counts the other by it: with ``matchLabelKeys`` that need not be mutual."""
    return constraint in pod.spec.topology_spread_constraints and _is_meant(constraint, pod, other)


def _passes(
    constraint: TopologySpreadConstraint, pod: Pod, place: Place, runs: Callable[[Pod, Requirements], bool]
) -> bool:
    """Whether pods on the machine count, by the policies of the constraint."""
    if constraint.node_taints_policy == "Honor" and not tolerates(pod, place.taints):
        return False
    every = all if runs is may_run else any
    return constraint.node_affinity_policy == "Ignore" or every(runs(pod, machine) for machine in place.machines)


def _eligible(world: World, pod: Pod, constraint: TopologySpreadConstraint, wanted: Sequence[Requirement]) -> set[str]:
    key = normalize(constraint.topology_key)
    found: set[str] = set()
    for pool in world.snapshot.pools:
        if pool.may_grow and (constraint.node_taints_policy != "Honor" or tolerates(pod, pool.taints)):
            found |= world.offered(key, pool.name)
    for place in world.places:
        if not place.is_new and _passes(constraint, pod, place, may_run):
            found |= place.domains(key)
    needs = [need for need in wanted if need.key == key]
    return {value for value in found if all(need.has(value) for need in needs)}
