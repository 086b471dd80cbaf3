from __future__ import annotations

from karpy.state.audit import missed, suspects


def test_what_differs_is_suspect_and_what_cannot_be_read_is_not() -> None:
    known = {"same": "1", "older": "1", "gone": "4"}
    listed = {"same": "1", "older": "2", "new": "3", "odd": "5"}
    assert suspects(known, listed, {"odd"}) == {"gone": "4", "new": None, "older": "1"}


def test_what_did_not_move_between_two_looks_was_missed() -> None:
    before = {"gone": "4", "new": None, "older": "1"}
    assert missed(before, {"gone": "4", "new": "3", "older": "1", "other": None}) == ["gone", "older"]
    assert missed(before, {"new": None}) == ["new"]
    assert missed({}, before) == []
