"""A machine that is smaller than what was bought is told on its claim."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps


def shrink(stage: Stage, memory: str) -> None:
    (node,) = stage.names(kinds.NODE)
    stage.api.patch(kinds.NODE, node, {"status": {"capacity": {"memory": memory}}}, subresource="status")


def said(stage: Stage) -> tuple[str, str]:
    (claim,) = stage.claims
    found = next(each for each in claim["status"]["conditions"] if each["type"] == "ConsistentStateFound")
    return found["status"], found["reason"]


def told(stage: Stage) -> list[Any]:
    return [event for event in stage.all(kinds.EVENT) if event["reason"] == "FailedConsistencyCheck"]


@pytest.mark.core("CORE-686")
def test_a_node_that_lost_memory_is_told_within_ten_minutes_and_forgiven_when_it_has_it_again() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    whole = stage.nodes[0]["status"]["capacity"]["memory"]
    assert said(stage) == ("True", "ConsistentStateFound")
    shrink(stage, "1Gi")
    stage.run(600)
    assert said(stage) == ("False", "ConsistencyCheckFailed")
    event = told(stage)[0]
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", name)
    assert event["message"].startswith(f"expected {whole} of resource memory, but found 1Gi (")
    assert {each["type"]: each["status"] for each in stage.claims[0]["status"]["conditions"]}["Ready"] == "True"
    shrink(stage, whole)
    stage.run(600)
    assert said(stage) == ("True", "ConsistentStateFound")


@pytest.mark.core("CORE-686")
def test_after_a_restart_every_claim_is_looked_at_again() -> None:
    stage = Stage()
    stage.grown(apps("a", 1))
    shrink(stage, "1Gi")
    stage.run(60)
    assert told(stage) == []
    stage.start()
    stage.run(1)
    assert said(stage) == ("False", "ConsistencyCheckFailed")


def test_a_claim_that_stays_as_it_is_is_not_written() -> None:
    stage = Stage()
    stage.grown(apps("a", 1))
    stage.run(120)
    before = stage.claims[0]["metadata"]["resourceVersion"]
    stage.run(1800)
    assert stage.claims[0]["metadata"]["resourceVersion"] == before
