"""All gauges that are read off the cluster, worked out when somebody asks: between two askings they cost nothing."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from karpy.controllers.base import Controller
from karpy.controllers.metrics.conditions import ConditionWatch
from karpy.controllers.metrics.decisions import read_eligible
from karpy.controllers.metrics.nodes import read_nodes, read_utilization
from karpy.controllers.metrics.passes import read_zones
from karpy.controllers.metrics.pods import read_pods
from karpy.controllers.metrics.pools import read_pools
from karpy.controllers.metrics.startups import PodStartups
from karpy.controllers.nodepool.status import POOL_CONDITIONS
from karpy.controllers.shared import ROOT_CONDITIONS, Shared
from karpy.controllers.state import StateSync
from karpy.gauges import BUILD_INFO, CLUSTER_STATE_NODE_COUNT, labels_of_claims, labels_of_nodes, node_gauges
from karpy.lifecycle.health import REGISTRATION_HEALTHY
from karpy.metrics import Reading
from karpy.objects.kinds import CAPACITY_BUFFER, NODE, NODE_CLAIM, NODE_POOL, PROVISIONER
from karpy.objects.nodeclaim import READY
from karpy.state.catalogs import with_catalog

__all__ = ["Readings"]


class Readings:
    """Called, it tells how everything is now. What it has to have heard before, its ``controllers`` listen to."""

    def __init__(self, shared: Shared, sync: StateSync) -> None:
        self._shared = shared
        self._sync = sync
        self._nodes = node_gauges(shared.clouds.labels.well_known)
        self._startups = PodStartups(shared)
        self._watches = _watches(shared) if shared.settings.cluster_state_observability else ()
        self.controllers: tuple[Controller, ...] = (self._startups, *self._watches)

    def __call__(self) -> Iterator[Reading]:
        shared = self._shared
        snapshot, now = shared.state.snapshot(), shared.clock.now()
        yield Reading(BUILD_INFO, 1.0, _build())
        yield Reading(CLUSTER_STATE_NODE_COUNT, len(snapshot.nodes))
        yield from self._sync.readings(now)
        yield from self._startups.readings(now)
        yield from shared.passes.readings(now)
        yield from read_zones(snapshot)
        complete, catalog = with_catalog(snapshot, shared.clouds, shared.settings)
        yield from read_eligible(complete, catalog, now, shared.settings)
        if not shared.settings.cluster_state_observability:
            return
        yield from read_nodes(snapshot.nodes, self._nodes, now)
        yield from read_utilization(snapshot.nodes)
        yield from read_pools(complete, catalog, now)
        yield from read_pods(shared.state.pods(), snapshot.nodes)
        for watch in self._watches:
            yield from watch.readings(now)


def _watches(shared: Shared) -> tuple[ConditionWatch, ...]:
    classes = tuple(kind for kind in shared.clouds.kinds if kind not in (NODE_POOL, PROVISIONER))
    named = tuple(dict.fromkeys((kind.group, kind.kind) for kind in classes))
    return (
        ConditionWatch(
            shared, NODE_CLAIM, labels_of_claims(named), in_general=True, from_the_start=(*ROOT_CONDITIONS, READY)
        ),
        ConditionWatch(shared, NODE, labels_of_nodes(named)),
        ConditionWatch(
            shared, NODE_POOL, in_general=True, from_the_start=(*POOL_CONDITIONS, REGISTRATION_HEALTHY, READY)
        ),
        ConditionWatch(shared, PROVISIONER, from_the_start=(*POOL_CONDITIONS, REGISTRATION_HEALTHY, READY)),
        *((ConditionWatch(shared, CAPACITY_BUFFER, in_general=True),) if shared.settings.capacity_buffer else ()),
        *(ConditionWatch(shared, kind, in_general=True) for kind in classes),
    )


def _build() -> dict[str, str]:
    """What runs. The names of the labels are those of the original, which was built with Go."""
    try:
        own = version("karpy")
    except PackageNotFoundError:  # run from a checkout
        own = "unspecified"
    python = f"python{platform.python_version()}"
    return {"version": own, "goversion": python, "goarch": platform.machine(), "commit": "unknown"}
