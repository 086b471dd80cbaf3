from __future__ import annotations

import pytest

from karpy.errors import Throttled
from karpy.sim.region.throttles import ARM_LIMITS, EC2_LIMITS, CloudCall, Limiter, Throttle


def refused(limiter: Limiter, call: CloudCall, now: float) -> Throttled | None:
    try:
        limiter.admit(call, now)
    except Throttled as error:
        return error
    return None


def test_every_call_is_let_in_and_counted_where_nothing_is_limited() -> None:
    limiter = Limiter()
    for _ in range(1000):
        limiter.admit(CloudCall.LIST, 0.0)
    assert limiter.calls == {"list": 1000}
    assert not limiter.refused


def test_a_bucket_holds_a_burst_and_is_refilled_up_to_that() -> None:
    limiter = Limiter([Throttle(("get",), burst=3, per_s=2.0)])
    assert [refused(limiter, CloudCall.GET, 0.0) is None for _ in range(4)] == [True, True, True, False]
    assert refused(limiter, CloudCall.GET, 0.4) is not None
    assert refused(limiter, CloudCall.GET, 0.5) is None
    assert sum(refused(limiter, CloudCall.GET, 100.0) is None for _ in range(10)) == 3
    assert limiter.refused == {"get": 9}


def test_a_refused_call_takes_no_token() -> None:
    limiter = Limiter([Throttle(("get",), burst=1, per_s=1.0)])
    limiter.admit(CloudCall.GET, 0.0)
    for tenth in range(10):
        assert refused(limiter, CloudCall.GET, tenth / 10)
    limiter.admit(CloudCall.GET, 1.0)


def test_over_a_long_time_as_many_come_in_as_are_refilled() -> None:
    limiter = Limiter([Throttle(("create",), burst=50, per_s=10.0)])
    admitted = sum(refused(limiter, CloudCall.CREATE, at / 20) is None for at in range(20 * 60))
    assert admitted == pytest.approx(50 + 10 * 60, abs=2)


def test_ec2_has_a_bucket_for_each_action_and_does_not_say_when() -> None:
    limiter = Limiter(EC2_LIMITS)
    errors = [refused(limiter, CloudCall.GET, 0.0) for _ in range(101)]
    error = errors.pop()
    assert errors == [None] * 100
    assert error is not None
    assert error.retry_after_s == 0.0
    assert "RequestLimitExceeded" in str(error)
    limiter.admit(CloudCall.LIST, 0.0)


def test_arm_counts_reads_together_and_says_when_in_whole_seconds() -> None:
    limiter = Limiter(ARM_LIMITS)
    for _ in range(125):
        limiter.admit(CloudCall.GET, 0.0)
        limiter.admit(CloudCall.LIST, 0.0)
    error = refused(limiter, CloudCall.LIST, 0.0)
    assert error is not None
    assert error.retry_after_s == 1.0
    assert error.retryable
    limiter.admit(CloudCall.CREATE, 0.0)
    limiter.admit(CloudCall.DELETE, 0.0)


@pytest.mark.parametrize("per_s", [0.1, 0.3, 3.0, 7.0])
def test_who_waits_as_long_as_it_was_told_is_let_in(per_s: float) -> None:
    limiter = Limiter([Throttle(("create",), burst=1, per_s=per_s, says_when=True)], now=1_767_603_600.0)
    now = 1_767_603_600.0
    for _ in range(20):
        limiter.admit(CloudCall.CREATE, now)
        error = refused(limiter, CloudCall.CREATE, now)
        assert error is not None
        now += error.retry_after_s


def test_clearing_up_lets_everything_in() -> None:
    limiter = Limiter([Throttle(("get",), burst=1, per_s=0.001)])
    limiter.admit(CloudCall.GET, 0.0)
    assert refused(limiter, CloudCall.GET, 0.0) is not None
    limiter.clear_up()
    assert refused(limiter, CloudCall.GET, 0.0) is None
