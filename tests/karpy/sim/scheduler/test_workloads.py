from __future__ import annotations

from typing import Any

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.scheduler.workloads import WorkloadSelectors


def told(kind: Kind, name: str, selector: dict[str, Any], type_: EventType = EventType.ADDED) -> WatchEvent:
    return WatchEvent(type_, kind, {"metadata": {"name": name, "namespace": "d"}, "spec": {"selector": selector}})


def pod(owner: str = "", **labels: str) -> dict[str, Any]:
    references = [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}] if owner else []
    return {"metadata": {"name": "p", "namespace": "d", "labels": labels, "ownerReferences": references}}


def test_a_pod_that_belongs_to_nothing_is_not_spread() -> None:
    assert WorkloadSelectors().default_spreads(pod(app="x")) == ()


def test_a_pod_of_a_replica_set_is_spread_among_its_kind() -> None:
    known = WorkloadSelectors()
    known.take(told(kinds.REPLICA_SET, "rs", {"matchLabels": {"app": "x"}}))
    spreads = known.default_spreads(pod("rs", app="x"))
    assert [(each.topology_key, each.max_skew) for each in spreads] == [
        ("kubernetes.io/hostname", 3),
        ("topology.kubernetes.io/zone", 5),
    ]
    assert known.default_spreads(pod("rs", app="x")) is spreads


def test_service_and_owner_must_both_select() -> None:
    known = WorkloadSelectors()
    known.take(told(kinds.REPLICA_SET, "rs", {"matchLabels": {"app": "x"}}))
    known.take(told(kinds.SERVICE, "svc", {"tier": "f"}))
    selects = known.default_spreads(pod("rs", app="x", tier="f"))[0].selects
    assert selects is not None
    assert selects({"app": "x", "tier": "f"})
    assert not selects({"app": "x"})


def test_a_deleted_workload_selects_nothing() -> None:
    known = WorkloadSelectors()
    known.take(told(kinds.REPLICA_SET, "rs", {"matchLabels": {"app": "x"}}))
    known.take(told(kinds.REPLICA_SET, "rs", {}, EventType.DELETED))
    assert known.default_spreads(pod("rs", app="x")) == ()
