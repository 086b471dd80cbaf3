"""The live cluster of a kubeconfig as a situation to plan for."""

from __future__ import annotations

import time
from pathlib import Path

import attrs

from karpy.kube.reading import ClusterReader
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scenarios.offline import offline_clouds, situation_in
from karpy.scenarios.situation import Situation
from karpy.settings import Settings
from karpy.state.cluster import ClusterState

__all__ = ["live_situation"]


def live_situation(kubeconfig: Path | None, settings: Settings) -> Situation:
    """Everything that matters in the cluster, read once. What cannot be read is named in the notes and left out.

    Raises:
        InvalidObject: there is no usable kubeconfig.
        KubeError: the cluster does not answer.
    """
    reader, clouds = ClusterReader(kubeconfig), offline_clouds()
    state = ClusterState(clouds.kinds)
    by_name = {
        (kind.group, kind.kind): kind for kind in (*ClusterState.KINDS, *ClusterState.BUFFER_KINDS, *clouds.kinds)
    }
    for obj in reader.read(by_name.values()):
        kind = by_name[obj["apiVersion"].rpartition("/")[0], obj["kind"]]
        state.apply(WatchEvent(EventType.ADDED, kind, obj))
    snapshot = state.snapshot()
    situation = situation_in(snapshot, clouds, name="", now=time.time(), settings=settings, pods=state.pods())
    broken = [*state.unreadable.values(), *(pool.error for pool in snapshot.invalid_pools)]
    notes = (
        f"{reader.server}: instance types and prices are those that karpy ships with, not the account's",
        *(f"left out: {error}" for error in broken),
    )
    return attrs.evolve(situation, notes=(*notes, *situation.notes))
