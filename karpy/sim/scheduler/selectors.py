"""Matching labels the way kube-scheduler does: node selector terms, and label selectors compiled to predicates.

Written apart from `karpy.requirements` on purpose: the simulated scheduler is the check of karpy's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from karpy.objects.podspec import NodeSelectorTerm
from karpy.objects.selectors import LabelSelector, SelectorRequirement

__all__ = ["LabelTest", "compile_selector", "matches_any_term", "matches_term"]

Labels = Mapping[str, str]
LabelTest = Callable[[Labels], bool]


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def _integer(text: str | None) -> int | None:
    """A 64-bit integer as Go reads one; Python would take underscores too."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _holds(requirement: SelectorRequirement, labels: Labels) -> bool:
    value, operator = labels.get(requirement.key), requirement.operator
    if operator == "In":
        return value in requirement.values
    if operator == "NotIn":
        return value not in requirement.values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    found, bound = _integer(value), _integer(requirement.values[0] if requirement.values else None)
    if found is None or bound is None:
        return False
    return found > bound if operator == "Gt" else operator == "Lt" and found < bound


def matches_term(term: NodeSelectorTerm, name: str, labels: Labels) -> bool:
    """Whether a node satisfies one term. An empty term matches nothing; the only field is ``metadata.name``."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": name}
    return all(_holds(each, labels) for each in term.match_expressions) and all(
        _holds(each, fields) for each in term.match_fields
    )


def matches_any_term(terms: Sequence[NodeSelectorTerm], name: str, labels: Labels) -> bool:
    return any(matches_term(term, name, labels) for term in terms)


def compile_selector(selector: LabelSelector | None, extra: Mapping[str, str] | None = None) -> LabelTest | None:
    """A predicate over labels, ``extra`` being more labels to match exactly.

    None stands for the selector that selects nothing (absent); an empty one selects everything.
    """
    if selector is None:
        return None
    exact = {**(selector.match_labels or {}), **(extra or {})}
    expressions = selector.match_expressions
    if not expressions and len(exact) == 1:
        ((key, value),) = exact.items()
        return lambda labels: labels.get(key) == value
    return lambda labels: (
        all(labels.get(key) == value for key, value in exact.items())
        and all(_holds(each, labels) for each in expressions)
    )
