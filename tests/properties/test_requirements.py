"""The laws that make requirements an algebra: whoever relies on them may reorder, share and remember."""

from __future__ import annotations

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st

from karpy import labels
from karpy.labels import LabelSpec
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


# What a label can be in a small world: one of these, or not there (None).
WORLD: tuple[str | None, ...] = (None, *UNIVERSE, *(str(number) for number in range(-6, 13)), "elsewhere")
KEYS = st.frozensets(st.sampled_from("kmn"))


def _holds(requirement: Requirement, value: str | None) -> bool:
    """Whether a label satisfies a requirement: the meaning that the algebra has to agree with."""
    if value is None:
        return requirement.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
    return requirement.has(value)


def _is_used_up(requirement: Requirement) -> bool:
    """Whether exclusions leave no integer between both bounds. It is not looked for, here as in Karpenter."""
    lower, upper = requirement.gte, requirement.lte
    if lower is None or upper is None:
        return False
    return all(str(number) in requirement.values for number in range(lower, upper + 1))


@given(SETS, SETS, KEYS)
def test_two_are_compatible_exactly_when_some_labels_satisfy_both(
    offered: Requirements, wanted: Requirements, undefined: frozenset[str]
) -> None:
    def possible(key: str) -> list[str | None]:
        """What the label can be on a node that is as offered."""
        if key in offered:
            return [value for value in WORLD if _holds(offered[key], value)]
        return list(WORLD) if key in undefined else [None]

    both = offered & wanted
    assume(not any(_is_used_up(each) for each in (*offered.values(), *wanted.values(), *both.values())))
    witnesses = {key: [value for value in possible(key) if _holds(wanted[key], value)] for key in wanted}
    assert (offered.compatible(wanted, undefined) is None) == all(witnesses.values())


@given(SETS, SETS, KEYS)
def test_compatible_is_intersects_and_that_what_is_asked_for_is_known(
    offered: Requirements, wanted: Requirements, undefined: frozenset[str]
) -> None:
    unknown = [key for key in wanted if key not in offered and key not in undefined]
    asks_for_the_unknown = any(not _holds(wanted[key], None) for key in unknown)
    compatible = offered.compatible(wanted, undefined) is None
    assert compatible == (offered.intersects(wanted) is None and not asks_for_the_unknown)


@given(SETS, SETS)
def test_how_many_values_must_stay_is_no_matter_of_compatibility(a: Requirements, b: Requirements) -> None:
    bare = Requirements(attrs.evolve(each, min_values=None) for each in b.values())
    assert (a.compatible(b) is None) == (a.compatible(bare) is None)
    for key, both in (a & b).items():
        asked = [each[key].min_values for each in (a, b) if key in each]
        assert both.min_values == max((least for least in asked if least is not None), default=None)


@given(SETS)
def test_sets_written_to_the_api_are_read_back_as_they_were(a: Requirements) -> None:
    assume(not any(each.is_bounded and each.values for each in a.values()))
    assert Requirements.from_selectors(a.to_selectors()) == a


@given(SETS)
def test_the_text_does_not_depend_on_the_order(a: Requirements) -> None:
    assert str(Requirements(reversed(list(a.values())))) == str(a)


@given(st.sampled_from(sorted(labels.ALIASES)), ONE)
def test_an_older_name_of_a_label_is_the_label(alias: str, a: Requirement) -> None:
    (entry, *_) = a.to_selectors()
    told = (entry["operator"], entry.get("values", ()), entry.get("minValues"))
    old, new = (Requirement.parse(key, *told) for key in (alias, labels.ALIASES[alias]))
    assert old == new
    assert Requirements([old]).compatible(Requirements([new]), frozenset({new.key})) is None


NAMES = st.sampled_from(
    ("a", "karpenter.sh/a", "x.karpenter.sh/a", "notkarpenter.sh/a", "z.io/a", "y.z.io/a", labels.HOSTNAME)
)
DOMAINS = st.frozensets(st.sampled_from(("karpenter.sh", "z.io")))
SPECS = st.builds(LabelSpec, st.frozensets(NAMES, max_size=2), DOMAINS, st.frozensets(NAMES, max_size=1))


@given(SPECS, SPECS, NAMES)
def test_two_clouds_restrict_what_either_does_and_neither_defines(a: LabelSpec, b: LabelSpec, key: str) -> None:
    known = key in a.well_known or key in b.well_known
    assert (a | b).is_restricted(key) == (not known and (a.is_restricted(key) or b.is_restricted(key)))
    assert (a | b).is_restricted(key) == (b | a).is_restricted(key)


@given(st.sampled_from(("karpenter.sh", "z.io")), NAMES)
def test_a_restricted_domain_restricts_its_subdomains_and_no_namesakes(domain: str, key: str) -> None:
    spec = LabelSpec(frozenset(), frozenset({domain}), frozenset())
    parts = key.partition("/")[0].split(".") if "/" in key else []
    assert spec.is_restricted(key) == (parts[-2:] == domain.split("."))


@given(SETS, SETS)
def test_what_is_compatible_stays_so_when_less_is_asked(a: Requirements, b: Requirements) -> None:
    if a.compatible(b) is None:
        assert all(a.compatible(b.without(key)) is None for key in b)
