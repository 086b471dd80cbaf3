from __future__ import annotations

import pytest

from karpy.sim.apiserver import ApiServer
from karpy.sim.clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def server(clock: VirtualClock) -> ApiServer:
    return ApiServer(clock)
