"""What pools ask for, and facts of the world that may be otherwise one day, one by one."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import attrs

from karpy.labels import normalize
from karpy.objects.meta import find_condition
from karpy.objects.nodepool import RESTING, NodePool
from karpy.requirements import Operator, Requirement, Requirements
from karpy.resources import NODES, Resources
from karpy.scheduling.explain.case import Case
from karpy.scheduling.explain.explanation import Constraint, ConstraintKind
from karpy.scheduling.explain.focus import keeps_away
from karpy.scheduling.explain.units import Change, Place, Unit
from karpy.scheduling.explain.values import first_that, last_that, readable, values_at
from karpy.scheduling.instances import columns
from karpy.scheduling.plan import Launch

__all__ = ["daemon_unit", "pool_units", "world_units"]

_READY = "Ready"
_SHOWN = 3
_NEGATIVE = ("NotIn", "DoesNotExist")


def pool_units(case: Case, pool: NodePool) -> Iterator[Unit]:
    """The constraints of one pool, but for its taints."""
    if not case.aftermath.catalog.types.get(pool.name) or pool.is_static or pool.metadata.is_deleting:
        return  # nothing is ever launched from it for pods
    if not pool.may_grow:
        yield _not_ready(pool)
    for requirement in pool.requirements.values():
        if requirement.min_values:
            yield _min_values(pool, requirement)
        if requirement.operator is not Operator.EXISTS or requirement.is_bounded:
            yield _requirement(pool, requirement, must_exist=_is_asked_for(requirement.key, case))
    for key, value in pool.labels.items():
        yield _label(pool, Requirement.in_(key, value), must_exist=_is_asked_for(normalize(key), case))
    for name, amount in pool.limits.items() if pool.limits is not None else ():
        yield _limit(pool, name, amount)


def world_units(case: Case) -> Iterator[Unit]:
    """What no manifest of the pod or of a pool can change: offerings that are sold out, and pods that keep this one away."""
    if any(
        not offering.available
        for types in case.aftermath.catalog.types.values()
        for t in types
        for offering in t.offerings
    ):
        yield _sold_out()
    keeping_away = sorted(_keeping_away(case))
    if keeping_away:
        yield _other_pods(keeping_away)


def _owned_by(pool: NodePool, kind: ConstraintKind, text: str) -> Constraint:
    return Constraint(kind, f'nodepool "{pool.name}"', text)


# Requirements


def _is_asked_for(key: str, case: Case) -> bool:
    """Whether the label must be there for the pod, and only a pool can put it there. A pool that no longer pins such a label
    may still have it, with whatever value."""
    if key in case.aftermath.catalog.labels.well_known:
        return False
    spec = case.pod.spec
    if any(normalize(selected) == key for selected in spec.node_selector or {}):
        return True
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    terms = required.node_selector_terms if required is not None else ()
    wishes = (expression for term in terms for expression in term.match_expressions)
    return any(normalize(wish.key) == key and wish.operator not in _NEGATIVE for wish in wishes)


def _requirement(pool: NodePool, given: Requirement, *, must_exist: bool) -> Unit:
    key = given.key

    def put(case: Case, other: Requirement | None) -> Case:
        held = case.pools[pool.name]
        least = held.requirements[key].min_values if key in held.requirements else None
        if other is None and (must_exist or least):
            other = Requirement.exists(key)
        kept = [requirement for requirement in held.requirements.values() if requirement.key != key]
        if other is not None:
            kept.append(attrs.evolve(other, min_values=least))
        return case.with_pool(attrs.evolve(held, requirements=Requirements(kept)))

    def ease(case: Case, place: Place) -> Iterator[Change]:
        if isinstance(place, Launch) and given.operator is Operator.IN:
            for value in values_at(case, place, key):
                wider = Requirement.in_(key, *given.values, value)
                yield Change(f'nodepool "{pool.name}" allowing {key} {value}', functools.partial(put, other=wider))

    text = f"requirement {attrs.evolve(given, min_values=None)}"
    constraint = _owned_by(pool, ConstraintKind.POOL_REQUIREMENT, text)
    dropped = f'nodepool "{pool.name}" without its requirement on {key}'
    if must_exist:
        dropped = f'nodepool "{pool.name}" requiring no more than that {key} exists'
    return Unit(constraint, lambda case: put(case, None), dropped, ease)


def _min_values(pool: NodePool, given: Requirement) -> Unit:
    key, asked = given.key, given.min_values or 0

    def put(case: Case, least: int | None) -> Case:
        held = case.pools[pool.name]
        now = held.requirements.get(key)
        kept = [requirement for requirement in held.requirements.values() if requirement.key != key]
        # An Exists that stands only for a requirement which was dropped goes with what it was kept for.
        is_shell = now is not None and now.operator is Operator.EXISTS and given.operator is not Operator.EXISTS
        if now is not None and not (least is None and is_shell):
            kept.append(attrs.evolve(now, min_values=least))
        return case.with_pool(attrs.evolve(held, requirements=Requirements(kept)))

    def ease(case: Case, _place: Place) -> Iterator[Change]:
        most = last_that(range(1, asked), lambda least: put(case, least).place() is not None)
        if most is not None:
            yield Change(f'minValues {most} for {key} on nodepool "{pool.name}"', lambda case: put(case, most))

    constraint = _owned_by(pool, ConstraintKind.POOL_MIN_VALUES, f"minValues {asked} for {key}")
    return Unit(constraint, lambda case: put(case, None), f'no minValues for {key} on nodepool "{pool.name}"', ease)


def _label(pool: NodePool, given: Requirement, *, must_exist: bool) -> Unit:
    """A label pins what a requirement could leave open."""
    key = given.key

    def put(case: Case, value: str | None) -> Case:
        held = case.pools[pool.name]
        kept = {name: own for name, own in held.labels.items() if normalize(name) != key}
        if value is not None:
            return case.with_pool(attrs.evolve(held, labels={**kept, key: value}))
        open_now = held.requirements & Requirements((Requirement.exists(key),)) if must_exist else held.requirements
        return case.with_pool(attrs.evolve(held, labels=kept, requirements=open_now))

    def ease(case: Case, place: Place) -> Iterator[Change]:
        if isinstance(place, Launch):
            for value in values_at(case, place, key):
                yield Change(f'label {key}: {value} on nodepool "{pool.name}"', functools.partial(put, value=value))

    constraint = _owned_by(pool, ConstraintKind.POOL_LABEL, f"label {key}: {given.single()}")
    return Unit(constraint, lambda case: put(case, None), f'nodepool "{pool.name}" without its label {key}', ease)


# Limits, and whether it is ready


def _limit(pool: NodePool, name: str, given: int) -> Unit:
    def put(case: Case, left: int | None) -> Case:
        held = {other: amount for other, amount in _left(case, pool).items() if other != name}
        more = Resources(held if left is None else {**held, name: left})
        return attrs.evolve(case, remaining={**case.remaining, pool.name: more})

    def ease(case: Case, _place: Place) -> Iterator[Change]:
        left = _left(case, pool).get(name, 0)
        table = columns(case.asked.catalog.types[pool.name])
        needed = {1} if name == NODES else table.capacities(name, table.all)
        least = first_that(sorted(n for n in needed if n > left), lambda most: put(case, most).place() is not None)
        if least is not None:
            more = readable(name, least - left, up=True)
            new = readable(name, given + least - left, up=True)
            text = f'{more} more of the {name} limit of nodepool "{pool.name}" (a limit of {new})'
            yield Change(text, lambda case: put(case, least))

    told = readable(name, given, up=False)
    constraint = _owned_by(pool, ConstraintKind.POOL_LIMIT, f"limit of {told} {name}")
    return Unit(constraint, lambda case: put(case, None), f'nodepool "{pool.name}" without its limit of {name}', ease)


def _left(case: Case, pool: NodePool) -> Resources:
    return case.remaining.get(pool.name) or Resources()


def _not_ready(pool: NodePool) -> Unit:
    def drop(case: Case) -> Case:
        held = case.pools[pool.name]
        return case.with_pool(
            attrs.evolve(held, conditions=tuple(each for each in held.conditions if each.type not in (_READY, RESTING)))
        )

    ready = find_condition(pool.conditions, _READY)
    why = f": {ready.message}" if ready is not None and ready.message else ""
    told = f"it rests: {pool.rests_because}" if pool.rests_because else f"it is not ready{why}"
    constraint = _owned_by(pool, ConstraintKind.POOL_NOT_READY, told)
    return Unit(constraint, drop, f'nodepool "{pool.name}" ready again')


# The world


def _sold_out() -> Unit:
    def ease(_case: Case, place: Place) -> Iterator[Change]:
        if isinstance(place, Launch):
            where = ", ".join(f"{key} {value}" for key, value in sorted(_bought(place).items()))
            text = f"{place.instance_types[0].name} on sale again{where and f' ({where})'}"
            yield Change(text, lambda case: attrs.evolve(case, sold_out=False))

    constraint = Constraint(ConstraintKind.SOLD_OUT, "cloud", "offerings that cannot be had now")
    return Unit(constraint, lambda case: attrs.evolve(case, sold_out=False), "offerings on sale again", ease)


def _bought(launch: Launch) -> Mapping[str, str]:
    return {
        key: " or ".join(sorted(requirement.values))
        for key, requirement in launch.requirements.items()
        if key.endswith(("/zone", "/capacity-type")) and not requirement.complement
    }


def _other_pods(names: list[str]) -> Unit:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    constraint = Constraint(ConstraintKind.OTHER_PODS, "cluster", f"required pod anti-affinity of {shown}")
    return Unit(constraint, lambda case: attrs.evolve(case, kept_away=False), f"no pod anti-affinity of {shown}")


def _keeping_away(case: Case) -> Iterator[str]:
    """Pods, where they are or will be, whose required anti-affinity is about this pod."""
    given = case.aftermath
    there = (pod for view in given.counted.nodes for pod in view.pods if pod.is_active)
    planned = (pod for claim in given.machines.claims for pod in claim.pods)
    for pod in (*there, *planned):
        is_other = pod.metadata.uid != case.pod.metadata.uid
        if is_other and keeps_away(pod, case.pod, given.snapshot.namespaces):
            yield pod.key


def daemon_unit(case: Case) -> Iterator[Unit]:
    """What daemon sets take of new nodes; asked about only where nothing else is to blame."""
    names = [daemon_set.metadata.name for daemon_set in case.aftermath.snapshot.daemon_sets]
    if names:
        constraint = Constraint(ConstraintKind.DAEMON_SETS, "cluster", f"daemon sets {', '.join(sorted(names))}")
        yield Unit(constraint, lambda case: attrs.evolve(case, daemons=False), "no daemon sets on new nodes")
