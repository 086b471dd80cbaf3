"""The pod's own constraints, one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import attrs
import msgspec

from karpy.labels import normalize
from karpy.objects.podspec import (
    ContainerPort,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinityTerm,
    TopologySpreadConstraint,
    Volume,
)
from karpy.objects.selectors import LabelSelector, SelectorRequirement
from karpy.resources import format_amount
from karpy.scheduling.explain.case import Case, with_spec
from karpy.scheduling.explain.explanation import Constraint, ConstraintKind
from karpy.scheduling.explain.rooms import rooms
from karpy.scheduling.explain.units import Change, Place, Unit
from karpy.scheduling.explain.values import distinct, first_that, last_that, readable, values_at
from karpy.taints import PREFER_NO_SCHEDULE, Taint, Toleration

__all__ = ["pod_units"]

_SOFT = "ScheduleAnyway"
_MOST_SKEW = 1 << 12


def pod_units(case: Case) -> Iterator[Unit]:
    """Each constraint of the pod, and each taint that it does not tolerate."""
    spec = case.pod.spec
    for key, value in (spec.node_selector or {}).items():
        yield _selector(key, value)
    yield from _node_affinity(case)
    for name, amount in case.pod.requests.items():
        if amount and name in (spec.containers[0].resources.requests or {}):
            yield _request(name, amount)
    for constraint in distinct(spec.topology_spread_constraints):
        if constraint.when_unsatisfiable != _SOFT:
            yield _spread(constraint)
    yield from _pod_affinities(case)
    for port in distinct(port for port in spec.containers[0].ports if port.host_port):
        yield _port(port)
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            yield _volume(volume)
    yield from _taints(case)


def _own(kind: ConstraintKind, text: str) -> Constraint:
    return Constraint(kind, "pod", text)


def _would_do(case: Case, told: str, values: tuple[str, ...], put: Callable[[Case, str], Case]) -> Iterator[Change]:
    """Those of ``values`` that give the pod a place when they are ``put`` where another is."""
    good = [value for value in values if put(case, value).place() is not None]
    if good:
        yield Change(f"{told} {' or '.join(good)}", lambda case: put(case, good[0]))


# Nodes


def _selector(key: str, value: str) -> Unit:
    def drop(case: Case) -> Case:
        return with_spec(case, node_selector={k: v for k, v in (case.pod.spec.node_selector or {}).items() if k != key})

    def put(case: Case, other: str) -> Case:
        return with_spec(case, node_selector={**(case.pod.spec.node_selector or {}), key: other})

    def ease(case: Case, place: Place) -> Iterator[Change]:
        yield from _would_do(case, f"nodeSelector {key}:", values_at(case, place, normalize(key)), put)
        yield from _labels_on_pools(case, key, value)

    constraint = _own(ConstraintKind.NODE_SELECTOR, f"nodeSelector {key}: {value}")
    return Unit(constraint, drop, f"no nodeSelector {key}", ease)


def _labels_on_pools(case: Case, key: str, value: str) -> Iterator[Change]:
    """A label of the user's own may be given to nodes."""
    if normalize(key) in case.aftermath.catalog.labels.well_known:
        return

    def put(case: Case, pool: str) -> Case:
        return case.with_pool(attrs.evolve(case.pools[pool], labels={**case.pools[pool].labels, key: value}))

    for name in case.pools:
        if put(case, name).place() is not None:
            yield Change(f'label {key}: {value} on nodepool "{name}"', functools.partial(put, pool=name))
            return


def _node_affinity(case: Case) -> Iterator[Unit]:
    affinity = case.pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if required is None:
        return
    terms = required.node_selector_terms
    if len(terms) == 1 and terms[0].match_expressions and not terms[0].match_fields:
        for expression in distinct(terms[0].match_expressions):
            yield _expression(expression)
        return

    def drop(case: Case) -> Case:
        return _with_terms(case, None)

    told = " or ".join(f"({_told_term(term)})" for term in terms) or "that no node meets"
    constraint = _own(ConstraintKind.NODE_AFFINITY, f"required node affinity {told}")
    yield Unit(constraint, drop, "no required node affinity")


