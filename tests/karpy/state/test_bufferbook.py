from __future__ import annotations

from typing import Any

import pytest

from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.buffers import Resolved, Unresolved
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import make_buffer, make_nodepool, make_pod_template, make_workload

KINDS = {kind.kind: kind for kind in ClusterState.BUFFER_KINDS}


def tell(state: ClusterState, obj: dict[str, Any], event: EventType = EventType.MODIFIED) -> Snapshot:
    state.apply(WatchEvent(event, KINDS[obj["kind"]], obj))
    return state.snapshot()


def count(snapshot: Snapshot) -> int:
    return len(snapshot.headroom)


@pytest.fixture
def state() -> ClusterState:
    return ClusterState.of([make_pod_template("chunk"), make_buffer("b", template="chunk", replicas=2)])


@pytest.mark.core("CORE-458")
def test_a_template_that_changes_is_looked_at_anew(state: ClusterState) -> None:
    before = state.snapshot()
    after = tell(state, make_pod_template("chunk", generation=2, requests={"cpu": "3"}))
    assert [pod.requests.get("cpu", 0) for pod in before.headroom] == [0, 0]
    assert [pod.requests.get("cpu", 0) for pod in after.headroom] == [3000, 3000]
    outcome = after.buffers[0].outcome
    assert isinstance(outcome, Resolved)
    assert outcome.pod_template is not None
    assert outcome.pod_template.generation == 2


def test_the_order_in_which_things_come_does_not_matter() -> None:
    state = ClusterState()
    assert isinstance(tell(state, make_buffer(workload="web", percentage=50)).buffers[0].outcome, Unresolved)
    assert count(tell(state, make_workload(replicas=4))) == 2
    assert count(tell(state, make_workload(replicas=10))) == 5
    assert isinstance(tell(state, make_workload(), EventType.DELETED).buffers[0].outcome, Unresolved)


def test_a_buffer_that_changes_or_goes_takes_its_pods_along(state: ClusterState) -> None:
    assert count(state.snapshot()) == 2
    buffer = make_buffer("b", template="chunk", replicas=5)
    assert count(tell(state, buffer)) == 5
    assert tell(state, buffer, EventType.DELETED).buffers == ()
    assert count(tell(state, buffer, EventType.ADDED)) == 5


def test_buffers_come_by_name_and_the_namespace_belongs_to_it() -> None:
    buffers = [make_buffer("same", template="chunk", replicas=1, namespace=name) for name in ("b", "a")]
    templates = [make_pod_template("chunk", namespace=name) for name in ("a", "b")]
    assert [view.key for view in Snapshot.from_objects([*buffers, *templates]).buffers] == ["a/same", "b/same"]


def test_views_of_what_did_not_change_are_shared(state: ClusterState) -> None:
    before = state.snapshot()
    after = tell(state, make_workload("unrelated"))
    assert after is not before
    assert after.buffers[0] is before.buffers[0]


def test_a_cluster_without_buffers_has_none() -> None:
    snapshot = Snapshot.from_objects([make_nodepool(), make_workload(), make_pod_template()])
    assert snapshot.buffers == ()
    assert snapshot.headroom == ()
