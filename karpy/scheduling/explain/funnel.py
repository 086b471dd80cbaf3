"""The funnel: how many instance types of a pool are left after each thing that a pod asks for."""

from __future__ import annotations

from collections.abc import Iterator

from karpy.requirements import Requirements
from karpy.resources import format_amount
from karpy.scheduling.afterwards import Standing
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.explain.explanation import Funnel, Step
from karpy.scheduling.limits import within
from karpy.scheduling.plan import Launch
from karpy.scheduling.templates import Template
from karpy.taints import untolerated

__all__ = ["funnel_of_launch", "funnels_of_waiting"]

_Narrowed = tuple[str, int]
"""What narrows the choice, and the types that it allows."""


def funnels_of_waiting(standing: Standing) -> tuple[Funnel, ...]:
    """For a pod that has no place: one funnel for each pool, each of which ends with nothing."""
    return tuple(_of_waiting(standing, template) for template in standing.templates)


def _of_waiting(standing: Standing, template: Template) -> Funnel:
    steps = list(_steps(_asked(standing, template), template))
    around = _limits_and_other_pods(standing, template)
    steps += _steps(around, template, steps[-1][1])
    if steps[-1][1]:
        steps.append(("all of this together", 0))
    return _funnel(template, steps)


def funnel_of_launch(standing: Standing, launch: Launch) -> Funnel:
    """For a pod that gets a new node: down to what the node may be with all pods on it, and the cheapest of it."""
    template = next(each for each in standing.templates if each.pool.name == launch.pool.name)
    steps = list(_steps(_asked(standing, template), template))
    others = len(launch.pods) - 1
    after = f"{others} other pod(s) on the same node" if others else "all of this together"
    kept = len(launch.instance_types)
    told = [Step(text, template.columns.count(mask)) for text, mask in steps]
    told += [Step(after, launch.feasible), Step("keeping the cheapest", kept)]
    return Funnel(launch.pool.name, launch.considered, tuple(told), launch.instance_types[0])


def _funnel(template: Template, steps: list[_Narrowed]) -> Funnel:
    columns = template.columns
    told = tuple(Step(text, columns.count(mask)) for text, mask in steps)
    return Funnel(template.pool.name, columns.count(columns.all), told)


def _steps(narrowing: Iterator[_Narrowed], template: Template, mask: int | None = None) -> Iterator[_Narrowed]:
    left = template.columns.all if mask is None else mask
    for after, allowed in narrowing:
        left &= allowed
        yield after, left


def _asked(standing: Standing, template: Template) -> Iterator[_Narrowed]:
    """What the pool and the pod ask of a new node by themselves."""
    columns, constraints = template.columns, standing.last.constraints
    taint = untolerated(template.taints, constraints.tolerations)
    if taint is not None:
        yield f"taint {taint}", 0
    yield "the nodepool's requirements", columns.allowing(template.requirements)
    held = 0
    for group in template.groups:
        held |= group.mask
    yield "daemon sets", held
    yield from _node_wishes(constraints, template)
    for name, amount in sorted(standing.pod_class.amounts):
        text = f"request of {format_amount(name, amount)} {name}"
        yield text, template.fitting(columns.all, {name: amount}, (name,))
    grown = dict(standing.pod_class.amounts)
    yield "all requests together", template.fitting(columns.all, grown, grown)
    if constraints.ports:
        yield "host ports that daemons take", template.leaving_free(constraints.ports)
    offered = 0
    for wanted in constraints.node_alternatives:
        offered |= columns.choice(template.requirements & wanted).mask
    yield "offerings that can be had now", offered


def _node_wishes(constraints: Constraints, template: Template) -> Iterator[_Narrowed]:
    columns, own = template.columns, template.requirements
    for _key, wanted in sorted(constraints.strict.items()):
        conflict = own.compatible(Requirements((wanted,)), template.labels.well_known)
        yield str(wanted), 0 if conflict is not None else columns.allowing_one(wanted)
    reachable = 0
    for where in constraints.volumes:
        if own.compatible(where, template.labels.well_known) is None:
            reachable |= columns.allowing(where)
    yield "where its volumes are", reachable


def _limits_and_other_pods(standing: Standing, template: Template) -> Iterator[_Narrowed]:
    yield "what is left of limits", within(standing.remaining.get(template.pool.name), template.columns)
    last = standing.last
    for text in last.unsatisfied(template.base):
        yield text, 0
    if not last.allows_host(None) or not last.options(template.base):
        yield "where other pods are", 0
