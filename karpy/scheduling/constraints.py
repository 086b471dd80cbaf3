"""What a pod asks for apart from size: of its node, and of the pods around it; and what of it can be given up, in which order."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from karpy.errors import InvalidObject
from karpy.labels import normalize
from karpy.objects.pod import Pod
from karpy.objects.podspec import NodeSelectorTerm, PodAffinityTerm, PodSpec, TopologySpreadConstraint
from karpy.requirements import NEGATIVE, Operator, Requirement, Requirements
from karpy.scheduling.ports import HostPort, host_ports
from karpy.scheduling.selectors import PodSelector, pod_selector
from karpy.taints import PREFER_NO_SCHEDULE, Toleration

__all__ = ["AffinityTerm", "Constraints", "Namespaces", "SpreadTerm", "affinity_terms", "constraints_of", "kept_apart"]

_BEARS_PREFERENCE = Toleration(operator="Exists", effect=PREFER_NO_SCHEDULE)
_SOFT = "ScheduleAnyway"

Namespaces = Mapping[str, Mapping[str, str]]
"""Labels of the namespaces, by name."""


@attrs.frozen(cache_hash=True)
class SpreadTerm:
    """Pods that ``selector`` selects shall be spread over the values of ``key`` with a difference of at most ``max_skew``.

    ``nodes``: alternatives of which nodes must satisfy one to count; ``tolerations``: when not None, nodes count only if their
    taints are tolerated.
    """

    key: str
    selector: PodSelector
    max_skew: int
    min_domains: int | None
    nodes: tuple[Requirements, ...]
    tolerations: tuple[Toleration, ...] | None


@attrs.frozen(cache_hash=True)
class AffinityTerm:
    """The pod shall be where (or, as anti-affinity, shall not be where) pods that ``selector`` selects are, by ``key``."""

    key: str
    selector: PodSelector


@attrs.frozen(eq=False)
class Constraints:
    """What pods of a class ask for, apart from size. Preferences count as required until they are relaxed.

    ``terms``: alternatives of the required node affinity, of which the first counts (always at least one, which may be empty);
    ``passed_over``: those before them that were tried and left.
    ``preferred`` and the soft terms are in the order in which they are given up. ``volumes`` are alternatives too, but ones that
    are never given up: they bind the node, and are no wish of the pod that topology would count domains by.
    """

    selected: Requirements
    terms: tuple[Requirements, ...] = (Requirements(),)
    preferred: tuple[Requirements, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadTerm, ...] = ()
    soft_spread: tuple[SpreadTerm, ...] = ()
    affinity: tuple[AffinityTerm, ...] = ()
    soft_affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    soft_anti_affinity: tuple[AffinityTerm, ...] = ()
    ports: tuple[HostPort, ...] = ()
    volumes: tuple[Requirements, ...] = (Requirements(),)
    passed_over: tuple[Requirements, ...] = ()
    strict: Requirements = attrs.field(
        init=False, default=attrs.Factory(lambda self: self.selected & self.terms[0], takes_self=True)
    )
    requirements: Requirements = attrs.field(
        init=False,
        default=attrs.Factory(
            lambda self: self.strict & self.preferred[0] if self.preferred else self.strict, takes_self=True
        ),
    )

    @property
    def node_alternatives(self) -> tuple[Requirements, ...]:
        """Requirements of which a node must satisfy one.

        Only what agrees is put together: the intersection of what does not would look as if the label had to be absent.
        """
        if self.preferred and self.strict.intersects(self.preferred[0]) is not None:
            return ()  # no node before this preference is given up
        wanted = self.requirements
        return tuple(wanted & reachable for reachable in self.volumes if wanted.intersects(reachable) is None)

    def relax(self, *, taints_may_be_preferences: bool) -> Constraints | None:
        """One rung down the ladder (core specification 3.10), or None at its foot."""
        for rung in _RUNGS:
            relaxed = rung(self)
            if relaxed is not None:
                return relaxed
        return _bear_preferences(self) if taints_may_be_preferences else None

    def ladder(self, *, taints_may_be_preferences: bool = True) -> Iterator[Constraints]:
        """This and everything it relaxes to."""
        rung: Constraints | None = self
        while rung is not None:
            yield rung
            rung = rung.relax(taints_may_be_preferences=taints_may_be_preferences)

    def without_preferences(self) -> Constraints:
        """Only what is required (the preference policy Ignore)."""
        return attrs.evolve(self, preferred=(), soft_spread=(), soft_affinity=(), soft_anti_affinity=())


def _next_alternative(c: Constraints) -> Constraints | None:
    if len(c.terms) < 2:
        return None
    return attrs.evolve(c, terms=c.terms[1:], passed_over=(*c.passed_over, c.terms[0]))


def _drop_pod_affinity(c: Constraints) -> Constraints | None:
    return attrs.evolve(c, soft_affinity=c.soft_affinity[1:]) if c.soft_affinity else None


def _drop_pod_anti_affinity(c: Constraints) -> Constraints | None:
    return attrs.evolve(c, soft_anti_affinity=c.soft_anti_affinity[1:]) if c.soft_anti_affinity else None


def _drop_node_affinity(c: Constraints) -> Constraints | None:
    return attrs.evolve(c, preferred=c.preferred[1:]) if c.preferred else None


def _drop_spread(c: Constraints) -> Constraints | None:
    return attrs.evolve(c, soft_spread=c.soft_spread[1:]) if c.soft_spread else None


def _bear_preferences(c: Constraints) -> Constraints | None:
    if _BEARS_PREFERENCE in c.tolerations:
        return None
    every = (*c.passed_over, *c.terms)  # from the first alternative on, now that more nodes can be had
    return attrs.evolve(c, terms=every, passed_over=(), tolerations=(*c.tolerations, _BEARS_PREFERENCE))


_RUNGS: tuple[Callable[[Constraints], Constraints | None], ...] = (
    _next_alternative,
    _drop_pod_affinity,
    _drop_pod_anti_affinity,
    _drop_node_affinity,
    _drop_spread,
)


def constraints_of(
    pod: Pod, namespaces: Namespaces | None = None, spread: tuple[TopologySpreadConstraint, ...] | None = None
) -> Constraints:
    """What this pod asks for. ``spread`` takes the place of its own spread constraints.

    Raises:
        InvalidObject: with the path below the pod's ``spec``.
    """
    spec, known = pod.spec, namespaces or {}
    selector = [Requirement.in_(key, value) for key, value in (spec.node_selector or {}).items()]
    selected, terms = Requirements(selector), _alternatives(spec, selector)
    affinity = spec.affinity.node_affinity if spec.affinity else None
    preferred = sorted(affinity.preferred, key=lambda term: -term.weight) if affinity else []
    wishes = [_parse(term.preference) for term in preferred]
    own_nodes = tuple(selected & term for term in terms)
    spread = spec.topology_spread_constraints if spread is None else spread

    def about(anti: bool, weighted: bool) -> tuple[AffinityTerm, ...]:
        found = [item for item in affinity_terms(spec, anti=anti) if (item[0] is not None) == weighted]
        found.sort(key=lambda item: -(item[0] or 0))
        return tuple(_affinity_term(term, pod, known) for _weight, term in found)

    return Constraints(
        selected=selected,
        terms=terms,
        preferred=tuple(Requirements(w) for w in wishes if w and _contradiction((*selector, *w)) is None),
        tolerations=spec.tolerations,
        spread=tuple(_spread_term(c, pod, own_nodes) for c in spread if c.when_unsatisfiable != _SOFT),
        soft_spread=tuple(_spread_term(c, pod, own_nodes) for c in spread if c.when_unsatisfiable == _SOFT),
        affinity=about(anti=False, weighted=False),
        soft_affinity=about(anti=False, weighted=True),
        anti_affinity=about(anti=True, weighted=False),
        soft_anti_affinity=about(anti=True, weighted=True),
        ports=host_ports(spec),
    )


def kept_apart(pod: Pod, namespaces: Namespaces | None = None) -> Constraints:
    """Only the required anti-affinity of a pod that runs already. Where it may run is settled, so that is not even read."""
    apart = [term for weight, term in affinity_terms(pod.spec, anti=True) if weight is None]
    return Constraints(
        selected=Requirements(), anti_affinity=tuple(_affinity_term(term, pod, namespaces or {}) for term in apart)
    )


def _alternatives(spec: PodSpec, selector: list[Requirement]) -> tuple[Requirements, ...]:
    """The terms of the required node affinity, but for those that no node could ever meet."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        terms: list[list[Requirement]] = [[]]
        possible: list[list[Requirement]] = [[]] if _contradiction(selector) is None else []
    else:
        terms = [_parse(term) for term in affinity.required.node_selector_terms]
        # A term without expressions matches nothing (Kubernetes' rule).
        possible = [term for term in terms if term and _contradiction((*selector, *term)) is None]
    if not possible:
        found = (_contradiction((*selector, *term)) for term in terms)
        path = "affinity.nodeAffinity" if affinity is not None else "nodeSelector"
        problem = next(filter(None, found), "the node affinity has no term that a node can meet")
        raise InvalidObject(problem, path=path, accepted="at least one term that some node could meet")
    return tuple(Requirements(term) for term in possible)


