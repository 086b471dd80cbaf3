from __future__ import annotations

import pytest

from karpy.sim.machines import Bill


def test_a_bill_grows_with_time_at_the_rate_of_the_moment() -> None:
    bill = Bill(now=0.0)
    bill.change(2.0, now=0.0)
    bill.change(1.0, now=3600.0)
    bill.change(-3.0, now=7200.0)
    assert bill.total(1800.0 + 7200.0) == pytest.approx(2.0 + 3.0)
    assert bill.per_hour == 0.0


def test_asking_does_not_change_the_bill() -> None:
    bill = Bill(now=0.0)
    bill.change(6.0, now=0.0)
    assert bill.total(600.0) == bill.total(600.0) == pytest.approx(1.0)
