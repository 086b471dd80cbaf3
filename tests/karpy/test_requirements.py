from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.requirements import Conflict, Operator, Requirement, Requirements
from tests.vectors import WELL_KNOWN, read

ZONE = "topology.kubernetes.io/zone"


def parse(text: str) -> Requirement:
    """``In a b`` of key ``k``."""
    operator, *values = text.split()
    return Requirement.parse("k", operator, values)


@pytest.mark.core("CORE-738")
@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        ("In a 1", ["a", "1"], ["b", ""]),
        ("NotIn a 1", ["b", "2"], ["a", "1"]),
        ("Exists", ["a", "1", ""], []),
        ("DoesNotExist", [], ["a", "1", ""]),
        ("Gt 1", ["2", "100"], ["1", "0", "a"]),
        ("Lt 1", ["0", "-5"], ["1", "a"]),
        ("Gte 1", ["1", "2"], ["0", "a"]),
        ("Lte 1", ["1", "0"], ["2", "a"]),
    ],
)
def test_operators_mean_sets_of_values(text: str, allowed: list[str], refused: list[str]) -> None:
    requirement = parse(text)
    assert [value for value in allowed + refused if requirement.has(value)] == allowed


@pytest.mark.core("CORE-738")
@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("In a b", "In b c", "In [b]"),
        ("In a b", "NotIn a", "In [b]"),
        ("In a", "NotIn a", "DoesNotExist"),
        ("In 1 5 x", "Gt 1", "In [5]"),
        ("NotIn a", "NotIn b", "NotIn [a b]"),
        ("NotIn a 5", "Gte 3", "NotIn [5] >=3"),
        ("Gt 1", "Lt 9", "Exists >=2 <=8"),
        ("Gt 5", "Lt 6", "DoesNotExist"),
        ("Exists", "NotIn a", "NotIn [a]"),
        ("DoesNotExist", "Exists", "DoesNotExist"),
    ],
)
def test_intersections_keep_what_both_allow(one: str, other: str, both: str) -> None:
    assert str(parse(one) & parse(other)) == f"k {both}"


def test_min_values_of_an_intersection_is_the_greater() -> None:
    three, two = Requirement.exists("k", min_values=3), Requirement.in_("k", "a", "b", min_values=2)
    assert (three & two).min_values == 3
    assert (three & Requirement.exists("k")).min_values == 3


def test_the_greatest_integer_has_nothing_above_it() -> None:
    assert Requirement.parse("k", "Gt", [str(2**63 - 1)]).operator is Operator.DOES_NOT_EXIST


@pytest.mark.parametrize("alias", ["failure-domain.beta.kubernetes.io/zone"])
@pytest.mark.core("CORE-739")
def test_older_label_names_become_the_current_ones(alias: str) -> None:
    assert Requirement.in_(alias, "a").key == ZONE
    assert ZONE in Requirements.from_labels({alias: "a"})


@pytest.mark.parametrize(
    ("operator", "values", "complaint"),
    [
        ("Near", ["a"], "unknown operator 'Near' for key 'k'"),
        ("Gt", [], "operator Gt of key 'k' got nothing"),
        ("Gt", ["a"], "operator Gt of key 'k' got 'a'"),
        ("Lt", ["1", "2"], "operator Lt of key 'k' got '1', '2'"),
    ],
)
def test_what_an_operator_cannot_take_is_refused(operator: str, values: list[str], complaint: str) -> None:
    with pytest.raises(InvalidObject, match=complaint):
        Requirement.parse("k", operator, values)


