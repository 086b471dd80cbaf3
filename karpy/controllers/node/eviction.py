"""Pods are told to go: by the Eviction API, which PodDisruptionBudgets may forbid, or by force when the time is up.

A pod that a budget holds is asked for again when the budget is seen to allow it, not before long otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import attrs

from karpy.clock import format_time
from karpy.controllers.node.budgets import Budgets
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.lifecycle.draining import Drain, Forced
from karpy.metrics import PODS_DRAINED, PODS_EVICTION_REQUESTS
from karpy.objects.kinds import NODE, POD
from karpy.objects.node import Node
from karpy.objects.nodeclaim import DISRUPTION_REASON, NodeClaim
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["TOLD_AGAIN_S", "Evictions", "Refusal"]

TOLD_AGAIN_S = 900.0
"""How often a drain that is held up is spoken of. It has three things to say, and of one object not more is told than one each five
minutes in the long run: none may hide another."""

_FIRST_RETRY_S = 2.0
_LONGEST_RETRY_S = 10.0
_LONGEST_HELD_RETRY_S = 60.0
"""For pods that a budget holds: its release is heard of, so this is for what was not heard."""
_FORCEFUL = "Forceful Termination"
_SEVERAL = "more than one PodDisruptionBudget"


@attrs.define(eq=False)
class _Rest:
    """How long nobody asks, from the last time that somebody was refused."""

    at: float
    longest_s: float
    length_s: float = _FIRST_RETRY_S

    def left_s(self, now: float) -> float:
        """A clock that jumped back makes nobody wait for longer."""
        passed_s = now - self.at
        return self.length_s - passed_s if 0 <= passed_s < self.length_s else 0.0

    def again(self, now: float) -> None:
        self.at, self.length_s = now, min(self.length_s * 2, self.longest_s)


@attrs.frozen(eq=False)
class Refusal:
    """A pod of a node that may not be evicted for now, and the budgets (by key) that are about it."""

    pod: Pod
    node: str
    budgets: tuple[str, ...]
    rest: _Rest
    """Pods that one budget holds rest together: what one of them is told holds for all."""


@attrs.define(eq=False)
class _Queue:
    """The pods that a budget holds, by uid, those first that were refused first."""

    rest: _Rest
    pods: dict[str, Refusal] = attrs.field(factory=dict)


class Evictions:
    """Asks for pods of all nodes. What it remembers of refusals saves calls; without it, it asks once more."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._refused: dict[str, dict[str, Refusal]] = {}
        """By node and uid."""
        self._held: dict[str, _Queue] = {}
        """By budget."""
        self._budgets = Budgets(shared.state)

    def refused(self, node: str) -> Sequence[Refusal]:
        """The pods of a node that may not be evicted for now."""
        return tuple(self._refused.get(node, {}).values())

    def is_refused(self, node: str, uid: str) -> bool:
        """Whether this pod of a node may not be evicted, as far as is known."""
        return uid in self._refused.get(node, ())

    def forget(self, node: str) -> None:
        for uid in tuple(self._refused.get(node, ())):
            self._drop(node, uid)

    def released_by(self, event: WatchEvent) -> tuple[str, ...]:
        """The nodes with pods that this budget held and does not hold now: no more of them than it allows."""
        metadata = event.object["metadata"]
        key = f"{metadata.get('namespace', '')}/{metadata['name']}"
        self._budgets.note_change(key, metadata, is_gone=event.type is EventType.DELETED)
        queue = self._held.get(key)
        if queue is None:
            return ()
        allowed = len(queue.pods) if event.type is EventType.DELETED else self._budgets.allowed(key)
        return tuple(dict.fromkeys(refusal.node for refusal in itertools.islice(queue.pods.values(), allowed)))

    def carry_out(self, node: Node, claim: NodeClaim | None, step: Drain, deadline: float | None) -> float:
        """Evict and delete who is to go now; returns the seconds until it should be asked again (infinite: nobody need be)."""
        now = self._shared.clock.now()
        self._forget_all_but(node.name, {pod.metadata.uid for pod in step.evict})
        for forced in step.force:
            self._delete(forced, deadline if deadline is not None else now)
        left_s = math.inf
        for pod in step.evict:
            refusal = self._refused.get(node.name, {}).get(pod.metadata.uid)
            if refusal is None and (held := self._is_held_as_others(pod)):
                refusal = self._refuse(node, pod, held)
            elif refusal is None or refusal.rest.left_s(now) <= 0 or self._may_be_free(refusal):
                refusal = self._evict(node, pod, claim, refusal)
            if refusal is not None:
                left_s = min(left_s, refusal.rest.left_s(now))
        return left_s

    def _is_held_as_others(self, pod: Pod) -> tuple[str, ...]:
        """The budget that has just refused another pod, and has not allowed anything since: there is no need to ask."""
        keys = self._budgets.about(pod)
        is_held = len(keys) == 1 and keys[0] in self._held and pod.is_ready and not self._budgets.allowed(keys[0])
        return keys if is_held else ()

    def _may_be_free(self, refusal: Refusal) -> bool:
        """Whether the budgets that held the pod are seen to hold it no more."""
        left = [key for key in refusal.budgets if self._shared.state.budget(key) is not None]
        return bool(refusal.budgets) and len(left) < 2 and (not left or self._budgets.allowed(left[0]) > 0)

    # Asking

    def _evict(self, node: Node, pod: Pod, claim: NodeClaim | None, known: Refusal | None) -> Refusal | None:
        """Ask the API server for one pod; its refusal, if it refuses."""
        shared, meta = self._shared, pod.metadata
        try:
            shared.kube.evict(meta.name, meta.namespace, uid=meta.uid)
        except KubeError as error:
            shared.metrics.add(PODS_EVICTION_REQUESTS, code=str(error.code))
            if error.code in (404, 409):  # gone already, or another pod of that name by now: nothing is left to evict
                self._drop(node.name, meta.uid)
                return None
            is_by_budget = error.code == 429 or _SEVERAL in error.message
            return self._refuse(node, pod, self._budgets.about(pod) if is_by_budget else (), known, error)
        self._drop(node.name, meta.uid)
        self._budgets.spend(pod)
        why = claim.condition(DISRUPTION_REASON) if claim is not None else None
        reason = (why.reason if why is not None else None) or _FORCEFUL
        shared.metrics.add(PODS_EVICTION_REQUESTS, code="200")
        shared.metrics.add(PODS_DRAINED, reason=reason)
        shared.recorder.normal(POD, meta, "Evicted", f"Evicted pod: {reason}")
        return None

    def _delete(self, forced: Forced, deadline: float) -> None:
        """End a pod in time, whatever protects it."""
        shared, pod = self._shared, forced.pod
        meta, own_s = pod.metadata, pod.spec.termination_grace_period_seconds
        try:
            shared.kube.delete(POD, meta.name, meta.namespace, grace_period_s=forced.grace_s, uid=meta.uid)
        except KubeError as error:
            if error.code not in (404, 409):
                raise
            return
        shared.metrics.add(PODS_DRAINED, reason=_FORCEFUL)
        graces = {"pod.terminationGracePeriodSeconds": own_s, "delete.gracePeriodSeconds": forced.grace_s}
        shared.log.debug("deleting pod", **graces, **{"nodeclaim.terminationTime": format_time(deadline)})
        shared.recorder.normal(
            POD,
            meta,
            "Disrupted",
            f"Deleting the pod to accommodate the terminationTime {format_time(deadline)} of the node. The pod was granted "
            f"{forced.grace_s} seconds of grace-period of its {own_s or 0} terminationGracePeriodSeconds. This bypasses the PDB of "
            "the pod and the do-not-disrupt annotation.",
        )

    # Being refused

    def _refuse(
        self, node: Node, pod: Pod, keys: tuple[str, ...], known: Refusal | None = None, error: KubeError | None = None
    ) -> Refusal:
        """Remember it, by the budgets that are about the pod if a budget is why."""
        self._tell(node, pod, keys, error)
        uid, now = pod.metadata.uid, self._shared.clock.now()
        if known is not None and known.budgets == keys:
            known.rest.again(now)
            return known
        self._drop(node.name, uid)
        queues = [self._queue(key, now) for key in keys]
        rest = queues[0].rest if len(queues) == 1 else _Rest(now, _LONGEST_HELD_RETRY_S if keys else _LONGEST_RETRY_S)
        refusal = Refusal(pod, node.name, keys, rest)
        self._refused.setdefault(node.name, {})[uid] = refusal
        for queue in queues:
            queue.pods[uid] = refusal
        return refusal

    def _queue(self, budget: str, now: float) -> _Queue:
        queue = self._held.get(budget)
        if queue is None:
            queue = self._held[budget] = _Queue(_Rest(now, _LONGEST_HELD_RETRY_S))
        return queue

    def _tell(self, node: Node, pod: Pod, budgets: tuple[str, ...], error: KubeError | None) -> None:
        """Once for each way to be refused: which pod it is about matters less."""
        if error is not None and _SEVERAL in error.message:
            what = "eviction does not support multiple PDBs"
        elif budgets or error is None:
            what = "evicting pod violates a PDB"
        else:
            what = f"evicting pod is refused, {error.message}"
        text = f"Failed to drain node, {what} (Pod={pod.key})"
        self._shared.recorder.warning(NODE, node.metadata, "FailedDraining", text, topic=what, repeat_s=TOLD_AGAIN_S)

    def _forget_all_but(self, node: str, uids: Iterable[str]) -> None:
        for uid in tuple(uid for uid in self._refused.get(node, ()) if uid not in uids):
            self._drop(node, uid)

    def _drop(self, node: str, uid: str) -> None:
        refusals = self._refused.get(node, {})
        refusal = refusals.pop(uid, None)
        if refusal is None:
            return
        if not refusals:
            del self._refused[node]
        for key in refusal.budgets:
            queue = self._held[key]
            queue.pods.pop(uid, None)
            if not queue.pods:
                del self._held[key]
