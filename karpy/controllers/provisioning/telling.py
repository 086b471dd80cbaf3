"""What provisioning says of pods: in events on them, and in the log (core specification 3.13, 5.12).

Nothing is said over and over: a pass is repeated every few seconds while a pod waits, and a large batch has thousands of pods.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from karpy.controllers.metrics.passes import IGNORED
from karpy.controllers.shared import Shared
from karpy.objects import kinds
from karpy.objects.meta import ObjectMeta
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.scheduling.plan import Launch, Plan, RefusalKind, Unschedulable
from karpy.state.snapshot import Snapshot

__all__ = ["Telling", "name_of"]

_REFUSED_AGAIN_S = 300.0
_NOMINATED_AGAIN_S = 120.0
_WARNED_AGAIN_S = 24 * 3600.0
_POOL_AGAIN_S = 60.0
_SHOWN_PODS, _WARNED_PODS = 5, 10
_SWEEP_EVERY_S = 600.0
"""What may be said again is forgotten so often."""
_SOFT = "ScheduleAnyway"


class Telling:
    """Remembers what it said, to say it seldom. To forget that costs a line said twice."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._said = _Seldom()

    # Before a plan

    def begins(self, snapshot: Snapshot) -> None:
        """A pass over all pods of the snapshot is about to be made, whose pools are those that karpy serves."""
        log, pods = self._shared.log, snapshot.to_place
        pending = len(snapshot.pending)
        told = {"pending-pods": pending, "deleting-pods": len(pods) - pending}
        log.debug("computing scheduling decision for provisionable pod(s)", **told)
        for pool in snapshot.pools:
            if not (pool.may_grow or pool.is_static or pool.metadata.is_deleting) and self._may_say("pool", pool.name):
                log.error("ignoring nodepool, not ready", NodePool=name_of(pool.metadata))
        if not any(pool.may_grow for pool in snapshot.pools):
            log.info("no dynamic nodepools found")

    def sells_nothing(self, pool: NodePool, *, for_min_values: bool) -> None:
        """No type that can be had satisfies the pool's requirements."""
        told = "NodePool requirements filtered out all compatible available instance types"
        told += " due to minValues incompatibility" if for_min_values else ""
        recorder = self._shared.recorder
        recorder.warning(pool.origin, pool.metadata, "NoCompatibleInstanceTypes", told, repeat_s=_POOL_AGAIN_S)

    # After it

    def planned(self, plan: Plan, snapshot: Snapshot, took_s: float) -> None:
        """What a complete pass came to."""
        log, pods = self._shared.log, snapshot.to_place
        ignored = {key for part in plan.unschedulable if part.kind is not None for key in part.pods}
        looked_at = [pod for pod in pods if pod.key not in ignored]
        if looked_at:
            shown = _listed((pod.key for pod in looked_at), _SHOWN_PODS)
            log.info("found provisionable pod(s)", Pods=shown, duration=f"{took_s * 1000:.6f}ms")
        self._warn_of_preferences(looked_at)
        self.computed(plan.launches)
        coming = [
            n for n in plan.nominations if (view := snapshot.node(n.node)) is not None and not view.is_initialized
        ]
        if coming:
            log.info(
                "computed unready node(s) will fit pod(s)", nodes=len(coming), pods=sum(len(n.pods) for n in coming)
            )

    def computed(self, launches: Sequence[Launch]) -> None:
        """These machines are about to be launched."""
        if launches:
            pods = sum(len(launch.pods) for launch in launches)
            self._shared.log.info("computed new nodeclaim(s) to fit pod(s)", nodeclaims=len(launches), pods=pods)

    def _warn_of_preferences(self, pods: Iterable[Pod]) -> None:
        """Consolidation takes wishes for requirements, so pods that have some may keep nodes from going."""
        wishes: dict[str, list[str]] = {"Anti-Affinity": [], "TopologySpread": []}
        for pod in pods:
            spec = pod.spec
            anti = spec.affinity.pod_anti_affinity if spec.affinity is not None else None
            if anti is not None and anti.preferred and self._may_say("anti", pod.metadata.uid, _WARNED_AGAIN_S):
                wishes["Anti-Affinity"].append(pod.key)
            spread = spec.topology_spread_constraints
            is_wish = any(each.when_unsatisfiable == _SOFT for each in spread)
            if is_wish and self._may_say("spread", pod.metadata.uid, _WARNED_AGAIN_S):
                wishes["TopologySpread"].append(pod.key)
        for wish, keys in wishes.items():
            if keys:
                told = f"pod(s) have a preferred {wish} which can prevent consolidation"
                self._shared.log.info(told, pods=_listed(keys, _WARNED_PODS))

    # Of single pods

    def nominated(self, keys: Iterable[str], pods: Mapping[str, Pod], claim: str, node: str = "") -> None:
        """Where these pods should run. Of very many at once the recorder tells a few."""
        target = f"nodeclaim/{claim}" + (f", node/{node}" if node else "")
        for key in keys:
            about = pods[key].metadata
            if self._may_say("nominated", (about.uid, claim), _NOMINATED_AGAIN_S):
                self._shared.recorder.normal(kinds.POD, about, "Nominated", f"Pod should schedule on: {target}")

    def refused(self, part: Unschedulable, pods: Mapping[str, Pod]) -> None:
        """Why these pods wait. Who keeps off the machines of pools knows, and is told nothing."""
        if part.kind is RefusalKind.OPTED_OUT:
            return
        log = self._shared.log
        for key in part.pods:
            about = pods[key].metadata
            if self._may_say("refused", (about.uid, part.reason), _REFUSED_AGAIN_S):
                if part.kind in IGNORED:
                    log.debug("ignoring pod", Pod=name_of(about), error=part.reason)
                else:
                    log.error("could not schedule pod", Pod=name_of(about), error=part.reason)
            self._warn(about, part.reason)

    def in_vain(self, pod: Pod, count: int) -> None:
        """Machine after machine came up for the pod, and it runs on none of them."""
        told = f"{count} machines came up for it and it runs on none of them; waiting before the next"
        self._warn(pod.metadata, told)

    def _warn(self, about: ObjectMeta, why: str) -> None:
        message = f"Failed to schedule pod, {why}"
        self._shared.recorder.warning(kinds.POD, about, "FailedScheduling", message, repeat_s=_REFUSED_AGAIN_S)

    @property
    def _now(self) -> float:
        return self._shared.clock.now()

    def _may_say(self, what: str, about: Hashable, again_s: float = _REFUSED_AGAIN_S) -> bool:
        return self._said.allows((what, about), self._now, again_s)


class _Seldom:
    """Lets something be said once in a while."""

    def __init__(self) -> None:
        self._until: dict[Hashable, float] = {}
        self._sweep_at = 0.0

    def allows(self, key: Hashable, now: float, again_s: float) -> bool:
        if 0 < self._until.get(key, now) - now <= again_s:  # for no longer than that, though the clock jumps back
            return False
        if not 0 <= self._sweep_at - now <= _SWEEP_EVERY_S:  # or the clock jumped
            self._until = {each: until for each, until in self._until.items() if until > now}
            self._sweep_at = now + _SWEEP_EVERY_S
        self._until[key] = now + again_s
        return True


def name_of(about: ObjectMeta) -> dict[str, str]:
    """An object in a line of the log."""
    return {"name": about.name, "namespace": about.namespace} if about.namespace else {"name": about.name}


def _listed(names: Iterable[str], most: int) -> str:
    """The first of them, and how many there are beside.

    >>> _listed("abc", 2)
    'a, b and 1 other(s)'
    """
    found = tuple(names)
    rest = len(found) - most
    return ", ".join(found[:most]) + (f" and {rest} other(s)" if rest > 0 else "")