def test_a_refusal_in_a_list_names_the_entry() -> None:
    with pytest.raises(InvalidObject) as caught:
        Requirements.from_selectors([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Like"}])
    assert caught.value.path == "[1].operator"


def test_messages_show_five_values_and_count_the_rest() -> None:
    assert str(Requirement.in_("k", *"gfedcba")) == "k In [a b c d e and 2 others]"


def test_several_requirements_on_one_key_hold_together() -> None:
    both = Requirements([Requirement.not_in("k", "a"), Requirement.in_("k", "a", "b")])
    assert both.labels() == {"k": "b"}


def test_requirements_are_written_back_as_selectors() -> None:
    wanted = Requirements([Requirement.at_least("cpu", 4) & Requirement.at_most("cpu", 8), Requirement.exists("a", 2)])
    assert wanted.to_selectors() == [
        {"key": "a", "operator": "Exists", "minValues": 2},
        {"key": "cpu", "operator": "Gte", "values": ["4"]},
        {"key": "cpu", "operator": "Lte", "values": ["8"]},
    ]


@pytest.mark.core("CORE-031", "CORE-032", "CORE-033", "CORE-034")
@pytest.mark.parametrize(
    ("wanted", "fits"), [("In a", False), ("Exists", False), ("Gt 1", False), ("NotIn a", True), ("DoesNotExist", True)]
)
def test_a_key_that_nobody_defines_satisfies_negative_requirements_only(wanted: str, fits: bool) -> None:
    assert (Requirements().compatible(Requirements([parse(wanted)])) is None) is fits


def test_a_key_that_may_stay_undefined_satisfies_everything() -> None:
    assert Requirements().compatible(Requirements([parse("In a")]), frozenset({"k"})) is None


@pytest.mark.core("CORE-036", "CORE-037", "CORE-038", "CORE-039", "CORE-040", "CORE-041")
@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ("In a", True),
        ("NotIn a", False),
        ("Exists", True),
        ("DoesNotExist", False),
        ("In b", False),
        ("NotIn b", True),
    ],
)
def test_a_label_that_is_there_is_compared(wanted: str, fits: bool) -> None:
    there = Requirements.from_labels({"k": "a"})
    assert (there.compatible(Requirements([parse(wanted)])) is None) is fits


def test_two_negative_requirements_never_conflict() -> None:
    assert Requirements([parse("NotIn a")]).intersects(Requirements([parse("DoesNotExist")])) is None


@pytest.mark.core("CORE-739")
def test_a_conflict_says_what_was_asked_and_what_is_there() -> None:
    pool = Requirements.from_labels({"team": "red"})
    assert (
        str(pool.compatible(Requirements.from_labels({"team": "blue"})))
        == "key team, team In [blue] not in team In [red]"
    )
    missing = pool.compatible(Requirements.from_labels({"zone": "a"}), frozenset({ZONE}))
    assert str(missing) == f'label "zone" does not have known values (typo of "{ZONE}"?)'


def test_the_algebra_agrees_with_karpenter(shared: Path) -> None:
    differences = [text for line in read(shared, "algebra/requirements.jsonl") for text in _compare(line)]
    assert not differences


def _compare(line: Mapping[str, Any]) -> list[str]:
    expect = line["expect"]
    a, b = Requirements.from_selectors(line["a"]), Requirements.from_selectors(line["b"])
    both = a & b
    told = {
        "a": _shape(a),
        "b": _shape(b),
        "sum": _shape(both),
        "sumAsSelectors": both.to_selectors(),
        "aString": str(a),
        "sumString": str(both),
    }
    differences = [f"{line}: {field} is {ours}" for field, ours in told.items() if ours != expect[field]]
    verdicts = {
        "intersects": a.intersects(b),
        "compatible": a.compatible(b),
        "compatibleAllowWellKnown": a.compatible(b, WELL_KNOWN),
    }
    for question, conflict in verdicts.items():
        there = expect[question]
        if (conflict is None) != (there is None):
            differences.append(f"{line}: {question} says {conflict}")
        elif (
            conflict is not None and expect["textStable"] and _same_key(conflict, there) and str(conflict) not in there
        ):
            differences.append(f"{line}: {question} says {conflict}, there {there}")
    return differences


def _same_key(conflict: Conflict, texts: list[str]) -> bool:
    """Of several keys at fault karpy names the first by name, Karpenter the first in the order of a Go map."""
    return any(f'"{conflict.key}"' in text or f"key {conflict.key}," in text for text in texts)


def _shape(requirements: Requirements) -> list[dict[str, Any]]:
    return [_fields(requirements[key]) for key in sorted(requirements)]


def _fields(requirement: Requirement) -> dict[str, Any]:
    optional = {"gte": requirement.gte, "lte": requirement.lte, "minValues": requirement.min_values}
    return {
        "key": requirement.key,
        "operator": requirement.operator.value,
        "complement": requirement.complement,
        "values": sorted(requirement.values),
        **{name: value for name, value in optional.items() if value is not None},
    }
