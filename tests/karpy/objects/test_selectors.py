from __future__ import annotations

import pytest

from karpy.objects.selectors import LabelSelector, SelectorRequirement


def test_label_selectors_match_by_values_and_expressions() -> None:
    web = LabelSelector({"app": "web"}, (SelectorRequirement("tier", "NotIn", ("test",)),))
    assert web.matches({"app": "web"})
    assert web.matches({"app": "web", "tier": "prod"})
    assert not web.matches({"app": "web", "tier": "test"})
    assert not web.matches({"tier": "prod"})
    assert LabelSelector().matches({})


@pytest.mark.parametrize(
    ("expressions", "labels", "matches"),
    [
        ([("app", "Exists", ()), ("app", "NotIn", ("db",))], {}, False),
        ([("app", "Exists", ()), ("app", "NotIn", ("db",))], {"app": "web"}, True),
        ([("app", "In", ("a",)), ("app", "In", ("b",))], {}, False),
        ([("app", "NotIn", ("a",))], {}, True),
        ([("app", "DoesNotExist", ())], {"app": "a"}, False),
        ([("app", "Near", ("a",))], {"app": "a"}, False),
    ],
)
def test_each_expression_of_a_selector_holds_by_itself(
    expressions: list[tuple[str, str, tuple[str, ...]]], labels: dict[str, str], matches: bool
) -> None:
    selector = LabelSelector(None, tuple(SelectorRequirement(*expression) for expression in expressions))
    assert selector.matches(labels) is matches
