from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy.operator import Operator
from karpy.settings import Settings
from karpy.sim.world import World
from karpy.state.workloads import WORKLOAD_KINDS
from tests.karpy.controllers.stage import Silence

BY_HOST = "{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}"


def operator(config: str = "") -> Operator:
    world = World()
    return Operator(kube=world.api, providers=(world.cloud,), settings=Settings(scheduler_config=config), log=Silence())


def test_workloads_are_watched_only_where_pods_are_spread_by_default() -> None:
    assert not set(WORKLOAD_KINDS) & set(operator().kinds)
    assert set(WORKLOAD_KINDS) <= set(operator(f"podTopologySpread: {{defaultConstraints: [{BY_HOST}]}}").kinds)


def test_a_scheduler_configuration_that_cannot_be_used_stops_the_start() -> None:
    with pytest.raises(InvalidObject, match="podTopologySpread: found 3"):
        operator("podTopologySpread: 3")
