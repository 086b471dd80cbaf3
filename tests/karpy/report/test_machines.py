from __future__ import annotations

from typing import Any

from karpy.lifecycle.states import State
from karpy.objects.kinds import NODE_CLAIM
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.report.happening import Happening, What
from karpy.report.machines import MachineLedger


def claim(*conditions: str, provider_id: str = "", deleting: bool = False) -> dict[str, Any]:
    labels = {"karpenter.sh/nodepool": "default"}
    if provider_id:
        labels |= {
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.kubernetes.io/zone": "z1",
            "karpenter.sh/capacity-type": "spot",
        }
    metadata: dict[str, Any] = {"name": "default-1", "labels": labels, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T01:00:00Z"
    status: dict[str, Any] = {"conditions": [{"type": type_, "status": "True"} for type_ in conditions]}
    if provider_id:
        status |= {"providerID": provider_id, "nodeName": "n1"}
    return {"metadata": metadata, "spec": {}, "status": status}


def played(ledger: MachineLedger, *objects: dict[str, Any]) -> list[Happening]:
    events = [WatchEvent(EventType.MODIFIED, NODE_CLAIM, obj) for obj in objects]
    return [told for event in events if (told := ledger.take(event, 1.0)) is not None]


def test_a_claim_is_told_of_when_it_comes_to_another_state() -> None:
    ledger = MachineLedger({"id-1": 0.05}.get)
    story = played(
        ledger,
        claim(),
        claim(),
        claim("Launched", provider_id="id-1"),
        claim("Launched", "Registered", provider_id="id-1"),
        claim("Launched", "Registered", "Initialized", provider_id="id-1"),
        claim("Launched", "Registered", "Initialized", provider_id="id-1", deleting=True),
    )
    assert [each.what for each in story] == [
        What.CLAIM_CREATED,
        What.CLAIM_LAUNCHED,
        What.NODE_JOINED,
        What.NODE_READY,
        What.NODE_DRAINING,
    ]
    assert story[1].text == "default-1 is m5.large spot in z1 at $0.0500/h"


def test_the_machine_keeps_its_price_when_the_cloud_has_forgotten_it() -> None:
    prices = {"id-1": 0.05}
    ledger = MachineLedger(prices.get)
    played(ledger, claim("Launched", provider_id="id-1"))
    prices.clear()
    played(ledger, claim("Launched", "Registered", provider_id="id-1"))
    (machine,) = ledger.machines
    assert (machine.price, machine.state) == (0.05, State.REGISTERED)


def test_a_claim_that_never_had_a_machine_is_told_as_given_up() -> None:
    ledger = MachineLedger({}.get)
    played(ledger, claim())
    told = ledger.take(WatchEvent(EventType.DELETED, NODE_CLAIM, claim(deleting=True)), 2.0)
    assert told is not None
    assert told.what is What.CLAIM_GONE
    assert "given up" in told.text
    assert ledger.machines == ()