def _told_term(term: NodeSelectorTerm) -> str:
    return " and ".join(map(_told_expression, (*term.match_expressions, *term.match_fields)))


def _told_expression(expression: SelectorRequirement) -> str:
    values = f" [{' '.join(expression.values)}]" if expression.values else ""
    return f"{expression.key} {expression.operator}{values}"


def _expression(expression: SelectorRequirement) -> Unit:
    def put(case: Case, *others: SelectorRequirement) -> Case:
        affinity = case.pod.spec.affinity
        required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
        held = required.node_selector_terms[0].match_expressions if required is not None else ()
        kept = tuple(each for each in held if each != expression) + others
        return _with_terms(case, NodeSelector((NodeSelectorTerm(kept),)) if kept else None)

    def ease(case: Case, place: Place) -> Iterator[Change]:
        key = expression.key
        values = values_at(case, place, normalize(key))
        yield from _would_do(
            case, f"node affinity {key} In", values, lambda case, v: put(case, SelectorRequirement(key, "In", (v,)))
        )
        if expression.operator == "In" and len(expression.values) == 1:
            yield from _labels_on_pools(case, key, expression.values[0])

    told = _told_expression(expression)
    constraint = _own(ConstraintKind.NODE_AFFINITY, f"required node affinity {told}")
    return Unit(constraint, put, f"no required node affinity on {expression.key}", ease)


def _with_terms(case: Case, required: NodeSelector | None) -> Case:
    affinity = case.pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return case
    node_affinity = msgspec.structs.replace(affinity.node_affinity, required=required)
    return with_spec(case, affinity=msgspec.structs.replace(affinity, node_affinity=node_affinity))


# Size


def _request(name: str, amount: int) -> Unit:
    def put(case: Case, less: int) -> Case:
        container = case.pod.spec.containers[0]
        requests = {k: v for k, v in (container.resources.requests or {}).items() if k != name}
        if less:
            requests[name] = format_amount(name, less)
        resources = msgspec.structs.replace(container.resources, requests=requests)
        return with_spec(case, containers=(msgspec.structs.replace(container, resources=resources),))

    def drop(case: Case) -> Case:
        return put(case, 0)

    def ease(case: Case, _place: Place) -> Iterator[Change]:
        smaller = sorted(room for room in rooms(case, name) if 0 < room < amount)
        most = last_that(smaller, lambda room: put(case, room).place() is not None)
        if most is not None:
            told, less = readable(name, most, up=False), readable(name, amount - most, up=True)
            yield Change(f"a request of at most {told} {name} ({less} less)", lambda case: put(case, most))

    constraint = _own(ConstraintKind.REQUEST, f"request of {format_amount(name, amount)} {name}")
    return Unit(constraint, drop, f"no request of {name}", ease)


# Other pods


def _spread(constraint: TopologySpreadConstraint) -> Unit:
    key = constraint.topology_key

    def put(case: Case, *others: TopologySpreadConstraint) -> Case:
        kept = tuple(each for each in case.pod.spec.topology_spread_constraints if each != constraint)
        return with_spec(case, topology_spread_constraints=kept + others)

    def with_fields(case: Case, **fields: int | None) -> Case:
        return put(case, msgspec.structs.replace(constraint, **fields))

    def ease(case: Case, _place: Place) -> Iterator[Change]:
        skews = range(constraint.max_skew + 1, _MOST_SKEW)
        skew = first_that(skews, lambda most: with_fields(case, max_skew=most).place() is not None)
        if skew is not None:
            yield Change(f"maxSkew {skew} over {key}", lambda case: with_fields(case, max_skew=skew))
        counts = range(1, constraint.min_domains or 1)
        count = last_that(counts, lambda least: with_fields(case, min_domains=least).place() is not None)
        if count is not None:
            yield Change(f"minDomains {count} over {key}", lambda case: with_fields(case, min_domains=count))

    least = f", minDomains {constraint.min_domains}" if constraint.min_domains else ""
    text = f"topology spread over {key}, maxSkew {constraint.max_skew}{least}"
    unit = _own(ConstraintKind.TOPOLOGY_SPREAD, text)
    return Unit(unit, put, f"whenUnsatisfiable {_SOFT} for the spread over {key}", ease)


