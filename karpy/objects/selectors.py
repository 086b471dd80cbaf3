"""Label selectors: which labels are meant."""

from __future__ import annotations

from collections.abc import Mapping

from karpy.objects.meta import Wire

__all__ = [
    "LabelSelector",
    "SelectorRequirement",
]


class SelectorRequirement(Wire, frozen=True):
    """One ``{key, operator, values}`` of a node or label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, given: Mapping[str, str]) -> bool:
        """Whether labels satisfy the expression, by the rules of label selectors; an operator of another kind never does."""
        value = given.get(self.key)
        if self.operator == "In":
            return value in self.values
        if self.operator == "NotIn":
            return value not in self.values
        if self.operator == "Exists":
            return value is not None
        return self.operator == "DoesNotExist" and value is None


class LabelSelector(Wire, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[SelectorRequirement, ...] = ()

    def matches(self, given: Mapping[str, str]) -> bool:
        """Whether labels satisfy the selector. An empty selector matches everything."""
        if any(given.get(key) != value for key, value in (self.match_labels or {}).items()):
            return False
        return all(expression.holds(given) for expression in self.match_expressions)
