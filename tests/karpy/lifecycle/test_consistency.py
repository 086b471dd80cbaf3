from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.consistency import consistency, shortfalls
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing import make_machine

PROMISED = {"cpu": "8", "memory": "128Gi", "pods": "110"}


def short(capacity: dict[str, str], *, requests: dict[str, str] | None = None, **claim: Any) -> tuple[str, ...]:
    """What a machine lacks that was bought with `PROMISED`, and reports this capacity."""
    asked = {"cpu": "1", "memory": "1Gi"} if requests is None else requests
    owned, node = make_machine("m", room=PROMISED, spec={"resources": {"requests": asked}}, **claim)
    node["status"]["capacity"] = capacity
    return shortfalls(NodeClaim.from_dict(owned), Node.from_dict(node))


@pytest.mark.core("CORE-686")
def test_a_node_with_less_than_nine_tenths_of_what_was_bought_is_told_with_amounts() -> None:
    found = short({"cpu": "8", "memory": "64Gi", "pods": "110"})
    assert found == ("expected 128Gi of resource memory, but found 64Gi (50.0% of expected)",)


@pytest.mark.core("CORE-686")
def test_nine_tenths_are_enough() -> None:
    assert short({"cpu": "7200m", "memory": "128Gi"}) == ()
    assert len(short({"cpu": "7199m", "memory": "128Gi"})) == 1


def test_a_resource_that_is_not_reported_at_all_lacks_wholly() -> None:
    assert short({"cpu": "8"}) == ("expected 128Gi of resource memory, but found 0 (0.0% of expected)",)


def test_what_was_not_asked_for_does_not_matter() -> None:
    assert short({"cpu": "8", "memory": "1Gi"}, requests={"cpu": "1", "memory": "0"}) == ()


@pytest.mark.parametrize(
    "claim",
    [{"reached": ("Launched", "Registered")}, {"metadata": {"deletionTimestamp": "2026-01-05T09:00:00Z"}}],
    ids=["not initialized", "being deleted"],
)
def test_a_machine_that_comes_or_goes_is_not_measured(claim: dict[str, Any]) -> None:
    assert short({}, **claim) == ()


def test_the_claim_says_what_was_found() -> None:
    bad, good = consistency(["something"]), consistency(())
    assert (bad.status, bad.reason, bad.message) == ("False", "ConsistencyCheckFailed", "Consistency Check Failed")
    assert (good.status, good.reason, good.message) == ("True", "ConsistentStateFound", "")
