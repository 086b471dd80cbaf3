"""Nodes of static pools that are no longer what their pool asks for: each gets a new one in its place, whatever runs on it (core
specification 5.5)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from karpy.cloud.instancetype import Catalog
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method
from karpy.disruption.drift import since
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import Chosen, NotWanted
from karpy.objects.nodepool import NodePool
from karpy.resources import NODES, Resources
from karpy.scheduling.plan import Launch

__all__ = ["drifted_static_nodes"]


def drifted_static_nodes(scene: Scene) -> tuple[Command, ...]:
    """A command for each node that may go now; the earliest that drifted first."""
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in scene.candidates(Method.STATIC_DRIFT):
        if candidate.pool.is_static and candidate.has_drifted:
            by_pool.setdefault(candidate.pool.name, []).append(candidate)
    return tuple(command for _, found in sorted(by_pool.items()) for command in _of_pool(scene, found[0].pool, found))


def _of_pool(scene: Scene, pool: NodePool, found: Sequence[Candidate]) -> Iterator[Command]:
    fleet = scene.snapshot.fleet(pool.name)
    staying = len(fleet.active) + len(fleet.pending_disruption)
    room: float = math.inf
    if pool.limits is not None and NODES in pool.limits:
        room = pool.limits[NODES] - staying - len(fleet.deleting)
    for candidate in sorted(found, key=lambda each: (since(each), each.view.name)):
        if staying > (pool.replicas or 0):
            text = f'NodePool "{pool.name}" has {staying} nodes for {pool.replicas} replicas: those too many go first'
            scene.docket.say(candidate.view.name, NotWanted(text), Method.STATIC_DRIFT)
        elif room <= 0:
            text = f'NodePool "{pool.name}" has no room for a node more: its limit of nodes is reached'
            scene.docket.say(candidate.view.name, NotWanted(text), Method.STATIC_DRIFT)
        elif scene.is_allowed(candidate, Method.STATIC_DRIFT):
            command = _replace(scene, candidate)
            held = scene.restrains(command)
            scene.docket.say(candidate.view.name, held or Chosen(command), Method.STATIC_DRIFT)
            if held is None:
                room -= 1
                scene.spend(candidate, Method.STATIC_DRIFT)
                yield command


def _replace(scene: Scene, candidate: Candidate) -> Command:
    view, claim = candidate.view, candidate.view.claim
    return Command(
        method=Method.STATIC_DRIFT,
        claims=(claim.name,) if claim is not None else (),
        nodes=(view.name,),
        replacements=(_one_more(candidate.pool, scene.catalog),),
        savings=candidate.price,
        version=scene.snapshot.version,
    )


def _one_more(pool: NodePool, catalog: Catalog) -> Launch:
    """A node of the pool as its template has it: for no pods, and the cloud chooses among all types."""
    return Launch(
        pool=pool,
        requirements=pool.template_requirements,
        requests=Resources(),
        instance_types=(),
        pods=(),
        pod_uids=(),
        considered=len(catalog.types[pool.name]),
        feasible=0,
    )
