"""What can be done is done: pods that can run run, and what was learned is what is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karpy.cloud.routing import Clouds
from karpy.errors import KarpyError
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.nodeclaim import INITIALIZED
from karpy.scheduling.configured import solve_as_set
from karpy.settings import Settings
from karpy.sim.invariants.facts import Facts, Findings, condition
from karpy.state.catalogs import with_catalog
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["lives_bring_progress", "pods_run", "state_is_current"]

PLACED_S = 300.0
"""A machine is planned for within ten seconds, and has joined within two minutes."""
JOINS_S = 900.0 + 60.0
"""A machine that never joins is given up after a quarter of an hour, and one that joined and is not ready is waited for, too."""
RESTED_S = 60.0
IDLE_LIVES = 8
"""So many lives may end before they got to anything."""


def pods_run(facts: Facts) -> Findings:
    """Pods for which the API server's objects and the cloud leave room do not wait: karpy's own solver is the judge."""
    waiting = [pod for pod in facts.objects(kinds.POD) if _waits(pod)]
    if not waiting or not facts.processes:
        return
    due_s = JOINS_S if any(_is_coming(claim) for claim in facts.objects(kinds.NODE_CLAIM)) else PLACED_S
    late = [
        pod for pod in waiting if facts.lasting_s("pods_run", pod["metadata"]["uid"]) > due_s
    ]  # asked of all of them: what is not asked about is forgotten
    if not late or facts.now - facts.stormy_at <= due_s:
        return
    placeable = _placeable(facts)
    for pod in late:
        meta = pod["metadata"]
        where = placeable.get(meta["uid"])
        if where is not None:
            yield f"pods/{meta['namespace']}/{meta['name']}", f"has waited for {due_s:.0f} s, though {where}"


def _waits(pod: RawObject) -> bool:
    spec = pod["spec"]
    return not (spec.get("nodeName") or spec.get("schedulingGates") or "deletionTimestamp" in pod["metadata"])


def _is_coming(claim: RawObject) -> bool:
    return condition(claim, INITIALIZED) is None


def _placeable(facts: Facts) -> Mapping[str, str]:
    """The pods (by uid) that have a place, or would get a machine, if everything were planned anew; and where."""
    clouds, settings = Clouds((facts.site.provider,)), Settings()
    try:
        snapshot, catalog = with_catalog(_as_listed(facts, clouds).snapshot(), clouds, settings)
        plan = solve_as_set(settings, snapshot, catalog)
    except KarpyError:
        return {}
    uids = {pod.key: pod.metadata.uid for pod in snapshot.to_place}
    found = {uids[key]: f"{each.pool.name} could launch a machine" for each in plan.launches for key in each.pods}
    found |= {uids[key]: f"there is room on {each.node}" for each in plan.nominations for key in each.pods}
    return found


def _as_listed(facts: Facts, clouds: Clouds, only: Iterable[Any] = ClusterState.KINDS) -> ClusterState:
    """The state of a process that starts now."""
    wanted = (*only, *(kind for kind in clouds.kinds if kind not in only))
    objects = (
        {"apiVersion": kind.api_version, "kind": kind.kind, **obj} for kind in wanted for obj in facts.objects(kind)
    )
    return ClusterState.of(objects, clouds.kinds)


def lives_bring_progress(facts: Facts) -> Findings:
    """A process that dies again and again while pods wait gets a little further in each few of its lives."""
    waiting = [pod for pod in facts.objects(kinds.POD) if _waits(pod)]
    for process in facts.processes:
        idle = facts.idle_lives(process.name, process.lives)
        if waiting and idle > IDLE_LIVES:
            yield (
                process.name,
                f"started {idle} times without a machine more or a pod less that waits ({len(waiting)} do)",
            )


def state_is_current(facts: Facts) -> Findings:
    """When the cluster has come to rest, what a process knows is what one would know that starts now."""
    if facts.now - facts.last_written[1] < RESTED_S or facts.now - facts.stormy_at < RESTED_S:
        return
    for process in facts.processes:
        state = getattr(process.running, "state", None)
        if not isinstance(state, ClusterState):
            continue
        snapshot = state.snapshot()
        if not facts.is_news("state", process.name, (facts.last_written[0], process.lives, snapshot.version)):
            continue
        clouds = Clouds((facts.site.provider,))
        kinds_fed = process.running.kinds  # type: ignore[union-attr]
        fresh = _picture(_as_listed(facts, clouds, kinds_fed).snapshot())
        known = _picture(snapshot)
        for key in sorted(fresh.keys() | known.keys()):
            if fresh.get(key) != known.get(key):
                yield key, f"is {known.get(key, 'unknown')} to {process.name}, but {fresh.get(key, 'gone')}"


def _picture(snapshot: Snapshot) -> dict[str, str]:
    """What decisions rest on, in words."""
    words = {f"nodes/{view.name}": _view(view) for view in snapshot.nodes}
    words |= {f"pods/{pod.key}": f"pending with uid {pod.metadata.uid}" for pod in snapshot.pending}
    words |= {f"nodepools/{pool.name}": f"at version {pool.metadata.resource_version}" for pool in snapshot.pools}
    words |= {f"daemonsets/{each.metadata.key}": f"with uid {each.metadata.uid}" for each in snapshot.daemon_sets}
    words |= {
        f"budgets/{each.metadata.key}": f"allowing {each.status.disruptions_allowed}" for each in snapshot.budgets
    }
    words |= {f"namespaces/{name}": str(sorted(labels.items())) for name, labels in snapshot.namespaces.items()}
    return words


def _view(view: NodeView) -> str:
    node, claim = view.node, view.claim
    versions = (
        f"node at version {node.metadata.resource_version}" if node is not None else "no node",
        f"claim {claim.name} at version {claim.metadata.resource_version}" if claim is not None else "no claim",
    )
    pods = ", ".join(sorted(pod.key for pod in view.pods)) or "no pods"
    return f"{' and '.join(versions)} with {pods}"
