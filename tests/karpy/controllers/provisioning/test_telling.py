"""What is said of pods that wait: the texts and lines of Karpenter, each once and not over and over."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.metrics import SCHEDULER_IGNORED_PODS, SCHEDULER_SCHEDULING_DURATION, SCHEDULER_UNSCHEDULABLE_PODS
from karpy.objects import kinds
from karpy.settings import Settings
from tests.karpy.controllers.stage import Notes, Stage, apps, pool
from tests.karpy.sim.manifests import bare_pod


def messages(stage: Stage) -> list[tuple[str, str]]:
    assert isinstance(stage.log, Notes)
    return [(level, message) for level, message, _ in stage.log.lines]


def told(stage: Stage, reason: str) -> list[dict[str, Any]]:
    """Our events of this reason."""
    events = [
        e for e in stage.all(kinds.EVENT) if e["reason"] == reason and e["source"].get("component") == "karpenter"
    ]
    return [dict(each) for each in events]


def selecting(zone: str) -> dict[str, Any]:
    return {"nodeSelector": {"topology.kubernetes.io/zone": zone}}


# The log


def test_a_pass_that_launches_says_what_it_found_and_what_it_does() -> None:
    stage = Stage()
    stage.world.apply([apps("a", 7)])
    stage.run(30)
    (began,) = stage.log.said("computing scheduling decision for provisionable pod(s)")
    assert began == {"pending-pods": 7, "deleting-pods": 0}
    (found,) = stage.log.said("found provisionable pod(s)")
    assert found["Pods"].count("default/a-") == 5
    assert found["Pods"].endswith(" and 2 other(s)")
    assert found["duration"].endswith("ms")
    assert stage.log.said("computed new nodeclaim(s) to fit pod(s)") == [{"nodeclaims": 1, "pods": 7}]
    order = [message for _, message in messages(stage)]
    assert order.index("computed new nodeclaim(s) to fit pod(s)") < order.index("created nodeclaim")


def test_pods_that_fit_on_a_machine_which_is_coming_up_are_said_to() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1, "1")])
    stage.run(5)
    stage.world.apply([apps("b", 1, "100m")])
    stage.run(5)
    assert stage.log.said("computed unready node(s) will fit pod(s)")[-1] == {"nodes": 1, "pods": 2}


def test_without_a_pool_that_may_grow_the_log_says_so_and_the_pod_is_told() -> None:
    missing = pool("lost")
    missing["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "nowhere"
    stage = Stage(missing)
    stage.world.apply([bare_pod("p")])
    stage.run(60)
    assert stage.log.said("no dynamic nodepools found")
    assert stage.log.said("ignoring nodepool, not ready") == [{"NodePool": {"name": "lost"}}]
    assert [event["message"] for event in told(stage, "FailedScheduling")] == [
        "Failed to schedule pod, no nodepool is ready to launch nodes"
    ]


def test_a_pod_that_cannot_be_placed_is_an_error_once_and_one_that_is_not_looked_at_is_none() -> None:
    stage = Stage()
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}}
    stage.world.apply([bare_pod("large", cpu="1000"), bare_pod("odd", affinity=affinity)])
    stage.run(120)
    (refused,) = stage.log.said("could not schedule pod")
    assert refused["Pod"] == {"name": "large", "namespace": "default"}
    (ignored,) = stage.log.said("ignoring pod")
    assert ignored["Pod"] == {"name": "odd", "namespace": "default"}
    assert "matchFields" in ignored["error"]
    assert ("debug", "ignoring pod") in messages(stage)
    assert ("error", "could not schedule pod") in messages(stage)


def test_wishes_that_can_keep_nodes_from_going_are_warned_of_once_a_day() -> None:
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "pod"}}}
    wish = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": apart}]
        }
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "pod"}},
    }
    stage = Stage()
    stage.world.apply(
        [bare_pod("a", cpu="900", affinity=wish), bare_pod("b", cpu="900", topologySpreadConstraints=[spread])]
    )
    stage.run(120)
    said = "pod(s) have a preferred {} which can prevent consolidation"
    assert stage.log.said(said.format("Anti-Affinity")) == [{"pods": "default/a"}]
    assert stage.log.said(said.format("TopologySpread")) == [{"pods": "default/b"}]


# Events


def test_a_pod_that_waits_is_told_why_once_in_five_minutes() -> None:
    stage = Stage()
    stage.world.apply([bare_pod("p", cpu="1000")])
    stage.run(290)
    assert len(told(stage, "FailedScheduling")) == 1
    stage.run(20)
    assert len(told(stage, "FailedScheduling")) == 2


def test_of_many_pods_at_once_ten_are_told_where_they_should_run_and_five_more_each_second() -> None:
    stage = Stage()
    stage.world.apply([apps("a", 40, "100m")])
    stage.run(30)
    assert stage.running("a") == 40
    assert len(told(stage, "Nominated")) == 10
    stage.world.apply([apps("b", 8, "100m")])
    stage.run(30)
    assert len({event["involvedObject"]["name"] for event in told(stage, "Nominated")}) <= 18


def test_a_pod_is_told_once_of_one_machine() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([bare_pod("p")])
    stage.run(100)
    stage.world.apply([bare_pod("q")])
    stage.run(10)
    events = told(stage, "Nominated")
    assert sorted(event["involvedObject"]["name"] for event in events) == ["p", "q"]
    (claim,) = stage.names(kinds.NODE_CLAIM)
    assert {event["message"] for event in events} == {f"Pod should schedule on: nodeclaim/{claim}"}


@pytest.mark.parametrize(
    ("least", "why"),
    [(None, ""), (50, " due to minValues incompatibility")],
    ids=["nothing is sold that suits", "too little of it is"],
)
def test_a_pool_that_asks_for_what_nobody_sells_says_so(least: int | None, why: str) -> None:
    family = {"key": "sim.karpy.dev/instance-family", "operator": "Exists", "minValues": least}
    cpus = {"key": "sim.karpy.dev/instance-cpu", "operator": "In", "values": ["5"]}
    barren = pool("barren", requirements=[family if least else cpus])
    stage = Stage(barren)
    stage.world.apply([bare_pod("p")])
    stage.run(30)
    (event,) = told(stage, "NoCompatibleInstanceTypes")
    assert event["type"] == "Warning"
    assert event["involvedObject"]["name"] == "barren"
    assert event["message"] == f"NodePool requirements filtered out all compatible available instance types{why}"


def test_a_pool_that_sells_something_says_nothing_of_the_kind() -> None:
    stage = Stage(settings=Settings(strict_min_values=True))
    stage.world.apply([bare_pod("p", cpu="1000"), bare_pod("q", **selecting("nowhere"))])
    stage.run(30)
    assert told(stage, "NoCompatibleInstanceTypes") == []


def test_pods_that_wait_and_those_that_are_not_looked_at_are_counted_until_they_are_gone() -> None:
    stage = Stage()
    claims = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    pods = [bare_pod("large", cpu="1000"), bare_pod("larger", cpu="2000"), bare_pod("odd", resourceClaims=claims)]
    stage.world.apply(pods)
    stage.run(15)
    assert stage.metrics.told(SCHEDULER_UNSCHEDULABLE_PODS)[-1] == (2.0, {"controller": "provisioner"})
    assert stage.metrics.told(SCHEDULER_IGNORED_PODS)[-1] == (1.0, {})
    assert stage.metrics.told(SCHEDULER_SCHEDULING_DURATION)
    for pod in pods:
        stage.api.delete(kinds.POD, pod["metadata"]["name"], "default", grace_period_s=0)
    stage.run(15)
    assert stage.metrics.told(SCHEDULER_UNSCHEDULABLE_PODS)[-1][0] == 0.0
    assert stage.metrics.told(SCHEDULER_IGNORED_PODS)[-1][0] == 0.0
