"""Why pods cannot be placed, pool by pool: worked out when somebody asks, from what the solve left behind.

What a pool itself forbids is no news to its owner. So each constraint is charged with those of the pool's instance types that
it alone excludes; only a pool that is left with none is told which of its own requirements are to blame. Where no constraint
does it alone, the two that no type meets together are named (core specification 3.6).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy.resources import CPU, NODES, Resources, format_amount
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.instances import bits
from karpy.scheduling.limits import within
from karpy.scheduling.plan import Excluded, PoolRefusal, RefusalKind
from karpy.scheduling.reservations import Reservations
from karpy.scheduling.rungs import Rung
from karpy.scheduling.templates import Template
from karpy.taints import untolerated

__all__ = ["Refusals"]

_MILLI_TYPO = 1_000_000 * 1000  # a million cores: someone wrote "m" where nothing was meant, or the reverse

_ALL_TOGETHER = "no instance type meets all constraints together"


class Refusals:
    """The refusals of one solve. It must be over: ``remaining`` is what it left of the limits, ``last`` the laxest rung."""

    def __init__(
        self,
        templates: Sequence[Template],
        remaining: Mapping[str, Resources | None],
        pools: Iterable[NodePool] = (),
        reservations: Reservations | None = None,
    ) -> None:
        """``pools`` are all that there are: those that rest have no template, and are told of at the end."""
        self._templates = templates
        self._remaining = remaining
        self._reservations = reservations
        resting = (pool for pool in pools if pool.rests_because and not pool.is_static)
        self._resting = tuple(_resting(pool) for pool in resting)
        self._rooms: dict[tuple[Template, str], int] = {}

    def of(self, pod_class: PodClass, last: Rung) -> tuple[PoolRefusal, ...]:
        """One refusal per pool, in the order in which the pools were tried."""
        return (*(self._one(pod_class, template, last) for template in self._templates), *self._resting)

    def _one(self, pod_class: PodClass, template: Template, last: Rung) -> PoolRefusal:
        name, everything = template.pool.name, template.columns.count(template.columns.all)
        constraints = last.constraints
        taint = untolerated(template.taints, constraints.tolerations)
        if taint is not None:
            found = Excluded(RefusalKind.TAINT, f"did not tolerate taint {taint}", everything)
            return PoolRefusal(name, everything, (found,))
        if not everything:
            return PoolRefusal(name, 0, (Excluded(RefusalKind.OFFERING, "it has no instance types", 0),))
        if not template.base.mask:
            return _refusal(name, everything, _own_requirements(template))
        limits = _limits(template, self._remaining.get(name))
        reserved = _reservations(constraints, template, self._reservations)
        parts = (*_requirements(constraints, template), *limits, *self._resources(pod_class, template), *reserved)
        considered = template.columns.count(template.base.mask)
        if not last.options(template.base):
            parts += tuple(Excluded(RefusalKind.TOPOLOGY, text, considered) for text in last.unsatisfied(template.base))
        alone = any(part.types == considered for part in parts)
        return _refusal(name, considered, parts, "" if alone else self._together(pod_class, template, constraints))

    def _together(self, pod_class: PodClass, template: Template, constraints: Constraints) -> str:
        """What keeps a pod out that no constraint keeps out by itself."""
        found, left = _clash(pod_class, template, constraints)
        if found:
            return found
        affordable = left & within(self._remaining.get(template.pool.name), template.columns)
        lacking = _too_uniform(template, affordable) if affordable and template.strict_min_values else ""
        return lacking or _ALL_TOGETHER

    def _resources(self, pod_class: PodClass, template: Template) -> Iterable[Excluded]:
        scope = template.base.mask
        for name, amount in sorted(pod_class.requests.items()):
            fitting = template.fitting(scope, {name: amount}, (name,))
            excluded = template.columns.lost(scope, fitting)
            if not excluded:
                continue
            room = format_amount(name, self._room(template, name))
            asked = format_amount(name, amount)
            text = f"request of {asked} {name} (the most that any type has left beside daemons is {room})"
            if name == CPU and amount >= _MILLI_TYPO:
                text += '; was "m" for milli-cores meant?'
            yield Excluded(RefusalKind.RESOURCE, text, excluded)

    def _room(self, template: Template, name: str) -> int:
        """The most of a resource that a new node of the pool may have for pods."""
        known = self._rooms.get((template, name))
        if known is None:
            found = template.columns.types
            rooms = (
                found[bit].allocatable.get(name, 0) - group.overhead.get(name, 0)
                for group in template.groups
                for bit in bits(group.mask & template.base.mask)
            )
            known = self._rooms[template, name] = max(rooms, default=0)
        return known


def _resting(pool: NodePool) -> PoolRefusal:
    return PoolRefusal(pool.name, 0, (Excluded(RefusalKind.OFFERING, f"it rests: {pool.rests_because}", 0),))


def _refusal(pool: str, considered: int, parts: Iterable[Excluded], together: str = "") -> PoolRefusal:
    excluded = sorted((part for part in parts if part.types), key=lambda part: -part.types)
    if not excluded:
        excluded, together = [Excluded(RefusalKind.TOGETHER, together or _ALL_TOGETHER, considered)], ""
    return PoolRefusal(pool, considered, tuple(excluded), together)


def _own_requirements(template: Template) -> Iterable[Excluded]:
    columns = template.columns
    for _key, own in sorted(template.requirements.items()):
        missing = columns.lost(columns.all, columns.allowing_one(own))
        yield Excluded(RefusalKind.REQUIREMENT, f"nodepool requirement {own}", missing)
    sold_out = columns.lost(columns.all, columns.choice(template.requirements).mask)
    wanted = ", ".join(str(own) for key, own in sorted(template.requirements.items()) if key in columns.offering_keys)
    yield Excluded(RefusalKind.OFFERING, f"no offering that can be had now{wanted and f' with {wanted}'}", sold_out)


def _requirements(constraints: Constraints, template: Template) -> Iterable[Excluded]:
    columns, scope = template.columns, template.base.mask
    last = constraints.strict
    conflict = template.requirements.compatible(last, template.labels.well_known)
    if conflict is not None:
        yield Excluded(RefusalKind.REQUIREMENT, str(conflict), columns.count(scope))
    for key, wanted in last.items():
        allowed = scope & columns.allowing_one(wanted)
        if key in columns.offering_keys:
            allowed &= columns.choice(template.requirements & Requirements((wanted,))).mask
        yield Excluded(RefusalKind.REQUIREMENT, f"pod requirement {wanted}", columns.lost(scope, allowed))


def _reservations(
    constraints: Constraints, template: Template, reservations: Reservations | None
) -> Iterable[Excluded]:
    """What could be had if it were not promised to other machines of the pass."""
    first = template.starts[0]
    joined = first.join(constraints) if first.reserved else ()
    if joined and reservations is not None and not any(reservations.reach(None, shape.reserved) for shape in joined):
        text = "one or more instance types with compatible reserved offerings are available, but could not be reserved"
        yield Excluded(RefusalKind.OFFERING, text, template.columns.count(first.mask))


def _limits(template: Template, limit: Resources | None) -> Iterable[Excluded]:
    scope = template.base.mask
    for name, left in sorted((limit or {}).items()):
        kept = template.columns.not_larger(name, left)
        if name == NODES:
            kept = 0 if left <= 0 else scope
        text = f"limit of {name} ({format_amount(name, max(left, 0))} left)"
        yield Excluded(RefusalKind.LIMIT, text, template.columns.lost(scope, kept))


def _clash(pod_class: PodClass, template: Template, constraints: Constraints) -> tuple[str, int]:
    """Which two kinds of constraints no instance type meets both, or that it takes all three; else the types that meet all."""
    scope, columns = template.base.mask, template.columns
    wanted = constraints.strict
    joined = template.requirements & wanted
    kinds = {
        "the requirements": scope & columns.allowing(joined),
        "the resources": template.fitting(scope, dict(pod_class.amounts), dict(pod_class.amounts)),
        "an offering that can be had": scope & columns.choice(joined).mask,
    }
    asked = f" (requirements: {wanted or 'none'}; resources with daemons: {_total(pod_class, template)})"
    for (first, a), (second, b) in itertools.combinations(kinds.items(), 2):
        if a and b and not a & b:
            return f"no instance type has both {first} and {second}{asked}", 0
    one, two, three = kinds.values()
    if one & two & three:
        return "", one & two & three
    lacking = [name for name, mask in kinds.items() if not mask]
    if lacking:
        return f"no instance type has {' or '.join(lacking)}{asked}", 0
    return f"no instance type has the requirements, the resources and an offering at once{asked}", 0


def _too_uniform(template: Template, left: int) -> str:
    """The ``minValues`` that the types of ``left`` do not meet."""
    held = ((key, least, template.columns.different_values(key, left)) for key, least in template.base.min_values)
    lacking = [f"{least} values of {key} ({there} left)" for key, least, there in held if there < least]
    return f"minValues asks for {', '.join(lacking)}" if lacking else ""


def _total(pod_class: PodClass, template: Template) -> str:
    """What the pod asks for with the daemons beside it; as a range where these depend on the type."""
    totals = list(dict.fromkeys(pod_class.requests + group.overhead for group in template.groups if group.mask))
    if len(totals) < 2:
        return str(totals[0] if totals else pod_class.requests)
    least, most = totals[0], totals[0]
    for each in totals[1:]:
        least, most = least.minimum(each), most.maximum(each)
    return f"from {least} to {most}"
