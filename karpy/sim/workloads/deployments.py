"""Deployments: one ReplicaSet per template, replicas moved from the old ones to the new.

Source: the Deployment controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Sequence

from karpy.clock import Clock
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.cache import ClusterCache, controller_of
from karpy.sim.podfacts import is_deleting, is_finished
from karpy.sim.recorder import Recorder
from karpy.sim.workloads import rollout
from karpy.sim.workloads.deploymentsets import SetKeeper, Sets, count, desired_size, limits, most_size, size, sort
from karpy.sim.workloads.deploymentstatus import Conditions, counts, is_complete
from karpy.sim.workloads.objects import Wishes, claim, owners, write_status

__all__ = ["Deployments"]


class Deployments:
    """The Deployment controller."""

    name = "deployment-controller"

    def __init__(self, kube: KubeClient, clock: Clock, cache: ClusterCache) -> None:
        self._kube = kube
        self._clock = clock
        self._cache = cache
        self._wishes = Wishes()
        self._sets = SetKeeper(kube, Recorder(kube, clock, self.name))

    @property
    def sources(self) -> Sequence[Source]:
        return (
            Source(kinds.DEPLOYMENT, self._wishes.requests),
            Source(kinds.REPLICA_SET, self._of_replica_set),
            Source(kinds.POD, self._of_lost_pod),
        )

    @staticmethod
    def _of_replica_set(event: WatchEvent) -> Sequence[Request]:
        return owners(event, "Deployment")

    def _of_lost_pod(self, event: WatchEvent) -> Sequence[Request]:
        """The end of the last old pod is what a Deployment that recreates waits for."""
        owner = controller_of(event.object) if event.type is EventType.DELETED else None
        if owner is None or owner["kind"] != "ReplicaSet":
            return ()
        replica_set = self._cache.get(kinds.REPLICA_SET, owner["name"], event.object["metadata"]["namespace"])
        if replica_set is None:
            return ()
        return owners(WatchEvent(event.type, kinds.REPLICA_SET, replica_set), "Deployment")

    def reconcile(self, request: Request) -> Result:
        deployment = self._cache.get(kinds.DEPLOYMENT, request.name, request.namespace)
        if deployment is None:
            return DONE
        owned = claim(self._kube, self._cache, kinds.REPLICA_SET, kinds.DEPLOYMENT, deployment)
        sets = sort(deployment, owned)
        conditions = Conditions(deployment, self._clock.now())
        if is_deleting(deployment):
            return self._write_status(deployment, sets, conditions, rolls=False)
        conditions.note_pause()
        paused = bool(deployment["spec"].get("paused"))
        found = sets.new is not None
        sets = self._sets.follow(deployment, sets)
        rolls = not (paused or _was_scaled(deployment, sets))
        if not rolls:
            sets = self._keep_proportions(deployment, sets)
        elif (deployment["spec"].get("strategy") or {}).get("type") == "Recreate":
            sets = self._recreate(deployment, sets)
        else:
            sets = self._roll(deployment, sets)
        if sets.new is not None:
            conditions.note_new_set(sets.new["metadata"]["name"], created=not found)
        if paused or is_complete(deployment, counts(deployment, sets)):
            self._sets.clean_up(deployment, sets)
        return self._write_status(deployment, sets, conditions, rolls=rolls)

    # Ways to update

    def _roll(self, deployment: RawObject, sets: Sets) -> Sets:
        wanted, allowed = size(deployment), limits(deployment)
        total = sum(map(size, sets.all))
        if sets.new is None:
            room = rollout.new_replicas(wanted, 0, total, allowed)
            sets = self._sets.create(deployment, sets, room)
            total += room
        assert sets.new is not None  # it was there or has just been made
        grown = rollout.new_replicas(wanted, size(sets.new), total, allowed)
        if grown != size(sets.new):
            return sets.resized([self._sets.scale(deployment, sets.new, grown)])
        if any(map(size, sets.old)):
            available = count(sets.new, "availableReplicas")
            surplus = rollout.surplus_of_old(wanted, total, grown, available, allowed)
            return self._shrink(deployment, sets, surplus, wanted - allowed.unavailable)
        return sets

    def _shrink(self, deployment: RawObject, sets: Sets, surplus: int, least: int) -> Sets:
        """Take pods off old sets: first those that are not available, then as many as may be missed."""
        sizes = {each["metadata"]["name"]: size(each) for each in sets.old}
        for each in sets.old:
            name = each["metadata"]["name"]
            unhealthy = max(size(each) - count(each, "availableReplicas"), 0)
            step = min(unhealthy, surplus)
            sizes[name] -= step
            surplus -= step
        spare = min(sum(count(each, "availableReplicas") for each in sets.all) - least, surplus)
        for each in sets.old:
            step = max(min(sizes[each["metadata"]["name"]], spare), 0)
            sizes[each["metadata"]["name"]] -= step
            spare -= step
        shrunk = [each for each in sets.old if sizes[each["metadata"]["name"]] != size(each)]
        return sets.resized([self._sets.scale(deployment, each, sizes[each["metadata"]["name"]]) for each in shrunk])

    def _recreate(self, deployment: RawObject, sets: Sets) -> Sets:
        """All old pods go before the first new one comes."""
        busy = [each for each in sets.old if size(each)]
        if busy:
            return sets.resized([self._sets.scale(deployment, each, 0) for each in busy])
        if self._has_pods(sets.old):
            return sets
        wanted = size(deployment)
        if sets.new is None:
            return self._sets.create(deployment, sets, wanted)
        return sets.resized([self._sets.scale(deployment, sets.new, wanted)])

    def _has_pods(self, old: Sequence[RawObject]) -> bool:
        return any(
            not is_finished(pod) for each in old for pod in self._cache.owned(kinds.POD, each["metadata"]["uid"])
        )

    # Another size

    def _keep_proportions(self, deployment: RawObject, sets: Sets) -> Sets:
        """Let the sets share a new size as they shared the old one; while paused that is all that happens."""
        wanted, active = size(deployment), sets.active
        if len(active) <= 1:
            one = active[0] if active else next(iter(sets.all[-1:]), None)
            if one is None:
                return sets
            return sets.resized([self._sets.scale(deployment, one, wanted)])
        if _is_saturated(sets.new, wanted):
            return sets.resized([self._sets.scale(deployment, each, 0) for each in sets.old if size(each)])
        if (deployment["spec"].get("strategy") or {}).get("type") == "Recreate":
            return sets
        at_most = int((deployment.get("status") or {}).get("replicas") or 0)
        shares = [
            rollout.Share(size(each), most_size(each) or at_most, each["metadata"]["creationTimestamp"])
            for each in active
        ]
        sizes = rollout.proportional(shares, wanted, limits(deployment).surge)
        return sets.resized([self._sets.scale(deployment, each, new) for each, new in zip(active, sizes, strict=True)])

    # Status

    def _write_status(self, deployment: RawObject, sets: Sets, conditions: Conditions, *, rolls: bool) -> Result:
        status = counts(deployment, sets)
        conditions.note_availability(status)
        after = conditions.note_progress(sets, status) if rolls else None
        write_status(
            self._kube, kinds.DEPLOYMENT, deployment, {**status, "conditions": conditions.all}, optional=tuple(status)
        )
        return DONE if after is None else Result(after)


def _was_scaled(deployment: RawObject, sets: Sets) -> bool:
    """Whether a set was sized for another size of the Deployment."""
    noted = (desired_size(each) for each in sets.active)
    return any(each is not None and each != size(deployment) for each in noted)


def _is_saturated(new: RawObject | None, wanted: int) -> bool:
    return new is not None and desired_size(new) == size(new) == count(new, "availableReplicas") == wanted
