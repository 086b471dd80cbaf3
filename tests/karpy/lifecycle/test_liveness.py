from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.lifecycle.liveness import TimeLimits, launch_overdue, registration_left_s, registration_overdue, time_limits
from karpy.lifecycle.step import GiveUp
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.timelimits import LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT, time_limit
from karpy.settings import Settings
from karpy.testing import START, make_claim, make_condition, make_nodepool

LIMITS = TimeLimits(launch_s=60.0, registration_s=120.0)


def claim(*conditions: Any, created: float = START) -> NodeClaim:
    return NodeClaim.from_dict(make_claim(reached=(), conditions=conditions, created=created))


def pool(**annotations: str) -> NodePool:
    keys = {"launch": LAUNCH_TIMEOUT, "registration": REGISTRATION_TIMEOUT}
    raw = make_nodepool()
    raw["metadata"]["annotations"] = {keys[name]: value for name, value in annotations.items()}
    return NodePool.from_dict(raw)


@pytest.mark.core("CORE-661")
@pytest.mark.parametrize(("seconds", "overdue"), [(59.0, None), (60.0, GiveUp("launch_timeout", 60.0))])
def test_a_launch_is_overdue_so_long_after_it_first_failed(seconds: float, overdue: GiveUp | None) -> None:
    failing = make_condition("Launched", START, "Unknown", "LaunchFailed")
    assert launch_overdue(claim(failing, created=START - 1000), LIMITS, START + seconds) == overdue


@pytest.mark.core("CORE-661")
def test_a_launch_that_nobody_tried_is_not_overdue() -> None:
    assert launch_overdue(claim(created=START - 1000), LIMITS, START) is None


@pytest.mark.core("CORE-662")
@pytest.mark.parametrize(("seconds", "overdue"), [(119.0, None), (120.0, GiveUp("registration_timeout", 120.0))])
def test_a_node_is_overdue_so_long_after_the_launch(seconds: float, overdue: GiveUp | None) -> None:
    launched = claim(make_condition("Launched", START), created=START - 1000)
    assert registration_overdue(launched, LIMITS, START + seconds) == overdue
    assert registration_left_s(launched, LIMITS, START + seconds) == 120.0 - seconds


def test_without_a_word_from_the_pool_the_settings_count() -> None:
    settings = Settings(launch_timeout_s=7.0, registration_timeout_s=8.0)
    assert time_limits(None, settings) == time_limits(pool(), settings) == TimeLimits(7.0, 8.0)


@pytest.mark.core("CORE-661")
def test_a_pool_has_limits_of_its_own() -> None:
    assert time_limits(pool(launch="90s", registration="30m"), Settings()) == TimeLimits(90.0, 1800.0)
    assert time_limits(pool(registration="30m"), Settings()) == TimeLimits(300.0, 1800.0)


@pytest.mark.parametrize("text", ["soon", "Never", "0s", "-5m", ""])
def test_what_is_no_limit_is_refused_by_name_and_does_not_count(text: str) -> None:
    with pytest.raises(InvalidObject) as refused:
        time_limit({REGISTRATION_TIMEOUT: text}, REGISTRATION_TIMEOUT)
    assert refused.value.path == f"metadata.annotations[{REGISTRATION_TIMEOUT}]"
    assert repr(text) in str(refused.value)
    assert "a duration above zero" in str(refused.value)
    assert time_limits(pool(registration=text), Settings()) == TimeLimits(300.0, 900.0)
