from __future__ import annotations

import pytest

from karpy.objects.podspec import NodeSelectorTerm
from karpy.objects.selectors import LabelSelector, SelectorRequirement
from karpy.sim.scheduler.selectors import compile_selector, matches_term


def term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((SelectorRequirement(key, operator, values),))


@pytest.mark.parametrize(
    ("operator", "values", "present", "absent"),
    [
        ("In", ("5", "6"), True, False),
        ("NotIn", ("5",), False, True),
        ("NotIn", ("6",), True, True),
        ("Exists", (), True, False),
        ("DoesNotExist", (), False, True),
        ("Gt", ("4",), True, False),
        ("Gt", ("5",), False, False),
        ("Lt", ("6",), True, False),
        ("Lt", ("five",), False, False),
    ],
)
def test_operators_on_a_label_of_five_and_on_none(
    operator: str, values: tuple[str, ...], present: bool, absent: bool
) -> None:
    assert matches_term(term("gen", operator, *values), "n", {"gen": "5"}) is present
    assert matches_term(term("gen", operator, *values), "n", {}) is absent


def test_an_empty_term_matches_no_node() -> None:
    assert not matches_term(NodeSelectorTerm(), "n", {"gen": "5"})


def test_a_field_matches_the_name_of_the_node() -> None:
    pinned = NodeSelectorTerm(match_fields=(SelectorRequirement("metadata.name", "In", ("n1",)),))
    assert matches_term(pinned, "n1", {})
    assert not matches_term(pinned, "n2", {})


def test_an_absent_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert compile_selector(None) is None
    everything = compile_selector(LabelSelector())
    assert everything is not None
    assert everything({})


def test_labels_and_expressions_must_all_hold() -> None:
    selector = LabelSelector({"app": "x"}, (SelectorRequirement("tier", "In", ("f",)),))
    test = compile_selector(selector, {"rev": "1"})
    assert test is not None
    assert test({"app": "x", "tier": "f", "rev": "1"})
    assert not test({"app": "x", "tier": "f"})
    assert not test({"app": "x", "rev": "1"})
