"""New room before old room goes: a node is drained when all its pods have a place on nodes that are up (a setting, off at first).

The places are made by the provisioner, to which pods of leaving nodes are pods without a place. Here it is only asked whether the
nodes that are up would hold them.
"""

from __future__ import annotations

import attrs

from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject
from karpy.objects.leaving import replace_before_drain
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.scheduling.configured import solve_as_set
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import Snapshot

__all__ = ["Replacing"]

_LOOK_AGAIN_S = 2.0
"""A pass over all pods that leave is good for so long."""


@attrs.frozen
class _Look:
    """Which pods (by uid) had no place on nodes that are up, when that was, and what was looked at."""

    at: float
    version: int
    to_place: frozenset[str]
    homeless: frozenset[str]


class Replacing:
    """Whether the drain of a node waits, and for how long."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._look: _Look | None = None

    def waits_s(self, node: Node, claim: NodeClaim | None, deadline: float | None) -> float | None:
        """Seconds until it should be looked again, if pods of the node have no place yet and it is worth waiting; else None."""
        if claim is None or not self._is_wanted(claim):
            return None
        now, since = self._shared.clock.now(), node.metadata.deleted
        until = (now if since is None else since) + self._shared.settings.replacement_timeout_s
        left_s = min(until, until if deadline is None else deadline) - now
        if left_s <= 0 or not self._has_homeless(node, now):
            return None
        return min(left_s, _LOOK_AGAIN_S)

    def _is_wanted(self, claim: NodeClaim) -> bool:
        """What the pool asks for, or else the setting. What it asks for wrongly does not count; its condition tells of that."""
        pool = self._shared.state.pool(claim.pool)
        try:
            wish = None if pool is None else replace_before_drain(pool.metadata.annotations or {})
        except InvalidObject:
            wish = None
        return self._shared.settings.replace_before_drain if wish is None else wish

    def _has_homeless(self, node: Node, now: float) -> bool:
        pods = self._shared.state.pods_on(node.name)
        if not any(pod.is_reschedulable for pod in pods):
            return False
        if self._look is None or not 0 <= now - self._look.at < _LOOK_AGAIN_S:
            self._look = self._look_at(now)
        return any(pod.metadata.uid in self._look.homeless for pod in pods)

    def _look_at(self, now: float) -> _Look:
        """How it is now. Where nothing changed since the last look, and no pod's time has come, that holds still."""
        snapshot, last = self._shared.state.snapshot().at(now), self._look
        to_place = frozenset(pod.metadata.uid for pod in snapshot.to_place)
        if last is not None and (last.version, last.to_place) == (snapshot.version, to_place):
            return attrs.evolve(last, at=now)
        return _Look(now, snapshot.version, to_place, self._homeless(snapshot))

    def _homeless(self, picture: Snapshot) -> frozenset[str]:
        """The pods of leaving nodes that the nodes that are up have no room for, when all that wait for a place get theirs."""
        shared = self._shared
        snapshot, catalog = with_catalog(picture, shared.clouds, shared.settings)
        up = tuple(view for view in snapshot.nodes if view.is_initialized or view.is_leaving)
        plan = solve_as_set(shared.settings, attrs.evolve(snapshot, nodes=up, pools=()), catalog)
        housed = {uid for nomination in plan.nominations for uid in nomination.pod_uids}
        leaving = {pod.metadata.uid for view in snapshot.nodes.leaving for pod in view.pods}
        return frozenset(pod.metadata.uid for pod in snapshot.to_place if pod.metadata.uid in leaving - housed)
