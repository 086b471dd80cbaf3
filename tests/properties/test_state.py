"""Whatever way the cluster came to be what it is, the state must show what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from karpy.objects.lists import read_objects
from karpy.objects.meta import OwnerReference
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_claim, make_daemon_set, make_node, make_nodepool, make_overlay, make_pod

Json = dict[str, Any]

KINDS = {kind.kind: kind for kind in ClusterState.KINDS}
PROVIDER_IDS = ("", "test:///x", "test:///y")
APART = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
            ]
        }
    }
}
NAMES = st.sampled_from(("a", "b"))


def _node(name: str, provider_id: str, cpu: str) -> Json:
    return make_node(name, provider_id=provider_id, room={"cpu": cpu})


def _claim(name: str, provider_id: str, reached: int, leaving: bool) -> Json:
    claim = make_claim(name, reached=("Launched", "Registered", "Initialized")[:reached])
    claim["status"]["providerID"] = provider_id
    if leaving:
        claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return claim


def _pod(name: str, node: str, cpu: str, phase: str, owner: str, app: str) -> Json:
    return make_pod(
        name,
        node=node,
        requests={"cpu": cpu},
        labels={"app": app},
        owner=owner,
        spec=APART if app == "apart" else None,
        status={"phase": phase} if phase else None,
    )


def _plain(kind: str, name: str, **more: Any) -> Json:
    return {"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": {"name": name}, **more}


def _selecting(name: str, kind: str, app: str | None) -> Json:
    """A service or workload; ``app`` None is a selector that cannot be read, no text is none."""
    metadata = {"name": name, "namespace": "default"}
    labels: Any = {"app": app} if app else None
    selector = labels if kind == "Service" or not app else {"matchLabels": labels}
    return {"kind": kind, "metadata": metadata, "spec": {"selector": 3 if app is None else selector}}


CPU = st.sampled_from(("1", "2", "many"))  # the last cannot be read
OBJECTS = st.one_of(
    st.builds(_node, NAMES, st.sampled_from(PROVIDER_IDS), CPU),
    st.builds(_claim, NAMES, st.sampled_from(PROVIDER_IDS), st.integers(0, 3), st.booleans()),
    st.builds(
        _pod,
        st.sampled_from(("p", "q", "r")),
        st.sampled_from(("", "a", "b", "c")),
        CPU,
        st.sampled_from(("", "Failed")),
        st.sampled_from(("ReplicaSet", "DaemonSet")),
        st.sampled_from(("a", "apart")),
    ),
    st.builds(_plain, st.sampled_from(("PersistentVolumeClaim", "PodDisruptionBudget", "Namespace")), NAMES),
    st.builds(
        lambda name, count: _plain(
            "CSINode", name, spec={"drivers": [{"name": "disk", "allocatable": {"count": count}}]}
        ),
        NAMES,
        st.integers(0, 2),
    ),
    st.builds(lambda name, cpu: make_nodepool(name, limits={"cpu": cpu}), NAMES, CPU),
    st.builds(lambda name, price: make_overlay(name, price=price), NAMES, st.sampled_from(("1", "2", "cheap"))),
    st.builds(lambda name, cpu: make_daemon_set(name, requests={"cpu": cpu}), NAMES, CPU),
    st.builds(_selecting, NAMES, st.sampled_from(("Service", "ReplicaSet")), st.sampled_from(("x", "y", "", None))),
)
EVENTS = st.tuples(st.sampled_from(tuple(EventType)), OBJECTS, st.booleans(), st.booleans())


@given(st.lists(EVENTS, max_size=30))
def test_any_story_ends_in_the_state_of_its_last_page(story: list[tuple[EventType, Json, bool, bool]]) -> None:
    """Every picture taken on the way keeps showing its own page, and what is remembered from it never shows later."""
    state = ClusterState()
    last: dict[tuple[str, str], Json] = {}
    pictures = []
    for type_, obj, look, decoded in story:
        (found,) = read_objects(json.dumps(obj).encode())
        state.apply(WatchEvent(type_, KINDS[obj["kind"]], found.object if decoded else obj))
        key = (obj["kind"], obj["metadata"]["name"])
        if type_ is EventType.DELETED:
            last.pop(key, None)
        else:
            last[key] = obj
        if look:
            pictures.append((state.snapshot(), dict(last)))
    pictures.append((state.snapshot(), last))

    for snapshot, page in pictures:
        fresh = ClusterState()
        for key in sorted(page):
            fresh.apply(WatchEvent(EventType.ADDED, KINDS[key[0]], page[key]))
        assert _told(snapshot) == _told(fresh.snapshot())
    assert set(state.unreadable) == set(fresh.unreadable)


def _told(snapshot: Snapshot) -> Mapping[str, Any]:
    return {
        "leaving": [view.name for view in snapshot.nodes.leaving],
        "to place": [pod.key for pod in snapshot.to_place],
        "budgets": [budget.metadata.name for budget in snapshot.budgets],
        "namespaces": dict(snapshot.namespaces),
        "volumes": (dict(snapshot.storage.claims), dict(snapshot.storage.limits)),
        "found": {view.name: snapshot.node(view.name) is not None for view in snapshot.nodes},
        "nodes": [_view(view) for view in snapshot.nodes],
        "pending": [pod.key for pod in snapshot.pending],
        "pools": [(pool.name, pool.limits) for pool in snapshot.pools],
        "invalid": sorted(pool.name for pool in snapshot.invalid_pools),
        "overlays": snapshot.overlays,
        "daemons": [daemon_set.metadata.name for daemon_set in snapshot.daemon_sets],
        "services": [snapshot.workloads.service_labels("default", {"app": app}) for app in "xy"],
        "owners": [
            snapshot.workloads.selector_of("default", OwnerReference("ReplicaSet", name, "", "apps/v1"))
            for name in "ab"
        ],
    }


def _view(view: NodeView) -> tuple[Any, ...]:
    parts = (view.claim.name if view.claim else None, view.node.name if view.node else None)
    pods = sorted(pod.key for pod in view.pods)
    amounts = (view.allocatable, view.used, view.daemon_used, view.available)
    around = (dict(view.pod_groups), sorted(pod.key for pod in view.keeping_apart))
    return (view.name, view.is_initialized, view.is_leaving, parts, pods, amounts, around)
