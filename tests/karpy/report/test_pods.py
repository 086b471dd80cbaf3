from __future__ import annotations

from typing import Any

import pytest

from karpy.objects.kinds import POD
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.report.happening import Happening, What
from karpy.report.pods import PodLedger


def event(name: str, node: str = "", phase: str = "Pending", type_: EventType = EventType.MODIFIED) -> WatchEvent:
    pod: dict[str, Any] = {"metadata": {"name": name, "namespace": "default"}, "spec": {}, "status": {"phase": phase}}
    if node:
        pod["spec"]["nodeName"] = node
    return WatchEvent(type_, POD, pod)


@pytest.fixture
def ledger() -> PodLedger:
    return PodLedger()


def told(ledger: PodLedger) -> list[Happening]:
    return [*ledger.changes(1.0), *ledger.started(1.0)]


def test_pods_are_counted_by_how_far_they_are(ledger: PodLedger) -> None:
    for each in (event("a"), event("b", "n1"), event("c", "n1", "Running"), event("d", "n1", "Succeeded")):
        ledger.take(each)
    assert (ledger.pending, ledger.starting, ledger.running, ledger.on_node("n1")) == (1, 1, 1, 2)


def test_pods_that_move_together_are_told_in_one_line(ledger: PodLedger) -> None:
    for name in "dcba":
        ledger.take(event(name))
    (happening,) = told(ledger)
    assert happening.what is What.PODS_PENDING
    assert happening.text == "4 pods waiting for a node"
    assert happening.fields == {"count": 4, "pods": ["default/a", "default/b", "default/c", "default/d"]}


def test_bound_pods_are_told_node_by_node(ledger: PodLedger) -> None:
    for name, node in (("a", "n2"), ("b", "n1"), ("c", "n2")):
        ledger.take(event(name, node))
    assert [(each.fields["node"], each.fields["count"]) for each in told(ledger)] == [("n1", 1), ("n2", 2)]


def test_only_the_last_stage_of_an_instant_is_told(ledger: PodLedger) -> None:
    for each in (event("a"), event("a", "n1"), event("a", "n1", "Running")):
        assert ledger.take(each)
    assert [each.what for each in told(ledger)] == [What.PODS_RUNNING]
    assert told(ledger) == []


def test_events_that_change_nothing_are_not_told(ledger: PodLedger) -> None:
    ledger.take(event("a"))
    told(ledger)
    assert not ledger.take(event("a"))
    assert told(ledger) == []


def test_a_pod_is_gone_when_it_is_deleted_or_has_finished(ledger: PodLedger) -> None:
    for each in (event("a", "n1", "Running"), event("b", "n1", "Running")):
        ledger.take(each)
    told(ledger)
    ledger.take(event("a", "n1", "Running", EventType.DELETED))
    ledger.take(event("b", "n1", "Succeeded"))
    ledger.take(event("b", "n1", "Succeeded", EventType.DELETED))
    (happening,) = told(ledger)
    assert happening.text == "2 pods (a, b) gone"
    assert (ledger.running, ledger.on_node("n1")) == (0, 0)
