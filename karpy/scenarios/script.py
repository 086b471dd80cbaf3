"""`Script`: what happens in a scenario. It scales Deployments up and down, each time when the cluster has come to rest.

The script is a controller like any other, and so takes part in the world's loop on virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodePool
from karpy.report.happening import What
from karpy.report.journal import Journal

__all__ = ["REPLICAS", "Script"]

REPLICAS = (5, 40, 3)
"""What Deployments that start with no replicas are scaled to, one after another; at the end all pods go."""

_OPENING_S = 5.0
_REST_S = 60.0
"""Long enough for an idle node to be found, looked at again and taken away."""

_GLANCE_S = 1.0
_SYSTEM = "kube-system"

_SCALABLE = (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.REPLICA_SET)


class Script:
    """Plays `REPLICAS` to its end. `is_finished` when no machine is left, or when nothing has moved for long enough."""

    name = "script"
    sources: Sequence[Source] = ()

    def __init__(
        self, kube: KubeClient, clock: Clock, journal: Journal, pools: Callable[[], Iterable[NodePool]]
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._journal = journal
        self._pools = pools
        self._steps = list(REPLICAS)
        self._deployments: tuple[RawObject, ...] | None = None
        self._is_over = False
        self.is_finished = False

    def reconcile(self, _request: Request) -> Result:
        """Do the next step if the cluster is at rest; otherwise say when it may be."""
        if self._deployments is None:
            self._deployments = tuple(self._without_replicas())
            return Result(requeue_after_s=_OPENING_S)
        wait = self._until_rest()
        if wait > 0 and not self._nothing_is_left:
            return Result(requeue_after_s=min(wait, _GLANCE_S) if self._is_over else wait)
        if self._is_over:
            self.is_finished = True
            return DONE
        self._next_step(self._deployments)
        return Result(requeue_after_s=_GLANCE_S)

    @property
    def _nothing_is_left(self) -> bool:
        pods = self._journal.pods
        return (
            self._is_over
            and not self._journal.machines.machines
            and not (pods.pending or pods.starting or pods.running)
        )

    def _until_rest(self) -> float:
        """Seconds until the cluster counts as at rest, unless something moves by then. The pools' own patience is part of it."""
        moved = self._journal.last_change
        if moved == self._journal.start:
            return 0.0  # nothing waits for anything yet
        after = (pool.consolidate_after_s for pool in self._pools())
        patience = _REST_S + max((seconds for seconds in after if seconds is not None), default=0.0)
        return moved + patience - self._clock.now()

    def _next_step(self, deployments: Sequence[RawObject]) -> None:
        if self._steps and deployments:
            replicas = self._steps.pop(0)
            for deployment in deployments:
                self._scale(kinds.DEPLOYMENT, deployment, replicas)
        else:
            self._is_over = True
            self._take_pods_away()

    def _without_replicas(self) -> Iterator[RawObject]:
        listed = self._kube.list(kinds.DEPLOYMENT).items
        yield from (obj for obj in listed if obj["spec"].get("replicas") == 0)

    def _take_pods_away(self) -> None:
        """Whatever brings pods goes to zero, and pods that stand alone are deleted; those of the system stay."""
        for kind in _SCALABLE:
            for obj in self._ours(kind):
                if obj["spec"].get("replicas"):
                    self._scale(kind, obj, 0)
        for kind in (kinds.JOB, kinds.POD):
            for obj in self._ours(kind):
                meta = obj["metadata"]
                self._kube.delete(kind, meta["name"], meta["namespace"], propagation="Background")
                name = meta["name"]
                self._journal.note(What.SCALE, f"{kind.kind.lower()} {name} is deleted", kind=kind.kind, name=name)

    def _ours(self, kind: Kind) -> Iterator[RawObject]:
        """Objects of nobody else's making."""
        for obj in self._kube.list(kind).items:
            meta = obj["metadata"]
            if not meta.get("ownerReferences") and meta["namespace"] != _SYSTEM:
                yield obj

    def _scale(self, kind: Kind, obj: RawObject, replicas: int) -> None:
        name, namespace = obj["metadata"]["name"], obj["metadata"]["namespace"]
        self._kube.patch(kind, name, {"spec": {"replicas": replicas}}, namespace)
        text = f"{kind.kind.lower()} {name} to {replicas} replicas"
        self._journal.note(What.SCALE, text, kind=kind.kind, name=name, replicas=replicas)
