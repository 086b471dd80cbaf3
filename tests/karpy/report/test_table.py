from __future__ import annotations

from karpy.report.table import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table(("A", "LONGER"), [("wide cell", "x"), ("y", "z")]).splitlines() == [
        "A           LONGER",
        "wide cell   x",
        "y           z",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert table(("A", "B"), []) == "A   B"
