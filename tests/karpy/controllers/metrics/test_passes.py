"""What is told of searches for places for pods."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.controllers.metrics.passes import effective_zone
from karpy.controllers.provisioning import provisioner
from karpy.labels import ZONE
from karpy.metrics import (
    PODS_PROVISIONING_BOUND_DURATION,
    PODS_SCHEDULING_DECISION_DURATION,
    SCHEDULER_IGNORED_PODS,
    SCHEDULER_PENDING_PODS_BY_ZONE,
    SCHEDULER_QUEUE_DEPTH,
    SCHEDULER_SCHEDULING_DURATION,
    SCHEDULER_UNFINISHED_WORK,
    SCHEDULER_UNSCHEDULABLE_PODS,
)
from karpy.objects.pod import Pod
from karpy.state.snapshot import Snapshot
from karpy.testing import make_pod, selector
from tests.karpy.controllers.stage import Stage, apps

OWN = {"controller": "provisioner"}


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.core("CORE-132")
def test_a_pass_is_seen_while_it_is_under_way(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float | None, float | None]] = []
    real = provisioner.plan_as_set

    def plan(*given: Any) -> Any:
        own = {**OWN, "scheduling_id": "1"}
        seen.append(
            (stage.metrics.value(SCHEDULER_QUEUE_DEPTH, **own), stage.metrics.value(SCHEDULER_UNFINISHED_WORK, **own))
        )
        return real(*given)

    monkeypatch.setattr(provisioner, "plan_as_set", plan)
    stage.world.apply([apps("a", 3)])
    stage.until(lambda: bool(stage.claims))
    assert seen == [(3, 0)]
    assert stage.metrics.value(SCHEDULER_QUEUE_DEPTH, **OWN, scheduling_id="1") is None


@pytest.mark.core("CORE-134")
def test_how_long_a_pass_took_is_observed_when_it_is_done(stage: Stage) -> None:
    stage.world.apply([apps("a", 3)])
    stage.until(lambda: bool(stage.claims))
    assert stage.metrics.value(SCHEDULER_SCHEDULING_DURATION, "_count", **OWN) == 1


@pytest.mark.core("CORE-133")
def test_pods_without_a_place_are_counted_and_those_that_are_not_looked_at_apart(stage: Stage) -> None:
    term = {"matchFields": [selector("metadata.name", "In", "nowhere")]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    odd = apps("odd", 2, affinity={"nodeAffinity": required})
    stage.world.apply([apps("huge", 3, cpu="5000"), odd, apps("a", 1)])
    stage.run(30)
    assert stage.metrics.value(SCHEDULER_UNSCHEDULABLE_PODS, **OWN) == 3
    assert stage.metrics.value(SCHEDULER_IGNORED_PODS) == 2


@pytest.mark.core("CORE-135")
def test_how_long_a_pod_waited_for_the_first_decision_is_observed_once(stage: Stage) -> None:
    stage.world.apply([apps("huge", 3, cpu="5000")])
    stage.run(60)
    assert stage.metrics.value(PODS_SCHEDULING_DECISION_DURATION, "_count") == 3


def test_how_long_a_planned_pod_waited_counts_where_nodes_join(stage: Stage) -> None:
    stage.grown(apps("first", 1))
    before = len(stage.metrics.told(PODS_PROVISIONING_BOUND_DURATION))
    stage.world.apply([apps("second", 6, cpu="4")])
    stage.run(90)
    assert stage.running("second") == 6
    assert len(stage.metrics.told(PODS_PROVISIONING_BOUND_DURATION)) > before


def test_pods_are_counted_by_the_zone_that_they_wait_for(stage: Stage) -> None:
    stage.world.apply([apps("a", 2, cpu="5000", nodeSelector={ZONE: "sim-1b"}), apps("b", 1, cpu="5000")])
    stage.run(10)
    shown = {
        zone: stage.metrics.value(SCHEDULER_PENDING_PODS_BY_ZONE, **OWN, zone=zone) for zone in ("sim-1b", "flexible")
    }
    assert shown == {"sim-1b": 2, "flexible": 1}


@pytest.mark.core("CORE-137")
@pytest.mark.parametrize(
    ("terms", "zone"),
    [
        ([], "flexible"),
        ([[selector(ZONE, "In", "a")]], "a"),
        ([[selector(ZONE, "In", "a", "b")]], "flexible"),
        ([[selector(ZONE, "NotIn", "a")]], "flexible"),
        ([[selector(ZONE, "In", "a")], [selector(ZONE, "In", "b")]], "flexible"),
        ([[selector(ZONE, "In", "a"), selector(ZONE, "In", "b")]], "none"),
    ],
    ids=["anywhere", "one", "two", "all but one", "either", "contradiction"],
)
def test_the_effective_zone_is_what_the_pod_leaves_open(terms: list[list[dict[str, Any]]], zone: str) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    pod = make_pod("p")
    if terms:
        pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert effective_zone(Pod.from_dict(pod), Snapshot().storage) == zone
