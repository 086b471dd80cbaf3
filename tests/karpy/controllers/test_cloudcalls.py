from __future__ import annotations

from typing import Any

import pytest

from karpy.cloud import provider as contract
from karpy.controllers.cloudcalls import CountedCloud
from karpy.errors import CreateFailed, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady, Throttled
from karpy.metrics import CLOUDPROVIDER_DURATION, CLOUDPROVIDER_ERRORS
from karpy.report.exposition import Exposition
from karpy.sim.cloud import SimCloud
from karpy.sim.generic import GenericModel
from karpy.testing import FakeClock
from tests.karpy.controllers.stage import Stage


class Cloud:
    name = "acme"

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.error: Exception | None = None

    def delete(self, _provider_id: str) -> None:
        self.clock.advance(0.3)
        if self.error is not None:
            raise self.error


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def shown(clock: FakeClock) -> Exposition:
    return Exposition(clock)


def labels(**more: str) -> dict[str, str]:
    return {"controller": "", "method": "Delete", "provider": "acme", **more}


def test_calls_are_timed(shown: Exposition, clock: FakeClock) -> None:
    cloud: Any = Cloud(clock)
    CountedCloud(cloud, shown, clock).delete("i-1")
    assert shown.value(CLOUDPROVIDER_DURATION, "_count", **labels()) == 1
    assert shown.value(CLOUDPROVIDER_DURATION, "_sum", **labels()) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (NodeClaimNotFound("gone"), "NodeClaimNotFoundError"),
        (InsufficientCapacity("none left"), "InsufficientCapacityError"),
        (NodeClassNotReady("no subnet"), "NodeClassNotReadyError"),
        (CreateFailed("refused"), ""),
        (Throttled("slow down"), ""),
    ],
)
def test_failures_are_counted_by_what_they_mean(
    shown: Exposition, clock: FakeClock, error: Exception, name: str
) -> None:
    cloud: Any = Cloud(clock)
    cloud.error = error
    with pytest.raises(type(error)):
        CountedCloud(cloud, shown, clock).delete("i-1")
    assert shown.value(CLOUDPROVIDER_ERRORS, **labels(error=name)) == 1
    assert shown.value(CLOUDPROVIDER_DURATION, "_count", **labels()) == 1


def test_it_is_told_who_called() -> None:
    stage = Stage()
    stage.grown()
    own = {"controller": "nodeclaim.lifecycle", "method": "Create", "provider": stage.cloud.name}
    assert stage.metrics.value(CLOUDPROVIDER_DURATION, "_count", **own) == 1


def test_whatever_a_provider_may_offer_it_offers_still(clock: FakeClock) -> None:
    protocols = [each for name in contract.__all__ if getattr(each := getattr(contract, name), "_is_protocol", False)]
    assert contract.CloudProvider in protocols
    counted = CountedCloud(SimCloud((GenericModel(),), clock, 0), Exposition(clock), clock)
    for protocol in protocols:
        assert isinstance(counted, protocol), protocol
