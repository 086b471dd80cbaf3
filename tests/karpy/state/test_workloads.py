from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import OwnerReference
from karpy.objects.selectors import LabelSelector
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.state.workloads import Selectors, Services

Json = dict[str, Any]
WEB = {"app": "web"}
OWNER = OwnerReference("ReplicaSet", "web", "uid", "apps/v1", True)


def selecting(selector: Any, *, kind: Kind = kinds.REPLICA_SET, name: str = "web", status: int = 0) -> Json:
    metadata = {"name": name, "namespace": "default", "resourceVersion": str(status)}
    spec = {"replicas": 3, "selector": selector}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": spec,
        "status": {"n": status},
    }


def taken(*selectors: Any, kind: Kind = kinds.REPLICA_SET) -> Selectors:
    held = Selectors()
    for number, selector in enumerate(selectors):
        held.take(kind, f"default/{kind.kind}-{number}", selecting(selector, kind=kind))
    return held


# What is known


def test_a_workload_is_found_by_kind_namespace_and_name() -> None:
    held = Selectors()
    held.take(kinds.REPLICA_SET, "default/web", selecting({"matchLabels": WEB}))
    found = held.picture()
    assert found.selector_of("default", OWNER) == LabelSelector(WEB)
    assert found.selector_of("other", OWNER) is None
    assert found.selector_of("default", OwnerReference("StatefulSet", "web", "uid", "apps/v1", True)) is None
    assert found.selector_of("default", OwnerReference("ReplicaSet", "web", "uid", "acme.com/v1", True)) is None


def test_an_object_that_is_gone_is_forgotten() -> None:
    held = Selectors()
    for kind in (kinds.REPLICA_SET, kinds.SERVICE):
        held.take(kind, "default/web", selecting({"matchLabels": WEB} if kind == kinds.REPLICA_SET else WEB, kind=kind))
        held.take(kind, "default/web", None)
    found = held.picture()
    assert found.selector_of("default", OWNER) is None
    assert found.service_labels("default", WEB) == {}
    held.take(kinds.SERVICE, "default/never-was", None)


def test_services_are_found_by_any_of_their_labels() -> None:
    services = Services([{"app": "web", "tier": "front"}, {"tier": "front"}, {"app": "db"}, {}])
    assert services.labels_for({"app": "web"}) == {}
    assert services.labels_for({"app": "db", "tier": "front"}) == {"app": "db", "tier": "front"}
    assert services.labels_for({"app": "web", "tier": "front", "x": "y"}) == {"app": "web", "tier": "front"}


# What it costs


def test_news_that_are_not_about_the_selector_change_nothing() -> None:
    held = taken({"matchLabels": WEB})
    before = held.picture()
    held.take(kinds.REPLICA_SET, "default/ReplicaSet-0", selecting({"matchLabels": WEB}, status=7))
    assert held.picture() is before


def test_a_new_selector_leaves_older_pictures_as_they_are_and_shares_the_rest() -> None:
    held = taken(WEB, kind=kinds.SERVICE)
    held.take(kinds.REPLICA_SET, "default/web", selecting({"matchLabels": WEB}))
    before = held.picture()
    held.take(kinds.REPLICA_SET, "default/web", selecting({"matchLabels": {"app": "new"}}))
    after = held.picture()
    assert before.selector_of("default", OWNER) == LabelSelector(WEB)
    assert after.selector_of("default", OWNER) == LabelSelector({"app": "new"})
    assert after.services["default"] is before.services["default"]


# As part of the cluster


def test_snapshots_share_the_picture_of_the_workloads() -> None:
    state = ClusterState.of([selecting({"matchLabels": WEB}), selecting(WEB, kind=kinds.SERVICE)])
    before = state.snapshot()
    state.apply(WatchEvent(EventType.MODIFIED, kinds.REPLICA_SET, selecting({"matchLabels": WEB}, status=1)))
    assert state.snapshot() is not before
    assert state.snapshot().workloads is before.workloads
    assert before.workloads.service_labels("default", WEB) == WEB


@pytest.mark.parametrize("kind", [kinds.SERVICE, kinds.REPLICA_SET, kinds.STATEFUL_SET, kinds.REPLICATION_CONTROLLER])
def test_an_object_that_cannot_be_read_stops_no_other(kind: Kind) -> None:
    state = ClusterState()
    for name, selector in (("bad", 3), ("good", None)):
        state.apply(WatchEvent(EventType.ADDED, kind, selecting(selector, kind=kind, name=name)))
    (error,) = state.unreadable.values()
    assert isinstance(error, InvalidObject)
    assert "spec.selector" in str(error)
    assert f"{kind.kind}/default/bad" in str(error)
