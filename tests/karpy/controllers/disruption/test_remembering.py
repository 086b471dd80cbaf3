"""What is remembered of commands stands on claims, so that a restart forgets none of it."""

from __future__ import annotations

import json
from typing import Any

from karpy.disruption.command import Command
from karpy.disruption.memory import FAILURE, PREDECESSORS
from karpy.errors import InsufficientCapacity
from karpy.objects import kinds
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, apps, conditions, pool, taint_keys

ON = Settings(churn_control="on")


def annotations(stage: Stage, claim: str) -> dict[str, str]:
    found: dict[str, str] = stage.api.get(kinds.NODE_CLAIM, claim)["metadata"].get("annotations") or {}
    return found


def oversized(stage: Stage) -> str:
    """One machine for four pods, three of which go: a smaller one would do."""
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    return name


def commands(stage: Stage) -> list[Command]:
    return [decision for _, decision in stage.decisions if isinstance(decision, Command)]


def short_of_machines(stage: Stage) -> None:
    stage.cloud.fail_launches(*(InsufficientCapacity("none left") for _ in range(100)))


def test_a_replacement_remembers_whose_place_it_took() -> None:
    stage = Stage(settings=ON)
    old = oversized(stage)
    was = stage.api.get(kinds.NODE_CLAIM, old)["metadata"]["labels"]
    stage.until(lambda: bool(stage.claims) and old not in stage.names(kinds.NODE_CLAIM))
    (new,) = stage.names(kinds.NODE_CLAIM)
    (before,) = json.loads(annotations(stage, new)[PREDECESSORS])
    assert before["instanceType"] == was["node.kubernetes.io/instance-type"]
    assert before["capacityType"] == was["karpenter.sh/capacity-type"]


def test_without_churn_control_nothing_is_written() -> None:
    stage = Stage()
    old = oversized(stage)
    stage.until(lambda: bool(stage.claims) and old not in stage.names(kinds.NODE_CLAIM))
    (new,) = stage.names(kinds.NODE_CLAIM)
    assert PREDECESSORS not in annotations(stage, new)
    failing = Stage()
    old = oversized(failing)
    short_of_machines(failing)
    failing.until(lambda: len(commands(failing)) > 1)
    assert FAILURE not in annotations(failing, old)


def test_a_failure_is_noted_before_the_node_is_for_pods_again() -> None:
    stage = Stage(settings=ON)
    old = oversized(stage)
    short_of_machines(stage)
    seen: list[bool] = []

    def note(real: Any, kind: Any, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE and body.get("spec", {}).get("taints") == []:
            seen.append(FAILURE in annotations(stage, old))
        return real(kind, name, body, *rest, **more)

    stage.kube.through("patch", note)
    stage.until(lambda: FAILURE in annotations(stage, old))
    stage.run(5)
    assert seen == [True]
    assert taint_keys(stage.api.get(kinds.NODE, old)) == []
    assert "DisruptionReason" not in conditions(stage.api.get(kinds.NODE_CLAIM, old))


def test_who_begins_anew_heeds_it_too() -> None:
    stage = Stage(settings=ON)
    old = oversized(stage)
    short_of_machines(stage)
    stage.until(lambda: FAILURE in annotations(stage, old))
    begun = len(commands(stage))
    stage.start()
    stage.run(540)
    assert len(commands(stage)) == begun
    stage.until(lambda: len(commands(stage)) > begun)


def test_each_further_failure_is_counted() -> None:
    stage = Stage(settings=ON)
    old = oversized(stage)
    short_of_machines(stage)
    stage.until(lambda: json.loads(annotations(stage, old).get(FAILURE, '{"times": 0}'))["times"] == 2, 1800)
    (first, second) = (now for now, decision in stage.decisions if isinstance(decision, Command))
    assert second - first >= 600


def test_pools_may_be_served_one_by_one() -> None:
    controlled = pool()
    controlled["metadata"]["annotations"] = {"karpy.dev/quarantine": "1h"}
    stage = Stage(controlled)
    old = oversized(stage)
    short_of_machines(stage)
    stage.until(lambda: FAILURE in annotations(stage, old))
    stage.run(1800)
    assert len(commands(stage)) == 1
