"""Why pods cannot be placed: worked out only for those that could not, and only when the solve is over.

For each pool the constraints are applied one after another, and each is charged with the instance types that it excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from karpy.resources import CPU, Resources, format_amount
from karpy.scheduling.claims import Template
from karpy.scheduling.classes import Constraints, PodClass
from karpy.scheduling.plan import Excluded, PoolRefusal, RefusalKind
from karpy.taints import untolerated

__all__ = ["explain_refusals"]

_MILLI_TYPO = 1_000_000 * 1000  # a million cores: someone wrote "m" where nothing was meant, or the reverse


def explain_refusals(
    pod_class: PodClass, templates: Sequence[Template], remaining: Mapping[str, Resources | None]
) -> tuple[PoolRefusal, ...]:
    """One refusal per pool, in the order in which the pools were tried."""
    return tuple(_explain(pod_class, template, remaining.get(template.pool.name)) for template in templates)


def _explain(pod_class: PodClass, template: Template, limit: Resources | None) -> PoolRefusal:
    total = len(template.columns.types)
    constraints = pod_class.constraints
    taint = untolerated(template.taints, constraints.tolerations)
    if taint is not None:
        return PoolRefusal(
            template.pool.name, total, (Excluded(RefusalKind.TAINT, f"did not tolerate taint {taint}", total),)
        )
    if not total:
        return PoolRefusal(template.pool.name, 0, (Excluded(RefusalKind.OFFERING, "it has no instance types", 0),))
    found = [
        *_requirements(constraints, template),
        *_limits(template, limit),
        *_resources(pod_class, template),
    ]
    excluded = sorted((part for part in found if part.types), key=lambda part: -part.types)
    if not excluded:
        excluded = [Excluded(RefusalKind.TOGETHER, "no instance type meets all constraints together", total)]
    return PoolRefusal(template.pool.name, total, tuple(excluded))


def _requirements(constraints: Constraints, template: Template) -> Iterable[Excluded]:
    columns, total = template.columns, len(template.columns.types)
    for key, own in sorted(template.requirements.items()):
        missing = total - columns.allowing_one(own).bit_count()
        yield Excluded(RefusalKind.REQUIREMENT, f"nodepool requirement {own}", missing)
        if key in columns.offering_keys:
            sold_out = total - columns.choice(template.requirements).mask.bit_count()
            yield Excluded(RefusalKind.OFFERING, f"offerings that are sold out or not {own}", sold_out - missing)
    last = constraints.selected & constraints.terms[-1]
    conflict = template.requirements.compatible(last, template.labels.well_known)
    if conflict is not None:
        yield Excluded(RefusalKind.REQUIREMENT, str(conflict), total)
    for wanted in last.values():
        yield Excluded(
            RefusalKind.REQUIREMENT, f"pod requirement {wanted}", total - columns.allowing_one(wanted).bit_count()
        )


def _limits(template: Template, limit: Resources | None) -> Iterable[Excluded]:
    total = len(template.columns.types)
    for name, left in sorted((limit or {}).items()):
        too_large = total - template.columns.not_larger(name, left).bit_count()
        text = f"limit of {name} ({format_amount(name, max(left, 0))} left)"
        if name == "nodes" and left <= 0:
            too_large = total
        yield Excluded(RefusalKind.LIMIT, text, too_large)


def _resources(pod_class: PodClass, template: Template) -> Iterable[Excluded]:
    total = len(template.columns.types)
    for name, amount in sorted(pod_class.requests.items()):
        fitting = template.columns.fitting(name, amount)
        largest = format_amount(name, max((t.allocatable.get(name, 0) for t in template.columns.types), default=0))
        text = f"request of {format_amount(name, amount)} {name} (the most any type has is {largest})"
        if name == CPU and amount >= _MILLI_TYPO:
            text += '; was "m" for milli-cores meant?'
        yield Excluded(RefusalKind.RESOURCE, text, total - fitting.bit_count())
