from __future__ import annotations

import pytest

from karpy.testing.clock import FakeClock
from karpy_aws.testing import FakeAWS
from tests.karpy_aws.testing.worlds import region


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeAWS:
    return FakeAWS(region(clock), clock=clock, check_answers=True)
