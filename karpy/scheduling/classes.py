"""Pod classes: pods that the scheduler cannot tell apart are looked at once.

A class has two interned parts: its constraints (what a node must be) and its size (what a node must have left). Answers
about constraints are remembered per `Constraints`, of which a cluster has a few dozen; sizes only meet integers.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.pod import NodeSelectorTerm, Pod, PodSpec
from karpy.requirements import NEGATIVE, Operator, Requirement, Requirements
from karpy.resources import CPU, MEMORY, Resources
from karpy.taints import PREFER_NO_SCHEDULE, Toleration

__all__ = ["Constraints", "PodClass", "classify", "constraints_of"]


_BEARS_PREFERENCE = Toleration(operator="Exists", effect=PREFER_NO_SCHEDULE)


@attrs.frozen(eq=False)
class Constraints:
    """What pods of a class ask of the node itself: all of ``selected``, the first of ``terms``, and that taints are tolerated.

    ``terms`` are the alternatives of the required node affinity (always at least one, which may be empty), ``passed_over``
    those before them that were tried and left.
    """

    selected: Requirements
    terms: tuple[Requirements, ...]
    tolerations: tuple[Toleration, ...]
    passed_over: tuple[Requirements, ...] = ()
    requirements: Requirements = attrs.field(
        init=False, default=attrs.Factory(lambda self: self.selected & self.terms[0], takes_self=True)
    )

    def relax(self, *, taints_may_be_preferences: bool) -> Constraints | None:
        """One rung down the ladder (core specification 3.10), or None at its foot.

        First the next alternative of the node affinity; then, where some pool has such a taint, bearing PreferNoSchedule,
        from the first alternative on.
        """
        if len(self.terms) > 1:
            return Constraints(self.selected, self.terms[1:], self.tolerations, (*self.passed_over, self.terms[0]))
        if taints_may_be_preferences and _BEARS_PREFERENCE not in self.tolerations:
            every = (*self.passed_over, *self.terms)
            return Constraints(self.selected, every, (*self.tolerations, _BEARS_PREFERENCE))
        return None

    def ladder(self) -> Iterator[Constraints]:
        """This and everything it relaxes to, preferences of taints included."""
        rung: Constraints | None = self
        while rung is not None:
            yield rung
            rung = rung.relax(taints_may_be_preferences=True)


@attrs.define(eq=False)
class PodClass:
    """Pods that are alike, in the order in which they are placed."""

    constraints: Constraints
    requests: Resources
    amounts: tuple[tuple[str, int], ...]
    pods: list[Pod]

    @property
    def order(self) -> tuple[int, int, float, str]:
        """Sort key: the most CPU first, then memory; then the oldest (core specification 3.4). Priority plays no part."""
        first = self.pods[0].metadata
        return (-self.requests.get(CPU, 0), -self.requests.get(MEMORY, 0), first.created, first.uid)


def classify(pods: Iterable[Pod], spec_of_labels: LabelSpec) -> tuple[list[PodClass], list[tuple[Pod, str]]]:
    """Sort pods into classes; classes, and the pods in them, are in placing order.

    Beside them the pods that are not looked at, each with the reason.
    """
    interned: dict[bytes, Constraints | str] = {}
    classes: dict[tuple[Constraints, Resources], PodClass] = {}
    refused = []
    for pod in pods:
        key = _fingerprint(pod.spec)
        constraints = interned.get(key)
        if constraints is None:
            constraints = interned[key] = _read(pod.spec, spec_of_labels)
        if isinstance(constraints, str):
            refused.append((pod, constraints))
            continue
        found = classes.get((constraints, pod.requests))
        if found is None:
            asked = tuple((name, amount) for name, amount in pod.requests.items() if amount)
            found = classes[constraints, pod.requests] = PodClass(constraints, pod.requests, asked, [])
        found.pods.append(pod)
    for found in classes.values():
        found.pods.sort(key=lambda pod: (pod.metadata.created, pod.metadata.uid, pod.key))
    return sorted(classes.values(), key=lambda found: (found.order, found.pods[0].key)), refused


def _read(spec: PodSpec, spec_of_labels: LabelSpec) -> Constraints | str:
    """The constraints, or why pods that have them are not looked at."""
    try:
        return _refusal(spec, spec_of_labels) or constraints_of(spec)
    except InvalidObject as error:
        return str(error)


def _fingerprint(spec: PodSpec) -> bytes:
    """Equal for pods with equal constraints on nodes."""
    if spec.node_selector is None and spec.affinity is None and not spec.tolerations:
        return b""
    return msgspec.msgpack.encode((spec.node_selector, spec.affinity, spec.tolerations), order="sorted")


def constraints_of(spec: PodSpec) -> Constraints:
    """What this pod asks of a node. Preferences are not looked at, nor alternatives that no node could ever meet.

    Raises:
        InvalidObject: with the path below the pod's ``spec``; also when there is no alternative that can be met.
    """
    selected = [Requirement.in_(key, value) for key, value in (spec.node_selector or {}).items()]
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    required = node_affinity.required if node_affinity else None
    terms = [_parse(term) for term in required.node_selector_terms] if required is not None else [[]]
    possible = tuple(Requirements(term) for term in terms if _contradiction((*selected, *term)) is None)
    # A term without expressions matches nothing (Kubernetes' rule).
    possible = possible if required is None else tuple(term for term in possible if term)
    if not possible:
        found = (_contradiction((*selected, *term)) for term in terms)
        raise InvalidObject(next(filter(None, found), "the node affinity has no term that a node can meet"))
    return Constraints(Requirements(selected), possible, spec.tolerations)


def _parse(term: NodeSelectorTerm) -> list[Requirement]:
    return [
        Requirement.parse(expression.key, expression.operator, expression.values)
        for expression in term.match_expressions
    ]


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


def _refusal(spec: PodSpec, spec_of_labels: LabelSpec) -> str | None:
    """Why a pod is not looked at, whatever nodes there are, or None (core specification 3.1, validation)."""
    for key in spec.node_selector or {}:
        if spec_of_labels.is_restricted(key):
            return f'label "{key}" is restricted; it cannot be used in a node selector'
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    required = node_affinity.required if node_affinity else None
    for term in required.node_selector_terms if required else ():
        if term.match_fields:
            return "node selector term with matchFields is not supported"
        for expression in term.match_expressions:
            if spec_of_labels.is_restricted(expression.key):
                return f'label "{expression.key}" is restricted; it cannot be used in a node affinity'
    return None
