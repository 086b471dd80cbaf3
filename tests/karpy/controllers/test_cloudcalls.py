from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from karpy import cloud
from karpy.cloud.notices import GivingNotice
from karpy.cloud.provider import CloudProvider, Repairing, RepairPolicy
from karpy.controllers.cloudcalls import OPTIONAL, CountedCloud
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
    acme: Any = Cloud(clock)
    CountedCloud(acme, shown, clock).delete("i-1")
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
    acme: Any = Cloud(clock)
    acme.error = error
    with pytest.raises(type(error)):
        CountedCloud(acme, shown, clock).delete("i-1")
    assert shown.value(CLOUDPROVIDER_ERRORS, **labels(error=name)) == 1
    assert shown.value(CLOUDPROVIDER_DURATION, "_count", **labels()) == 1


def test_it_is_told_who_called() -> None:
    stage = Stage()
    stage.grown()
    own = {"controller": "nodeclaim.lifecycle", "method": "Create", "provider": stage.cloud.name}
    assert stage.metrics.value(CLOUDPROVIDER_DURATION, "_count", **own) == 1


def test_whatever_a_provider_may_offer_it_offers_still(clock: FakeClock) -> None:
    offered = SimCloud((GenericModel(),), clock, 0)
    counted = CountedCloud(offered, Exposition(clock), clock)
    assert [isinstance(counted, each) for each in OPTIONAL] == [isinstance(offered, each) for each in OPTIONAL]
    assert isinstance(counted, GivingNotice)
    assert counted.messages() == offered.messages()


def test_what_a_provider_offers_is_read_whenever_it_is_asked_for(clock: FakeClock) -> None:
    offered = SimCloud((GenericModel(),), clock, 0)
    counted = CountedCloud(offered, Exposition(clock), clock)
    assert isinstance(counted, Repairing)
    assert counted.repair_policies == offered.repair_policies
    offered.repair_policies = (RepairPolicy("Ready", "False", 60.0),)
    assert counted.repair_policies == offered.repair_policies


def test_every_protocol_that_a_provider_may_offer_is_known_here() -> None:
    modules = [importlib.import_module(f"karpy.cloud.{each.name}") for each in pkgutil.iter_modules(cloud.__path__)]
    protocols = {
        value
        for module in modules
        for value in vars(module).values()
        if getattr(value, "_is_runtime_protocol", False) and value.__module__ == module.__name__
    }
    assert protocols == {CloudProvider, *OPTIONAL}
