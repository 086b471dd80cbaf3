"""How the judge reads pods: whom their terms are about, which taints they bear, and on which machines they may run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from karpy.objects.pod import Pod
from karpy.objects.podspec import NodeSelectorTerm, PodAffinity, PodAffinityTerm
from karpy.objects.selectors import LabelSelector
from karpy.requirements import Operator, Requirement, Requirements
from karpy.taints import PREFER_NO_SCHEDULE, Taint

# Terms about pods


def required(pod: Pod, *, anti: bool) -> Sequence[PodAffinityTerm]:
    affinity = pod.spec.affinity
    found: PodAffinity | None = None
    if affinity is not None:
        found = affinity.pod_anti_affinity if anti else affinity.pod_affinity
    return found.required if found is not None else ()


def is_about(term: PodAffinityTerm, owner: Pod, other: Pod, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    within = set(term.namespaces)
    if term.namespace_selector is not None:
        within |= {name for name, given in namespaces.items() if _matches(term.namespace_selector, given)}
    elif not within:
        within = {owner.metadata.namespace}
    return other.metadata.namespace in within and selected(
        term.label_selector, other, owner, term.match_label_keys, term.mismatch_label_keys
    )


def selected(
    selector: LabelSelector | None, other: Pod, owner: Pod, same: Iterable[str] = (), different: Iterable[str] = ()
) -> bool:
    mine, theirs = owner.metadata.labels or {}, other.metadata.labels or {}
    if selector is None or not _matches(selector, theirs):
        return False
    alike = all(theirs.get(key) == mine[key] for key in same if key in mine)
    return alike and all(theirs.get(key) != mine[key] for key in different if key in mine)


def _matches(selector: LabelSelector, given: Mapping[str, str]) -> bool:
    if any(given.get(key) != value for key, value in (selector.match_labels or {}).items()):
        return False
    return all(_expression(e.operator, e.values, given.get(e.key)) for e in selector.match_expressions)


def _expression(operator: str, values: Sequence[str], value: str | None) -> bool:
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return bool(values) and value not in values
        case "Exists":
            return value is not None and not values
        case "DoesNotExist":
            return value is None and not values
    return False


# Nodes


def tolerates(pod: Pod, taints: Iterable[Taint]) -> bool:
    hard = (taint for taint in taints if taint.effect != PREFER_NO_SCHEDULE)
    return all(any(toleration.tolerates(taint) for toleration in pod.spec.tolerations) for taint in hard)


def _terms(pod: Pod) -> Sequence[NodeSelectorTerm] | None:
    """The alternatives of the required node affinity; None where there is none."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    return affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else None


def wanted_by(pod: Pod) -> list[list[Requirement]]:
    """Alternatives of what the machine's labels must be. A term that says nothing is met by no node; nor are fields, by any that is
    not there yet."""
    chosen = [Requirement.in_(key, value) for key, value in (pod.spec.node_selector or {}).items()]
    terms = _terms(pod)
    if terms is None:
        return [chosen]
    usable = [term for term in terms if term.match_expressions and not term.match_fields]
    return [
        [*chosen, *(Requirement.parse(e.key, e.operator, e.values) for e in term.match_expressions)] for term in usable
    ]


def wants(pod: Pod, key: str, value: str) -> bool:
    """Whether the pod may go to a node with that value of the key, as far as its own wishes about the key go."""
    return any(all(need.has(value) for need in wanted if need.key == key) for wanted in wanted_by(pod))


def may_run(pod: Pod, machine: Requirements) -> bool:
    """The node selector and one term of the required affinity hold for every node that ``machine`` may stand for."""
    return any(all(holds(machine, need) for need in wanted) for wanted in wanted_by(pod))


class Machine(Protocol):
    """What is known of a machine's labels."""

    def get(self, key: str, /) -> Requirement | None: ...


def could_run(pod: Pod, machine: Machine) -> bool:
    """The same for some node that ``machine`` may stand for."""
    return any(all(_can_hold(machine, need) for need in wanted) for wanted in wanted_by(pod))


def _can_hold(machine: Machine, need: Requirement) -> bool:
    held = machine.get(need.key)
    if held is None or held.operator is Operator.DOES_NOT_EXIST:
        return need.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
    if held.complement and not need.complement:
        return False  # a value that nobody named is made up: it will not be one of these
    return held.intersects(need)


def holds(machine: Requirements, need: Requirement) -> bool:
    held = machine.get(need.key)
    if held is None or held.operator is Operator.DOES_NOT_EXIST:
        return need.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
    both = held & need
    return (both.complement, both.values, both.gte, both.lte) == (held.complement, held.values, held.gte, held.lte)
