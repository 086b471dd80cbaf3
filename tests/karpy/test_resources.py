from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.resources import Resources, format_amount, parse_amount, total


def test_cpu_counts_in_thousandths_and_all_else_in_whole_units() -> None:
    parsed = Resources.parse({"cpu": "1.5", "memory": "1Gi", "pods": "110", "nvidia.com/gpu": 2})
    assert dict(parsed) == {"cpu": 1500, "memory": 2**30, "pods": 110, "nvidia.com/gpu": 2}


def test_amounts_print_as_canonical_quantities() -> None:
    assert Resources({"memory": 2**31, "cpu": 2500, "hugepages-2Mi": 2**21, "pods": 3}).to_dict() == {
        "cpu": "2500m",
        "hugepages-2Mi": "2Mi",
        "memory": "2Gi",
        "pods": "3",
    }


@pytest.mark.parametrize(("name", "text"), [("cpu", "250m"), ("memory", "123456789"), ("pods", "0")])
def test_printing_undoes_parsing(name: str, text: str) -> None:
    assert format_amount(name, parse_amount(name, text)) == text


def test_a_bad_quantity_is_named_by_its_resource() -> None:
    with pytest.raises(InvalidObject, match="'4GB' is not a quantity") as caught:
        Resources.parse({"cpu": "1", "memory": "4GB"})
    assert caught.value.path == "memory"


def test_sums_and_differences_treat_an_absent_name_as_zero() -> None:
    one, other = Resources({"cpu": 1000}), Resources({"cpu": 500, "memory": 7})
    assert one + other == Resources({"cpu": 1500, "memory": 7})
    assert one - other == Resources({"cpu": 500, "memory": -7})
    assert (one - other).at_least_zero() == Resources({"cpu": 500, "memory": 0})
    assert total([one, other, other]) == one + other + other
    assert total([]) == Resources()


def test_maximum_and_minimum_go_name_by_name() -> None:
    one, other = Resources({"cpu": 1, "memory": 9}), Resources({"cpu": 5, "pods": 0})
    assert one.maximum(other) == Resources({"cpu": 5, "memory": 9, "pods": 0})
    assert one.minimum(other) == Resources({"cpu": 1})


def test_amounts_fit_where_each_of_them_is_there() -> None:
    room = Resources({"cpu": 1000, "memory": 100})
    assert Resources({"cpu": 1000}).fits_in(room)
    assert Resources({"nvidia.com/gpu": 0}).fits_in(room)
    assert not Resources({"cpu": 1001}).fits_in(room)
    assert not Resources({"nvidia.com/gpu": 1}).fits_in(room)


def test_room_that_is_overdrawn_anywhere_holds_nothing() -> None:
    assert not Resources({"cpu": 1}).fits_in({"cpu": 1000, "memory": -1})


@pytest.mark.core("CORE-331")
def test_a_limit_is_exceeded_only_beyond_it() -> None:
    assert Resources({"cpu": 10, "memory": 5}).exceeds({"cpu": 10, "memory": 4, "pods": 0}) == ("memory",)


def test_equal_vectors_are_one_key_of_a_mapping() -> None:
    assert len({Resources({"cpu": 1, "memory": 2}), Resources({"memory": 2, "cpu": 1})}) == 1
