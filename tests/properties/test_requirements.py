"""The laws that make requirements an algebra: whoever relies on them may reorder, share and remember."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from karpy.requirements import Operator, Requirement, Requirements

UNIVERSE = ("a", "b", "", "-3", "0", "2", "05", "5", "9", "1x")
"""Values that tell requirements over `VALUES` and `BOUNDS` apart."""

VALUES = st.sampled_from(UNIVERSE)
BOUNDS = st.integers(-4, 10).map(lambda bound: [str(bound)])
MIN_VALUES = st.none() | st.integers(1, 3)


def requirements_on(key: str) -> st.SearchStrategy[Requirement]:
    def parse(operator: Operator, values: list[str], min_values: int | None) -> Requirement:
        return Requirement.parse(key, operator.value, values, min_values)

    listed = st.tuples(st.sampled_from((Operator.IN, Operator.NOT_IN)), st.lists(VALUES, min_size=1, max_size=4))
    plain = st.tuples(st.sampled_from((Operator.EXISTS, Operator.DOES_NOT_EXIST)), st.just([]))
    bounded = st.tuples(st.sampled_from((Operator.GT, Operator.LT, Operator.GTE, Operator.LTE)), BOUNDS)
    return st.tuples(st.one_of(listed, plain, bounded), MIN_VALUES).map(lambda drawn: parse(*drawn[0], drawn[1]))


ONE = requirements_on("k")
SETS = st.lists(st.one_of(*(requirements_on(key) for key in "kmn")), max_size=5).map(Requirements)


@given(ONE, ONE)
def test_intersection_commutes(a: Requirement, b: Requirement) -> None:
    assert a & b == b & a
    assert hash(a & b) == hash(b & a)


@given(ONE, ONE, ONE)
def test_intersection_associates(a: Requirement, b: Requirement, c: Requirement) -> None:
    assert (a & b) & c == a & (b & c)


@given(ONE, ONE)
def test_intersection_is_idempotent_and_only_narrows(a: Requirement, b: Requirement) -> None:
    assert a & a == a
    assert (a & b) & b == a & b
    assert a & Requirement.exists("k") == a


@given(ONE, ONE, VALUES)
def test_a_value_is_in_the_intersection_when_both_have_it(a: Requirement, b: Requirement, value: str) -> None:
    assert (a & b).has(value) == (a.has(value) and b.has(value))


@given(ONE, ONE)
def test_intersects_answers_as_the_intersection_does(a: Requirement, b: Requirement) -> None:
    assert a.intersects(b) == b.intersects(a) == ((a & b).operator is not Operator.DOES_NOT_EXIST)


@given(ONE, ONE)
def test_finite_sets_intersect_exactly_when_there_is_a_witness(a: Requirement, b: Requirement) -> None:
    if not (a.complement and b.complement):
        assert a.intersects(b) == any(a.has(value) and b.has(value) for value in a.values | b.values)


@given(ONE)
def test_the_api_form_says_the_same(a: Requirement) -> None:
    again = Requirements.from_selectors(a.to_selectors())["k"]
    if not (a.is_bounded and a.values):  # exclusions of a bounded set are left to the instance types
        assert again == a


@given(SETS, SETS, SETS)
def test_sets_of_requirements_obey_the_same_laws(a: Requirements, b: Requirements, c: Requirements) -> None:
    assert a & b == b & a
    assert (a & b) & c == a & (b & c)
    assert a & a == a
    assert hash(a & b) == hash(b & a)
    assert (a.intersects(b) is None) == (b.intersects(a) is None)


@given(SETS, st.dictionaries(st.sampled_from("kmn"), VALUES))
def test_a_node_is_compatible_exactly_when_its_labels_satisfy_every_requirement(
    wanted: Requirements, labels: dict[str, str]
) -> None:
    def satisfied(requirement: Requirement) -> bool:
        if requirement.key in labels:
            return requirement.has(labels[requirement.key])
        return requirement.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)

    compatible = Requirements.from_labels(labels).compatible(wanted) is None
    assert compatible == all(satisfied(requirement) for requirement in wanted.values())


@given(SETS, SETS)
def test_what_is_compatible_stays_so_when_less_is_asked(a: Requirements, b: Requirements) -> None:
    if a.compatible(b) is None:
        assert all(a.compatible(b.without(key)) is None for key in b)
