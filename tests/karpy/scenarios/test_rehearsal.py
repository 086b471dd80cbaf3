from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.objects.kinds import DEPLOYMENT, POD
from karpy.report.happening import Happening, What
from karpy.scenarios.catalogue import INFLATE, Scenario
from karpy.scenarios.rehearsal import Rehearsal
from karpy.sim.generic import GenericModel

NODE_CLASS = {"apiVersion": "sim.karpy.dev/v1", "kind": "SimNodeClass", "metadata": {"name": "default"}}


def pool(**spec: Any) -> dict[str, Any]:
    reference = {"group": "sim.karpy.dev", "kind": "SimNodeClass", "name": "default"}
    template = {"spec": {"requirements": [], "nodeClassRef": reference}}
    metadata = {"name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def pod(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "annotations": {"karpenter.sh/do-not-disrupt": "true"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def rehearse(*objects: dict[str, Any], until_s: float | None = None) -> tuple[Rehearsal, list[Happening]]:
    told: list[Happening] = []
    scenario = Scenario("test", objects)
    return Rehearsal(scenario, tell=told.append, models=(GenericModel(),), until_s=until_s), told


def test_a_script_ends_when_the_last_machine_is_gone() -> None:
    rehearsal, told = rehearse(NODE_CLASS, pool())
    summary = rehearsal.play()
    assert summary.reached_end
    assert (summary.pods_pending, summary.nodes_left, summary.instances_left) == (0, 0, 0)
    assert summary.terminations == summary.launches > 0
    assert told[-1].what is What.CLAIM_GONE


def test_pods_that_stand_alone_run_first_and_go_last() -> None:
    rehearsal, told = rehearse(NODE_CLASS, pool(), pod("single"))
    rehearsal.play()
    story = [each.text for each in told if each.what in (What.SCALE, What.PODS_RUNNING)]
    assert story[0] == "pod single running"
    assert story[-1] == "pod single is deleted"
    assert rehearsal.world.api.list(POD).items == ()


def test_deployments_with_replicas_stay_as_they_are_until_the_end() -> None:
    steady = {**INFLATE, "metadata": {"name": "steady"}, "spec": {**INFLATE["spec"], "replicas": 2}}
    rehearsal, told = rehearse(NODE_CLASS, pool(), dict(INFLATE), steady)
    rehearsal.play()
    scaled = [(each.fields["name"], each.fields["replicas"]) for each in told if each.what is What.SCALE]
    assert scaled == [("inflate", 5), ("inflate", 40), ("inflate", 3), ("inflate", 0), ("steady", 0)]


def test_a_run_that_nothing_can_be_launched_for_ends_too() -> None:
    rehearsal, told = rehearse()
    summary = rehearsal.play()
    assert summary.reached_end
    assert summary.launches == 0
    assert [each.what for each in told].count(What.UNSCHEDULABLE) == 3


def test_nodes_that_a_pool_never_gives_back_are_left_and_it_is_said() -> None:
    rehearsal, told = rehearse(NODE_CLASS, pool(disruption={"consolidateAfter": "Never"}))
    summary = rehearsal.play()
    assert summary.reached_end
    assert summary.nodes_left == summary.launches > 0
    notes = [each.text for each in told if each.what is What.NOTE]
    assert "NodePool 'default' never gives an idle node back: its consolidateAfter is Never" in notes


def test_the_script_waits_as_long_as_a_pool_does() -> None:
    rehearsal, told = rehearse(NODE_CLASS, pool(disruption={"consolidateAfter": "10m"}))
    assert rehearsal.play().nodes_left == 0
    times = [each.at for each in told if each.what is What.SCALE]
    assert all(later - earlier > 600 for earlier, later in pairwise(times))


def test_a_run_stops_at_the_time_it_was_given() -> None:
    rehearsal, _ = rehearse(NODE_CLASS, pool(), until_s=90)
    summary = rehearsal.play()
    assert not summary.reached_end
    assert summary.virtual_seconds == 90
    assert rehearsal.world.api.get(DEPLOYMENT, "inflate", "default")["spec"]["replicas"] == 5


def test_the_scene_shows_machines_and_the_bill() -> None:
    rehearsal, _ = rehearse(NODE_CLASS, pool(), until_s=90)
    rehearsal.play()
    scene = rehearsal.scene()
    (machine,) = scene.machines
    assert scene.pods_running == scene.pods_on[machine.node] == 5
    assert scene.price == machine.price
    assert scene.cost == pytest.approx(machine.price * (90 - 6) / 3600, rel=0.05)
    assert scene.decisions[-1].what is What.LAUNCH_DECIDED


def test_manifests_that_the_api_server_refuses_are_invalid() -> None:
    with pytest.raises(InvalidObject, match=r"^NodePool/default: "):
        rehearse(pool(weight=1000))
