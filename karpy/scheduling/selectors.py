"""Which pods a topology term is about: a label selector within namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from karpy.errors import InvalidObject
from karpy.objects.selectors import LabelSelector, SelectorRequirement
from karpy.requirements import Requirement

__all__ = ["PodSelector", "pod_selector"]


@attrs.frozen(cache_hash=True)
class PodSelector:
    """Pods of ``namespaces`` whose labels satisfy each of ``wanted``; ``wanted`` None is satisfied by none.

    Requirements on one key are not joined: what holds of a pod without the label could no longer be told.
    """

    namespaces: frozenset[str]
    wanted: frozenset[Requirement] | None

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.wanted is None or namespace not in self.namespaces:
            return False
        for requirement in self.wanted:
            value = labels.get(requirement.key)
            if not (_holds_without(requirement) if value is None else requirement.has(value)):
                return False
        return True


def _holds_without(requirement: Requirement) -> bool:
    """Whether a pod without the label satisfies the expression (NotIn and DoesNotExist)."""
    return (requirement.complement and bool(requirement.values)) or (
        not requirement.complement and not requirement.values
    )


def pod_selector(
    selector: LabelSelector | None,
    namespaces: Iterable[str],
    own_labels: Mapping[str, str],
    match_keys: Iterable[str] = (),
    mismatch_keys: Iterable[str] = (),
) -> PodSelector:
    """The selector of a term. ``match_keys`` that the pod itself carries must have its value (and must not, ``mismatch_keys``).

    No selector selects nothing, an empty one everything; one that cannot be read selects nothing, as in Karpenter.
    """
    held = frozenset(namespaces)
    if selector is None:
        return PodSelector(held, None)
    try:
        wanted = [Requirement.in_(key, value) for key, value in (selector.match_labels or {}).items()]
        wanted += [_parse(expression) for expression in selector.match_expressions]
    except InvalidObject:
        return PodSelector(held, None)
    wanted += [Requirement.in_(key, own_labels[key]) for key in match_keys if key in own_labels]
    wanted += [Requirement.not_in(key, own_labels[key]) for key in mismatch_keys if key in own_labels]
    return PodSelector(held, frozenset(wanted))


def _parse(expression: SelectorRequirement) -> Requirement:
    if expression.operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        raise InvalidObject(f"unknown operator {expression.operator!r}", path="operator")
    if bool(expression.values) != (expression.operator in ("In", "NotIn")):
        raise InvalidObject(f"{expression.operator} with {len(expression.values)} values", path="values")
    return Requirement.parse(expression.key, expression.operator, expression.values)
