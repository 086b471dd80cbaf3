"""Why pods cannot be placed: worked out only for those that could not, and only when the solve is over.

What a pool itself forbids is no news to its owner. So each constraint is charged with those of the pool's instance types that
it alone excludes; only a pool that is left with none is told which of its own requirements are to blame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karpy.requirements import Requirements
from karpy.resources import CPU, NODES, Resources, format_amount
from karpy.scheduling.claims import Template
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.instances import bits
from karpy.scheduling.plan import Excluded, PoolRefusal, RefusalKind
from karpy.scheduling.rungs import Rung
from karpy.taints import untolerated

__all__ = ["explain_refusals"]

_MILLI_TYPO = 1_000_000 * 1000  # a million cores: someone wrote "m" where nothing was meant, or the reverse


def explain_refusals(
    pod_class: PodClass, templates: Sequence[Template], remaining: Mapping[str, Resources | None], last: Rung
) -> tuple[PoolRefusal, ...]:
    """One refusal per pool, in the order in which the pools were tried; ``last`` is the laxest rung that was."""
    return tuple(_explain(pod_class, template, remaining.get(template.pool.name), last) for template in templates)


def _explain(pod_class: PodClass, template: Template, limit: Resources | None, last: Rung) -> PoolRefusal:
    name, everything = template.pool.name, len(template.columns.types)
    constraints = last.constraints
    taint = untolerated(template.taints, constraints.tolerations)
    if taint is not None:
        return PoolRefusal(
            name, everything, (Excluded(RefusalKind.TAINT, f"did not tolerate taint {taint}", everything),)
        )
    if not everything:
        return PoolRefusal(name, 0, (Excluded(RefusalKind.OFFERING, "it has no instance types", 0),))
    if not template.base.mask:
        return _refusal(name, everything, _own_requirements(template))
    parts = (*_requirements(constraints, template), *_limits(template, limit), *_resources(pod_class, template))
    considered = template.base.mask.bit_count()
    if not last.options(template.base):
        parts += tuple(Excluded(RefusalKind.TOPOLOGY, text, considered) for text in last.unsatisfied(template.base))
    return _refusal(name, considered, parts)


def _refusal(pool: str, considered: int, parts: Iterable[Excluded]) -> PoolRefusal:
    excluded = sorted((part for part in parts if part.types), key=lambda part: -part.types)
    if not excluded:
        excluded = [Excluded(RefusalKind.TOGETHER, "no instance type meets all constraints together", considered)]
    return PoolRefusal(pool, considered, tuple(excluded))


def _own_requirements(template: Template) -> Iterable[Excluded]:
    columns, everything = template.columns, len(template.columns.types)
    for _key, own in sorted(template.requirements.items()):
        missing = everything - columns.allowing_one(own).bit_count()
        yield Excluded(RefusalKind.REQUIREMENT, f"nodepool requirement {own}", missing)
    sold_out = everything - columns.choice(template.requirements).mask.bit_count()
    wanted = ", ".join(str(own) for key, own in sorted(template.requirements.items()) if key in columns.offering_keys)
    yield Excluded(RefusalKind.OFFERING, f"no offering that can be had now{wanted and f' with {wanted}'}", sold_out)


def _requirements(constraints: Constraints, template: Template) -> Iterable[Excluded]:
    columns, scope = template.columns, template.base.mask
    last = constraints.strict
    conflict = template.requirements.compatible(last, template.labels.well_known)
    if conflict is not None:
        yield Excluded(RefusalKind.REQUIREMENT, str(conflict), scope.bit_count())
    for key, wanted in last.items():
        allowed = scope & columns.allowing_one(wanted)
        if key in columns.offering_keys:
            allowed &= columns.choice(template.requirements & Requirements((wanted,))).mask
        yield Excluded(RefusalKind.REQUIREMENT, f"pod requirement {wanted}", (scope & ~allowed).bit_count())


def _limits(template: Template, limit: Resources | None) -> Iterable[Excluded]:
    scope = template.base.mask
    for name, left in sorted((limit or {}).items()):
        too_large = scope & ~template.columns.not_larger(name, left)
        if name == NODES:
            too_large = scope if left <= 0 else 0
        text = f"limit of {name} ({format_amount(name, max(left, 0))} left)"
        yield Excluded(RefusalKind.LIMIT, text, too_large.bit_count())


def _resources(pod_class: PodClass, template: Template) -> Iterable[Excluded]:
    scope = template.base.mask
    for name, amount in sorted(pod_class.requests.items()):
        fitting = template.fitting(scope, {name: amount}, (name,))
        room = format_amount(name, _room(template, name))
        text = f"request of {format_amount(name, amount)} {name} (the most that any type has left beside daemons is {room})"
        if name == CPU and amount >= _MILLI_TYPO:
            text += '; was "m" for milli-cores meant?'
        yield Excluded(RefusalKind.RESOURCE, text, (scope & ~fitting).bit_count())


def _room(template: Template, name: str) -> int:
    """The most of a resource that a new node of the pool may have for pods."""
    found = template.columns.types
    rooms = (
        found[bit].allocatable.get(name, 0) - group.overhead.get(name, 0)
        for group in template.groups
        for bit in bits(group.mask & template.base.mask)
    )
    return max(rooms, default=0)
