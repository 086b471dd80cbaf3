"""What is told of decisions to take nodes away."""

from __future__ import annotations

import pytest

from karpy.errors import InsufficientCapacity
from karpy.metrics import (
    DISRUPTION_DECISIONS,
    DISRUPTION_DECISIONS_BY_NODEPOOL,
    DISRUPTION_ELIGIBLE_NODES,
    DISRUPTION_EVALUATION_DURATION,
    DISRUPTION_FAILED_VALIDATIONS,
    DISRUPTION_QUEUE_FAILURES,
)
from tests.karpy.controllers.stage import Stage, apps, conditions, intercept

EMPTY = {"decision": "delete", "reason": "empty", "consolidation_type": "empty"}
REPLACED = {"decision": "replace", "reason": "underutilized", "consolidation_type": "single"}


@pytest.fixture
def stage() -> Stage:
    return Stage()


def oversized(stage: Stage) -> str:
    """One machine for four pods, three of which go: a smaller one would do."""
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    return name


def test_a_decision_is_counted_when_it_is_carried_out(stage: Stage) -> None:
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: not stage.claims)
    assert stage.metrics.told(DISRUPTION_DECISIONS) == [(1.0, EMPTY)]
    assert stage.metrics.told(DISRUPTION_DECISIONS_BY_NODEPOOL) == [(1.0, {"nodepool": "default", **EMPTY})]


def test_a_line_says_what_goes_and_what_comes(stage: Stage) -> None:
    old = oversized(stage)
    stage.run(300)
    (claim,) = stage.claims
    (line,) = stage.log.said("disrupting node(s)")
    assert line["command"].startswith("Underutilized/")
    assert f": replace: nodepools=[default]: [{old}] -> [1 replacement] (savings: $" in line["command"]
    (gone,), (comes,) = line["disrupted_nodes"], line["replacement_nodes"]
    assert (gone["Node"], gone["NodeClaim"], gone["capacity-type"]) == ({"name": old}, {"name": old}, "on-demand")
    assert claim["metadata"]["labels"]["node.kubernetes.io/instance-type"] in comes["instance-types"]
    counts = {key: line[key] for key in ("decision", "disrupted_node_count", "replacement_node_count", "pod_count")}
    assert counts == {"decision": "replace", "disrupted_node_count": 1, "replacement_node_count": 1, "pod_count": 1}
    (done,) = stage.log.said("command succeeded")
    assert done == {key: value for key, value in line.items() if key != "command"}


@pytest.mark.core("CORE-547")
def test_a_decision_that_is_no_longer_right_is_counted(stage: Stage) -> None:
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))
    stage.run(5)
    stage.scale("a", 2)
    stage.run(60)
    assert stage.metrics.told(DISRUPTION_FAILED_VALIDATIONS) == [(1.0, {"consolidation_type": "empty"})]
    assert stage.metrics.told(DISRUPTION_DECISIONS) == []


def test_a_decision_whose_replacement_does_not_come_is_counted(stage: Stage) -> None:
    oversized(stage)

    def none_left(*_: object) -> None:
        raise InsufficientCapacity("none left")

    intercept(stage.cloud, "create", none_left)
    stage.until(lambda: bool(stage.metrics.told(DISRUPTION_QUEUE_FAILURES)))
    assert stage.metrics.told(DISRUPTION_QUEUE_FAILURES)[0] == (1.0, REPLACED)


@pytest.mark.core("CORE-546")
def test_how_many_nodes_might_go_is_shown_by_reason(stage: Stage) -> None:
    def shown() -> dict[str, float | None]:
        reasons = ("empty", "underutilized", "drifted")
        return {reason: stage.metrics.value(DISRUPTION_ELIGIBLE_NODES, reason=reason) for reason in reasons}

    assert shown() == {"empty": 0, "underutilized": 0, "drifted": 0}
    stage.grown(apps("a", 2))
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))
    assert shown() == {"empty": 0, "underutilized": 1, "drifted": 0}
    stage.scale("a", 0)
    stage.until(lambda: shown()["empty"] == 1)
    assert shown() == {"empty": 1, "underutilized": 0, "drifted": 0}


def test_searches_are_timed_by_reason(stage: Stage) -> None:
    stage.grown(apps("a", 2))
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))
    stage.run(10)
    kinds = [labels for _took, labels in stage.metrics.told(DISRUPTION_EVALUATION_DURATION)]
    assert {"reason": "empty", "consolidation_type": "empty"} in kinds
    assert {"reason": "underutilized", "consolidation_type": "single"} in kinds
