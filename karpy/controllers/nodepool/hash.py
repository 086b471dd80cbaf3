"""A pool carries the hash of its template, by which its claims are told to have drifted (core specification 1.2 and 4.5).

When hashes are reckoned in another way than before, the claims are told first and the pool last: whoever stops in between begins
anew. A claim that had drifted by then keeps its old hash, since nobody can say any more whether it still has.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.objects.kinds import NODE_CLAIM, PROVISIONER, Kind
from karpy.objects.nodeclaim import DRIFTED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.templatehash import HASH_VERSION, hash_annotations
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["PoolHash"]


class PoolHash:
    """Annotates the pools of one kind. What it remembers spares it from reckoning the hash of a template that did not change."""

    def __init__(self, shared: Shared, kind: Kind) -> None:
        self._shared = shared
        self._kind = kind
        self._hashed: dict[str, tuple[NodePool, dict[str, str]]] = {}
        self.name = "nodepool.hash" if kind != PROVISIONER else "provisioner.hash"

    @property
    def sources(self) -> Sequence[Source]:
        """Pools that name no kind of node class are somebody's only once a class of that name has come."""
        classes = (kind for kind in self._shared.clouds.kinds if kind != self._kind)
        return (Source(self._kind, by_name), *(Source(kind, self._pools_of_class) for kind in classes))

    def _pools_of_class(self, event: WatchEvent) -> tuple[Request, ...]:
        if event.type is not EventType.ADDED:
            return ()
        name = event.object["metadata"]["name"]
        pools = (pool for pool in self._shared.state.pools() if pool.origin == self._kind)
        return tuple(Request(pool.name) for pool in pools if pool.node_class.name == name)

    def reconcile(self, request: Request) -> Result:
        shared = self._shared
        pools = shared.state.pools()
        pool = next((each for each in pools if (each.origin, each.name) == (self._kind, request.name)), None)
        if pool is None or shared.clouds.serving(pool.node_class) is None:
            self._hashed.pop(request.name, None)
            return DONE
        wanted, known = self._wanted(pool), pool.metadata.annotations or {}
        if all(known.get(key) == value for key, value in wanted.items()):
            return DONE
        if known.get(labels.NODEPOOL_HASH_VERSION) != HASH_VERSION:
            self._rewrite_claims(pool, wanted)
        shared.kube.patch(self._kind, pool.name, {"metadata": {"annotations": wanted}})
        return DONE

    def _wanted(self, pool: NodePool) -> dict[str, str]:
        hashed = self._hashed.get(pool.name)
        if hashed is None or not _is_same_template(hashed[0], pool):
            hashed = self._hashed[pool.name] = (pool, hash_annotations(pool))
        return hashed[1]

    def _rewrite_claims(self, pool: NodePool, wanted: dict[str, str]) -> None:
        views = self._shared.state.snapshot().nodes
        claims = (view.claim for view in views if view.claim is not None and view.claim.pool == pool.name)
        for claim in claims:
            if (claim.metadata.annotations or {}).get(labels.NODEPOOL_HASH_VERSION) == HASH_VERSION:
                continue
            self._annotate(claim, wanted)

    def _annotate(self, claim: NodeClaim, wanted: dict[str, str]) -> None:
        has_drifted = claim.condition(DRIFTED) is not None
        told = {key: value for key, value in wanted.items() if key != labels.NODEPOOL_HASH or not has_drifted}
        try:
            self._shared.kube.patch(NODE_CLAIM, claim.name, {"metadata": {"annotations": told}})
        except KubeError as error:
            if not error.not_found:
                raise


def _is_same_template(old: NodePool, new: NodePool) -> bool:
    """Generations count changes of the spec; the kind of a node class may be found out without one."""
    ours, theirs = old.metadata, new.metadata
    return (ours.uid, ours.generation, old.node_class) == (theirs.uid, theirs.generation, new.node_class)
