"""Pools with canaries try new nodes on a few before the others drift away, and say how that goes."""

from __future__ import annotations

from typing import Any

from karpy.disruption.driftmodes import WAVE
from karpy.objects import kinds
from tests.karpy.controllers.stage import Stage, apps, pool

NEW = {"spec": {"template": {"metadata": {"labels": {"generation": "2"}}}}}
NEWER = {"spec": {"template": {"metadata": {"labels": {"generation": "3"}}}}}
CANARY = {"drift-mode": "Canary", "drift-canaries": "1", "drift-bake": "20m"}


def drifting(nodes: int = 3, **rules: str) -> Stage:
    """So many nodes, each full, of a pool that has just been given another template."""
    made = pool()
    made["metadata"]["annotations"] = {f"karpy.dev/{key}": value for key, value in rules.items()}
    made["spec"]["disruption"] |= {"consolidateAfter": "Never", "budgets": [{"nodes": "100%"}]}
    stage = Stage(made)
    stage.world.apply([apps("a", nodes, cpu="28")])
    stage.until(lambda: stage.running("a") == nodes)
    stage.run(30)
    stage.api.patch(kinds.NODE_POOL, "default", NEW)
    return stage


def of_generation(stage: Stage, generation: str) -> list[str]:
    found = ((claim["metadata"]["name"], claim["metadata"]["labels"]) for claim in stage.claims)
    return [name for name, labels in found if labels.get("generation") == generation]


def canaries(stage: Stage) -> tuple[str, str]:
    """What the pool says of them."""
    said = stage.api.get(kinds.NODE_POOL, "default")["status"]["conditions"]
    found = next((each for each in said if each["type"] == "DriftCanariesWell"), {"status": "", "reason": ""})
    return found["status"], found["reason"]


def events(stage: Stage) -> list[str]:
    return [each["reason"] for each in stage.all(kinds.EVENT) if each["involvedObject"]["kind"] == "NodePool"]


def wave(stage: Stage) -> Any:
    return (stage.api.get(kinds.NODE_POOL, "default")["metadata"].get("annotations") or {}).get(WAVE)


def test_the_others_follow_when_a_canary_has_done_well_for_long_enough() -> None:
    stage = drifting(**CANARY)
    stage.until(lambda: len(of_generation(stage, "2")) == 1)
    stage.run(15 * 60)
    assert len(of_generation(stage, "2")) == 1
    assert canaries(stage) == ("Unknown", "Baking")
    stage.until(lambda: canaries(stage) == ("True", "Passed"))
    assert "DriftCanariesWell" in events(stage)
    stage.until(lambda: len(of_generation(stage, "2")) == len(stage.claims) == 3)
    stage.until(lambda: canaries(stage) == ("", ""))
    assert wave(stage) is None
    assert stage.running("a") == 3


def test_a_canary_that_does_not_come_stops_it() -> None:
    stage = drifting(**CANARY)
    stage.cloud.launch_stillborn(100)
    stage.until(lambda: canaries(stage) == ("False", "Failed"), 3600)
    stage.run(60)
    assert events(stage).count("DriftStopped") == 1
    begun = len(stage.decisions)
    stage.run(6 * 3600)
    assert len(stage.decisions) == begun
    assert (stage.running("a"), len(stage.claims)) == (3, 3)


def test_a_change_of_the_pool_begins_anew() -> None:
    stage = drifting(**CANARY)
    stage.cloud.launch_stillborn(1)
    stage.until(lambda: canaries(stage) == ("False", "Failed"), 3600)
    stage.api.patch(kinds.NODE_POOL, "default", NEWER)
    stage.until(lambda: len(of_generation(stage, "3")) == 1)
    stage.until(lambda: canaries(stage) == ("True", "Passed"), 3600)
    stage.until(lambda: len(of_generation(stage, "3")) == len(stage.claims) == 3, 3600)
    assert of_generation(stage, "2") == []
    assert stage.running("a") == 3


def test_who_begins_anew_takes_no_more_canaries() -> None:
    stage = drifting(**CANARY)
    stage.until(lambda: len(of_generation(stage, "2")) == 1)
    stage.start()
    stage.run(15 * 60)
    assert len(of_generation(stage, "2")) == 1


def test_in_mode_report_nothing_is_replaced() -> None:
    stage = drifting(2, **{"drift-mode": "Report"})
    stage.run(3600)
    assert of_generation(stage, "2") == []
    drifted = [each["status"]["conditions"] for each in stage.claims]
    assert all(any(line["type"] == "Drifted" and line["status"] == "True" for line in lines) for lines in drifted)
    told, _form = stage.metrics.text()
    assert b'karpy_nodepools_drifted_nodes{mode="Report",nodepool="default"} 2.0' in told


def test_without_a_mode_all_are_replaced() -> None:
    stage = drifting(2)
    stage.until(lambda: len(of_generation(stage, "2")) == len(stage.claims) == 2)
    assert wave(stage) is None
    assert canaries(stage) == ("", "")
