from __future__ import annotations

import pytest

from karpy.state.stores import InOrder, Store


def test_a_picture_is_the_same_one_until_something_changes() -> None:
    store: Store[str, int] = Store()
    store.put("a", 1)
    before = store.picture()
    store.put("missing", None)
    assert store.picture() is before
    store.put("b", 2)
    assert (before, store.picture()) == ({"a": 1}, {"a": 1, "b": 2})
    store.put("a", None)
    assert (store.get("a"), store.picture()) == (None, {"b": 2})


def test_values_come_in_the_order_of_their_keys() -> None:
    row: InOrder[str, int] = InOrder()
    for key, value in (("b", 2), ("c", 3), ("a", 1)):
        row.put(key, value)
    before = row.picture()
    assert before == (1, 2, 3)
    assert row.picture() is before

    row.put("b", 20)
    row.put("c", None)
    row.put("missing", None)
    assert (row.picture(), before) == ((1, 20), (1, 2, 3))


def test_what_came_and_went_between_two_pictures_leaves_no_trace() -> None:
    row: InOrder[str, int] = InOrder()
    row.put("a", 1)
    row.put("a", None)
    assert row.picture() == ()


@pytest.mark.parametrize("count", [3, 500])
def test_it_does_not_matter_how_much_changes_between_two_pictures(count: int) -> None:
    row: InOrder[int, str] = InOrder()
    for each in range(600):
        row.put(each * 7 % 600, str(each * 7 % 600))
    row.picture()
    for each in range(count):
        row.put(each * 11 % 600, None if each % 2 else "new")
        row.put(1_000 + each, "more")
    expected = {each: str(each) for each in range(600)}
    for each in range(count):
        expected.pop(each * 11 % 600)
        if each % 2 == 0:
            expected[each * 11 % 600] = "new"
        expected[1_000 + each] = "more"
    assert row.picture() == tuple(expected[key] for key in sorted(expected))