def _parse(term: NodeSelectorTerm) -> list[Requirement]:
    try:
        return [Requirement.parse(each.key, each.operator, each.values) for each in term.match_expressions]
    except InvalidObject as error:
        raise error.at(path="affinity.nodeAffinity") from None


def _contradiction(wanted: Iterable[Requirement]) -> str | None:
    """How requirements on one key exclude each other, or None.

    Their intersection looks as if the label had to be absent, which is an answer only when all of them are negative.
    """
    by_key: dict[str, list[Requirement]] = {}
    for requirement in wanted:
        by_key.setdefault(requirement.key, []).append(requirement)
    for parts in by_key.values():
        if len(parts) < 2 or all(part.operator in NEGATIVE for part in parts):
            continue
        if functools.reduce(operator.and_, parts).operator is Operator.DOES_NOT_EXIST:
            return f"no node can meet {' and '.join(str(part) for part in parts)}"
    return None


def _spread_term(constraint: TopologySpreadConstraint, pod: Pod, own_nodes: tuple[Requirements, ...]) -> SpreadTerm:
    own = pod.metadata.labels or {}
    honors_affinity = constraint.node_affinity_policy != "Ignore"
    return SpreadTerm(
        key=normalize(constraint.topology_key),
        selector=pod_selector(constraint.label_selector, (pod.metadata.namespace,), own, constraint.match_label_keys),
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains,
        nodes=own_nodes if honors_affinity else (Requirements(),),
        # A taint that is a preference keeps no pod away for certain, so nodes with it count.
        tolerations=(*pod.spec.tolerations, _BEARS_PREFERENCE) if constraint.node_taints_policy == "Honor" else None,
    )