def _pod_affinities(case: Case) -> Iterator[Unit]:
    affinity = case.pod.spec.affinity
    if affinity is None:
        return
    if affinity.pod_affinity is not None:
        for term in distinct(affinity.pod_affinity.required):
            yield _term(term, "pod_affinity", ConstraintKind.POD_AFFINITY)
    if affinity.pod_anti_affinity is not None:
        for term in distinct(affinity.pod_anti_affinity.required):
            yield _term(term, "pod_anti_affinity", ConstraintKind.POD_ANTI_AFFINITY)


def _term(term: PodAffinityTerm, field: str, kind: ConstraintKind) -> Unit:
    def drop(case: Case) -> Case:
        affinity = case.pod.spec.affinity
        held = getattr(affinity, field)
        kept = tuple(each for each in held.required if each != term)
        less = msgspec.structs.replace(held, required=kept)
        return with_spec(case, affinity=msgspec.structs.replace(affinity, **{field: less}))  # type: ignore[type-var]

    told = f"required {kind.value} by {term.topology_key} to pods {_told_selector(term.label_selector)}"
    return Unit(_own(kind, told), drop, f"no {told}")


def _told_selector(selector: LabelSelector | None) -> str:
    if selector is None:
        return "that no selector names"
    parts = [f"{key}={value}" for key, value in sorted((selector.match_labels or {}).items())]
    parts += map(_told_expression, selector.match_expressions)
    return f"with {', '.join(parts)}" if parts else "of any labels"


# What only one pod of a node can have, and where data is


def _port(port: ContainerPort) -> Unit:
    def drop(case: Case) -> Case:
        container = case.pod.spec.containers[0]
        kept = tuple(each for each in container.ports if each != port)
        return with_spec(case, containers=(msgspec.structs.replace(container, ports=kept),))

    constraint = _own(ConstraintKind.HOST_PORT, f"host port {port.host_port}/{port.protocol or 'TCP'}")
    return Unit(constraint, drop, f"another host port than {port.host_port}")


def _volume(volume: Volume) -> Unit:
    def drop(case: Case) -> Case:
        return with_spec(case, volumes=tuple(each for each in case.pod.spec.volumes if each != volume))

    claim = volume.persistent_volume_claim
    told = f"volume {volume.name}" + (f" (PersistentVolumeClaim {claim.claim_name})" if claim is not None else "")
    return Unit(_own(ConstraintKind.VOLUME, told), drop, f"no {told}, or one that can be had elsewhere")


# Taints


def _taints(case: Case) -> Iterator[Unit]:
    """Taints of pools and nodes that the pod does not tolerate. A taint that is a preference keeps nobody away."""
    owners: dict[Taint, list[str]] = {}
    for pool in case.pools.values():
        for taint in pool.taints:
            owners.setdefault(taint, []).append(f'nodepool "{pool.name}"')
    on_nodes = {taint for view in case.aftermath.snapshot.nodes for taint in view.taints}
    for taint in sorted(on_nodes, key=str):
        owners.setdefault(taint, ["nodes"])
    for taint, held_by in owners.items():
        borne = any(toleration.tolerates(taint) for toleration in case.pod.spec.tolerations)
        if taint.effect != PREFER_NO_SCHEDULE and not borne:
            yield _taint(taint, ", ".join(held_by))


def _taint(taint: Taint, owner: str) -> Unit:
    operator = "Equal" if taint.value else "Exists"
    toleration = Toleration(key=taint.key, operator=operator, value=taint.value or None, effect=taint.effect or None)

    def drop(case: Case) -> Case:
        return with_spec(case, tolerations=(*case.pod.spec.tolerations, toleration))

    told = ", ".join(f"{name}: {value}" for name, value in msgspec.to_builtins(toleration).items())
    constraint = Constraint(ConstraintKind.TAINT, owner, f"taint {taint}, which the pod does not tolerate")
    return Unit(constraint, drop, f"the toleration {{{told}}}")
