"""A snapshot and what its pools can buy: the two inputs of every decision, made to fit each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
import msgspec

from karpy.cloud.instancetype import Catalog, InstanceTypes
from karpy.cloud.overlays import Evaluation
from karpy.cloud.provider import RawNodeClass
from karpy.cloud.routing import Clouds
from karpy.errors import ProviderError
from karpy.objects.meta import find_condition
from karpy.objects.nodeoverlay import InvalidOverlay, NodeOverlay
from karpy.objects.nodepool import RESTING, NodeClassRef, NodePool
from karpy.resources import NODES, Resources
from karpy.settings import Settings
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot

__all__ = ["completed", "current_evaluation", "current_types", "evaluate_overlays", "gated", "types_of", "with_catalog"]


def with_catalog(snapshot: Snapshot, clouds: Clouds, settings: Settings | None = None) -> tuple[Snapshot, Catalog]:
    """The snapshot with the pools that these clouds serve, completed by the clouds' defaults, and their catalogs.

    A pool whose node class is missing, or whose catalog cannot be had now, has an empty one: nothing is launched from it. Overlays
    and CapacityBuffers count where the feature gates of ``settings`` (default: those of `Settings`) say so.
    """
    known = gated(snapshot, settings or Settings())
    served = [pool for pool in known.pools if clouds.serving(pool.node_class) is not None]
    pools = tuple(completed(_one_at_a_time(pool, known), clouds) for pool in served)
    types = _evaluated(pools, known.node_classes.get, known.overlays, clouds).types
    return attrs.evolve(known, pools=pools), Catalog(types, clouds.labels, clouds.unsupported_volumes)


def gated(snapshot: Snapshot, settings: Settings) -> Snapshot:
    """The snapshot without what is behind feature gates that are off."""
    overlays = snapshot.overlays if settings.node_overlay else ()
    buffers = snapshot.buffers if settings.capacity_buffer else ()
    if (overlays, buffers) == (snapshot.overlays, snapshot.buffers):
        return snapshot  # and with it what was worked out about it
    return attrs.evolve(snapshot, overlays=overlays, buffers=buffers)


def evaluate_overlays(snapshot: Snapshot, clouds: Clouds) -> Evaluation:
    """What the overlays of a cluster make of the catalogs of its pools, and which of them do not count, and why."""
    return _evaluated(snapshot.pools, snapshot.node_classes.get, snapshot.overlays, clouds)


def current_types(state: ClusterState, pool: NodePool, clouds: Clouds, settings: Settings) -> InstanceTypes:
    """What one pool can buy now, as `with_catalog` has it, without taking a whole snapshot."""
    if not settings.node_overlay:
        return types_of(pool, state.node_class(pool.node_class), clouds)
    return current_evaluation(state, clouds).types.get(pool.name, InstanceTypes())


def current_evaluation(state: ClusterState, clouds: Clouds) -> Evaluation:
    """The same as `evaluate_overlays`, of the cluster as it is now, without taking a whole snapshot."""
    return _evaluated(state.pools(), state.node_class, state.overlays(), clouds)


def types_of(pool: NodePool, node_class: RawNodeClass | None, clouds: Clouds) -> InstanceTypes:
    """The cloud's catalog of one pool; empty when there is none to be had now."""
    provider = clouds.serving(pool.node_class)
    if provider is None or node_class is None:
        return InstanceTypes()
    try:
        found = provider.instance_types(pool, node_class)
    except ProviderError:
        return InstanceTypes()
    return clouds.measured.applied(pool.node_class, found)


def _evaluated(
    pools: Iterable[NodePool],
    node_class_of: Callable[[NodeClassRef], RawNodeClass | None],
    overlays: Iterable[NodeOverlay | InvalidOverlay],
    clouds: Clouds,
) -> Evaluation:
    served = [pool for pool in pools if clouds.serving(pool.node_class) is not None]
    types = {pool.name: types_of(pool, node_class_of(pool.node_class), clouds) for pool in served}
    return clouds.overlays.evaluate(overlays, served, types)


def _one_at_a_time(pool: NodePool, snapshot: Snapshot) -> NodePool:
    """A pool that rested, and of which no machine has worked since, gets one machine more; while that is on its way it rests on."""
    resting = find_condition(pool.conditions, RESTING)
    if resting is None or resting.status != "Unknown":
        return pool
    held = snapshot.fleet(pool.name).active
    if any(not view.is_registered for view in held):
        rests_on = msgspec.structs.replace(resting, status="True")
        kept = (rests_on if each is resting else each for each in pool.conditions)
        return attrs.evolve(pool, conditions=tuple(kept))
    limits = pool.limits or Resources()
    most = min(limits.get(NODES, len(held) + 1), len(held) + 1)
    return attrs.evolve(pool, limits=Resources({**limits, NODES: most}))


def completed(pool: NodePool, clouds: Clouds) -> NodePool:
    """The pool with what its cloud adds where it leaves something open."""
    defaults = clouds.defaults(pool)
    return attrs.evolve(pool, requirements=pool.requirements & defaults) if defaults else pool