def affinity_terms(spec: PodSpec, *, anti: bool) -> list[tuple[int | None, PodAffinityTerm]]:
    """(weight, term); the weight of a required term is None."""
    affinity = spec.affinity
    found = (affinity.pod_anti_affinity if anti else affinity.pod_affinity) if affinity else None
    if found is None:
        return []
    return [(None, term) for term in found.required] + [(w.weight, w.pod_affinity_term) for w in found.preferred]


def _affinity_term(term: PodAffinityTerm, pod: Pod, namespaces: Namespaces) -> AffinityTerm:
    own = pod.metadata.labels or {}
    selector = pod_selector(
        term.label_selector,
        _namespaces(term, pod.metadata.namespace, namespaces),
        own,
        term.match_label_keys,
        term.mismatch_label_keys,
    )
    return AffinityTerm(normalize(term.topology_key), selector)


def _namespaces(term: PodAffinityTerm, own: str, namespaces: Namespaces) -> tuple[str, ...]:
    """The listed ones and those that the selector matches; the pod's own where neither is given."""
    if not term.namespaces and term.namespace_selector is None:
        return (own,)
    matching: list[str] = []
    if term.namespace_selector is not None:
        selector = term.namespace_selector
        matching = [name for name, given in namespaces.items() if selector.matches(given)]
    return (*term.namespaces, *matching)
