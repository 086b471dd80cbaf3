"""What a pool may ask for: rules that its schema cannot state, or that no API server has looked at.

A pool that breaks one can be read, but is not launched from; its condition ``ValidationSucceeded`` says why. What the rules
allow depends on the label keys that the clouds define. Source: core specification 1.2 and 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from karpy import labels
from karpy.errors import InvalidObject, shown
from karpy.labels import LabelSpec
from karpy.objects.budget import budget_time_zone
from karpy.objects.churnrules import churn_problems
from karpy.objects.driftmode import drift_problems
from karpy.objects.endurance import registration_failures_allowed
from karpy.objects.kinds import PROVISIONER
from karpy.objects.labelsyntax import KEY_FORM, VALUE_FORM, is_label_key, is_label_value
from karpy.objects.leaving import replace_before_drain
from karpy.objects.lifespan import expiry_spread
from karpy.objects.nodepool import NodePool, WireRequirement
from karpy.objects.timelimits import LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT, time_limit
from karpy.requirements import BOUNDS, Operator, as_integer
from karpy.taints import EFFECTS, Taint

__all__ = ["budget_problems", "pool_problems", "requirement_problems"]

_SHOWN = 10  # values of a list that a complaint repeats
_NOT_OWN = "any label but the one that names the pool"


def pool_problems(pool: NodePool, spec: LabelSpec) -> tuple[InvalidObject, ...]:
    """Everything that is wrong with the pool; each with its field's path, what was found and what is accepted."""
    is_old = pool.origin == PROVISIONER
    labels_at, rest_at = ("spec.labels", "spec") if is_old else ("spec.template.metadata.labels", "spec.template.spec")
    seen: set[tuple[str, str]] = set()
    problems = [
        *_label_problems(pool, spec, labels_at),
        *_taint_problems(pool.taints, f"{rest_at}.taints", seen),
        *_taint_problems(pool.startup_taints, f"{rest_at}.startupTaints", seen),
    ]
    for index, entry in enumerate(pool.entries):
        place = f"{rest_at}.requirements[{index}]"
        if entry.key == labels.NODEPOOL:
            problems.append(_problem(f"{place}.key", entry.key, _NOT_OWN))
        problems += (problem.at(path=place) for problem in requirement_problems(entry, spec))
    problems += _annotation_problems(pool.metadata.annotations or {})
    return tuple(problem.at(object_name=f"{pool.origin.kind}/{pool.name}") for problem in problems)


def budget_problems(pool: NodePool) -> tuple[InvalidObject, ...]:
    """The budgets that cannot be read. Nodes are launched all the same: it is disruption that waits until they can."""
    problems = []
    for index, budget in enumerate(pool.budgets):
        for read in (partial(budget.count, 0), partial(budget.window, 0.0)):
            try:
                read()
            except InvalidObject as error:
                place, name = f"spec.disruption.budgets[{index}]", f"{pool.origin.kind}/{pool.name}"
                problems.append(error.at(path=place, object_name=name))
    return tuple(problems)


def _annotation_problems(annotations: Mapping[str, str]) -> Iterator[InvalidObject]:
    readers: tuple[Callable[[Mapping[str, str]], object], ...] = (
        partial(time_limit, key=LAUNCH_TIMEOUT),
        partial(time_limit, key=REGISTRATION_TIMEOUT),
        registration_failures_allowed,
        expiry_spread,
        replace_before_drain,
        budget_time_zone,
        churn_problems,
        drift_problems,
    )
    for read in readers:
        try:
            read(annotations)
        except InvalidObject as error:
            yield error


def requirement_problems(entry: WireRequirement, spec: LabelSpec) -> Iterator[InvalidObject]:
    """What is wrong with one requirement, of a pool or of a pod; paths are those within it."""
    operators = [each.value for each in Operator]
    if entry.operator not in operators:
        yield _problem("operator", entry.operator, ", ".join(operators))
    yield from _key_problems(labels.normalize(entry.key), spec, "key")
    for index, value in enumerate(entry.values):
        if not is_label_value(value):
            yield _problem(f"values[{index}]", value, VALUE_FORM)
    if entry.operator == Operator.IN.value:
        yield from _choice_problems(entry)
    elif entry.operator in _BOUND_NAMES and not _is_one_bound(entry.values):
        yield _problem("values", list(entry.values), "exactly one integer, 0 or more")


_BOUND_NAMES = frozenset(operator.value for operator in BOUNDS)


def _is_one_bound(values: Sequence[str]) -> bool:
    bound = as_integer(values[0]) if len(values) == 1 else None
    return bound is not None and bound >= 0


def _choice_problems(entry: WireRequirement) -> Iterator[InvalidObject]:
    """Of an In: too few values for what it says itself, or none that the label can have."""
    found, least = list(entry.values), entry.min_values or 0
    if not found:
        yield _problem("values", found, "at least one value")
    if len(found) < least:
        yield _problem("values", found, f"at least as many values as minValues, which is {least}")
    if labels.normalize(entry.key) == labels.CAPACITY_TYPE:
        known = [value for value in found if value in labels.CAPACITY_TYPES]
        if len(known) < max(least, 1):
            accepted = f"at least {max(least, 1)} of {', '.join(labels.CAPACITY_TYPES)}"
            yield _problem("values", found, accepted)


def _key_problems(key: str, spec: LabelSpec, path: str) -> Iterator[InvalidObject]:
    if not is_label_key(key):
        yield _problem(path, key, KEY_FORM)
    if spec.is_restricted(key):
        domains = ", ".join(sorted(spec.restricted_domains))
        known = ", ".join(sorted(spec.well_known))
        yield _problem(path, key, f"a label that no cloud decides ({known}), or one outside of {domains}")


def _label_problems(pool: NodePool, spec: LabelSpec, path: str) -> Iterator[InvalidObject]:
    for key, value in pool.labels.items():
        if key == labels.PROVISIONER_NAME and value == pool.name:
            continue  # karpy's own mark on what was read from a Provisioner
        if key == labels.NODEPOOL:
            yield _problem(f"{path}[{shown(key)}]", key, _NOT_OWN)
        else:
            yield from _key_problems(key, spec, f"{path}[{shown(key)}]")
        if not is_label_value(value):
            yield _problem(f"{path}[{shown(key)}]", value, VALUE_FORM)


def _taint_problems(taints: Sequence[Taint], path: str, seen: set[tuple[str, str]]) -> Iterator[InvalidObject]:
    for index, taint in enumerate(taints):
        place = f"{path}[{index}]"
        if not is_label_key(taint.key):
            yield _problem(f"{place}.key", taint.key, KEY_FORM)
        if taint.value and not is_label_key(taint.value):
            yield _problem(f"{place}.value", taint.value, KEY_FORM)
        if taint.effect and taint.effect not in EFFECTS:
            yield _problem(f"{place}.effect", taint.effect, ", ".join(EFFECTS))
        if (taint.key, taint.effect) in seen:
            yield _problem(place, str(taint), "each key and effect once in taints and startupTaints together")
        seen.add((taint.key, taint.effect))


def _problem(path: str, found: str | list[str], accepted: str) -> InvalidObject:
    told = shown(found) if isinstance(found, str) else f"[{', '.join(shown(value) for value in found[:_SHOWN])}]"
    return InvalidObject(f"found {told}", path=path, accepted=accepted)
