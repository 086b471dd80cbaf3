"""Nodes that are broken for too long are replaced, unless too many are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from karpy import labels
from karpy.clock import format_time, parse_time
from karpy.metrics import NODECLAIMS_DISRUPTED, NODECLAIMS_UNHEALTHY_DISRUPTED, PODS_DISRUPTION_INITIATED
from karpy.objects import kinds
from karpy.objects.watchevent import WatchEvent
from karpy.operator import Operator
from karpy.settings import Settings
from karpy.sim.region.mishaps import Hazard
from karpy.sim.weather import Weather
from karpy.sim.world import World
from tests.karpy.controllers.stage import Silence, Stage, apps, conditions, pool, refusal
from tests.karpy.sim.manifests import NODE_CLASS

REPAIRING = Settings(node_repair=True)
HARDWARE, STORAGE = "AcceleratedHardwareReady", "StorageReady"
TOLERATED_S = 600.0
"""How long the simulated cloud has faults of accelerators borne; those of storage are borne three times as long."""


def staying(name: str = "default", **template: Any) -> dict[str, Any]:
    """A pool whose nodes are never disrupted for the better."""
    found = pool(name, **template)
    found["spec"]["disruption"] = {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]}
    return found


def grown(machines: int = 6, *objects: dict[str, Any], settings: Settings = REPAIRING) -> Stage:
    """Machines with a pod each."""
    stage = Stage(*(objects or (staying(),)), settings=settings)
    stage.world.apply([apps("a", machines, "20")])
    stage.run(60)
    assert len(stage.nodes) == machines
    return stage


def says(stage: Stage, name: str, condition: str = HARDWARE, status: str = "False") -> None:
    """A node's condition turns so now."""
    known = [each for each in stage.api.get(kinds.NODE, name)["status"]["conditions"] if each["type"] != condition]
    new = {"type": condition, "status": status, "lastTransitionTime": format_time(stage.clock.now())}
    stage.api.patch(kinds.NODE, name, {"status": {"conditions": [*known, new]}}, subresource="status")


def claim(stage: Stage, name: str) -> Mapping[str, Any] | None:
    return next((each for each in stage.claims if each["metadata"]["name"] == name), None)


def leaves(stage: Stage, name: str) -> bool:
    found = claim(stage, name)
    return found is None or "deletionTimestamp" in found["metadata"]


def blocked(stage: Stage) -> list[tuple[str, str, str]]:
    """Kind and name of what it was told on, and the text."""
    events = [event for event in stage.all(kinds.EVENT) if event["reason"] == "NodeRepairBlocked"]
    return [(each["involvedObject"]["kind"], each["involvedObject"]["name"], each["message"]) for each in events]


@pytest.mark.core("CORE-703", "CORE-705")
def test_a_node_is_replaced_when_its_fault_has_been_borne_for_long_enough() -> None:
    stage = grown()
    name = stage.names(kinds.NODE)[0]
    says(stage, name)
    assert stage.until(lambda: leaves(stage, name)) == pytest.approx(TOLERATED_S, abs=1.0)
    stage.run(120)
    assert stage.running("a") == 6
    assert name not in stage.names(kinds.NODE)


@pytest.mark.core("CORE-703")
@pytest.mark.parametrize(("condition", "status"), [(HARDWARE, "True"), (HARDWARE, "Unknown"), ("Other", "False")])
def test_what_no_policy_names_is_borne_for_ever(condition: str, status: str) -> None:
    stage = grown(1)
    (name,) = stage.names(kinds.NODE)
    says(stage, name, condition, status)
    stage.run(10 * TOLERATED_S)
    assert not leaves(stage, name)


def test_a_node_that_recovers_in_time_stays() -> None:
    stage = grown(1)
    (name,) = stage.names(kinds.NODE)
    for _ in range(5):
        says(stage, name)
        stage.run(TOLERATED_S - 10)
        says(stage, name, status="True")
        stage.run(10)
    stage.run(2 * TOLERATED_S)
    assert not leaves(stage, name)


@pytest.mark.core("CORE-705")
def test_of_two_faults_the_one_that_is_borne_less_long_counts() -> None:
    stage = grown(1)
    (name,) = stage.names(kinds.NODE)
    says(stage, name, STORAGE)
    stage.run(30)
    says(stage, name, HARDWARE)
    assert stage.until(lambda: leaves(stage, name)) == pytest.approx(TOLERATED_S, abs=1.0)


def test_without_the_gate_nothing_is_repaired() -> None:
    stage = grown(1, settings=Settings())
    (name,) = stage.names(kinds.NODE)
    says(stage, name)
    stage.run(10 * TOLERATED_S)
    assert not leaves(stage, name)


def deadline(stage: Stage, name: str) -> str | None:
    """What the claim says while its deletion is held up by a pod that nobody may evict."""
    found = claim(stage, name)
    assert found is not None
    annotations: dict[str, str] = found["metadata"].get("annotations", {})
    return annotations.get(labels.TERMINATION_TIMESTAMP)


@pytest.mark.core("CORE-704")
@pytest.mark.parametrize(
    ("known_s", "kept"), [(None, False), (-50.0, True), (5_000.0, False)], ids=["none", "past", "to come"]
)
def test_the_deadline_for_its_pods_is_now_whatever_the_pool_says_unless_it_has_passed(
    known_s: float | None, *, kept: bool
) -> None:
    stage = grown(1, staying(terminationGracePeriod="2h"))
    (name,) = stage.names(kinds.NODE)
    now = stage.clock.now()
    if known_s is not None:
        told = {labels.TERMINATION_TIMESTAMP: format_time(now + known_s)}
        stage.api.patch(kinds.NODE_CLAIM, name, {"metadata": {"annotations": told}})
    seen: list[str] = []

    def note(event: WatchEvent) -> None:
        said = (event.object["metadata"].get("annotations") or {}).get(labels.TERMINATION_TIMESTAMP)
        if said is not None and "deletionTimestamp" in event.object["metadata"]:
            seen.append(said)

    stage.world.subscribe(kinds.NODE_CLAIM, note)
    says(stage, name)
    stage.run(TOLERATED_S + 10)
    expected = now + (known_s or 0) if kept else now + TOLERATED_S
    assert parse_time(seen[-1]) == pytest.approx(expected, abs=1.0)


def test_a_machine_that_is_leaving_already_gets_no_more_time_either() -> None:
    protected = {"metadata": {"annotations": {labels.DO_NOT_DISRUPT: "true"}}}
    stage = grown(1)
    (name,) = stage.names(kinds.NODE)
    for pod in stage.all(kinds.POD):
        stage.api.patch(kinds.POD, pod["metadata"]["name"], protected, "default")
    stage.api.delete(kinds.NODE_CLAIM, name)
    says(stage, name)
    stage.run(TOLERATED_S - 60)
    assert deadline(stage, name) is None
    counted = len(stage.metrics.told(NODECLAIMS_DISRUPTED))
    patched: list[str] = []

    def patch(real: Any, kind: Any, obj: str, body: Any, *rest: Any, **more: Any) -> Any:
        patched.extend((body.get("metadata", {}).get("annotations") or {}) if kind == kinds.NODE_CLAIM else ())
        return real(kind, obj, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.run(120)
    assert patched == [labels.TERMINATION_TIMESTAMP]
    assert len(stage.metrics.told(NODECLAIMS_DISRUPTED)) == counted


@pytest.mark.core("CORE-706")
def test_neither_budgets_nor_wishes_not_to_be_disrupted_keep_a_broken_node() -> None:
    stage = grown()
    name = stage.names(kinds.NODE)[0]
    stage.api.patch(kinds.NODE, name, {"metadata": {"annotations": {labels.DO_NOT_DISRUPT: "true"}}})
    says(stage, name)
    stage.run(TOLERATED_S + 1)
    assert leaves(stage, name)


@pytest.mark.core("CORE-708")
def test_what_is_repaired_is_counted_by_what_it_suffered_from() -> None:
    stage = grown()
    says(stage, stage.names(kinds.NODE)[0])
    stage.run(TOLERATED_S + 60)
    ((amount, told),) = stage.metrics.told(NODECLAIMS_DISRUPTED)
    assert (amount, told["reason"]) == (1.0, "unhealthy")
    assert stage.metrics.told(PODS_DISRUPTION_INITIATED) == [(1, told)]
    ((amount, told),) = stage.metrics.told(NODECLAIMS_UNHEALTHY_DISRUPTED)
    assert told == {
        "condition": "accelerated_hardware_ready",
        "nodepool": "default",
        "capacity_type": "on-demand",
        "image_id": "sim-image",
    }
    assert [set(each) for each in stage.log.said("deleting unhealthy node")] == [{"NodeClaim"}]


@pytest.mark.core("CORE-707")
def test_when_more_than_a_fifth_of_a_pool_is_broken_nothing_is_done_and_it_is_told() -> None:
    stage = grown()
    sick = stage.names(kinds.NODE)[:3]
    for name in sick:
        says(stage, name)
    stage.run(TOLERATED_S + 800)
    assert not any(leaves(stage, name) for name in sick)
    text = "more than 20% nodes are unhealthy in the nodepool"
    assert sorted(blocked(stage)) == sorted(
        [("NodePool", "default", text), *((kind, name, text) for name in sick for kind in ("Node", "NodeClaim"))]
    )
    says(stage, sick[0], status="True")
    stage.run(301)
    assert all(leaves(stage, name) for name in sick[1:])


@pytest.mark.core("CORE-707")
def test_each_pool_is_looked_at_by_itself() -> None:
    taint = {"key": "team", "value": "b", "effect": "NoSchedule"}
    stage = grown(5, staying(), staying("other", taints=[taint]))
    tolerant = apps("b", 1, "20", tolerations=[taint], nodeSelector={labels.NODEPOOL: "other"})
    stage.world.apply([tolerant])
    stage.run(60)
    (lonely,) = (
        each["metadata"]["name"] for each in stage.claims if each["metadata"]["labels"][labels.NODEPOOL] == "other"
    )
    sick = [name for name in stage.names(kinds.NODE) if name != lonely][:2]
    for name in (lonely, *sick):
        says(stage, name)
    stage.run(TOLERATED_S + 1)
    assert leaves(stage, lonely)
    assert not any(leaves(stage, name) for name in sick)


@pytest.mark.core("CORE-707")
def test_a_claim_without_a_pool_is_measured_by_the_whole_cluster() -> None:
    stage = grown(6)
    lonely, *others = stage.names(kinds.NODE)
    for kind in (kinds.NODE_CLAIM, kinds.NODE):
        stage.api.patch(kind, lonely, {"metadata": {"labels": {labels.NODEPOOL: None}}})
    for name in (lonely, *others[:2]):
        says(stage, name)
    stage.run(TOLERATED_S + 1)
    text = "more than 20% nodes are unhealthy in the cluster"
    assert {("Node", lonely, text), ("NodeClaim", lonely, text)} <= set(blocked(stage))
    assert not leaves(stage, lonely)
    says(stage, others[0], status="True")
    stage.run(301)
    assert leaves(stage, lonely)


def test_a_node_of_somebody_else_is_not_repaired() -> None:
    stage = grown(1)
    stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "stranger")
    stage.run(60)
    says(stage, "stranger")
    stage.run(3 * TOLERATED_S)
    assert "stranger" in stage.names(kinds.NODE)


def test_a_node_whose_end_was_refused_and_that_recovers_keeps_no_deadline() -> None:
    stage = grown(1)
    (name,) = stage.names(kinds.NODE)
    refused: list[str] = []

    def delete(real: Any, kind: Any, obj: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and not refused:
            refused.append(obj)
            says(stage, name, status="True")
            raise refusal(500)
        return real(kind, obj, *rest, **more)

    stage.kube.through("delete", delete)
    says(stage, name)
    stage.run(TOLERATED_S + 60)
    assert refused == [name]
    assert not leaves(stage, name)
    assert deadline(stage, name) is None


def test_who_is_interrupted_between_the_deletion_and_the_deadline_goes_on() -> None:
    """Also where so many are broken that they are replaced one after the other."""
    stage = grown(6)
    sick = stage.names(kinds.NODE)
    for pod in stage.all(kinds.POD):
        protected = {"metadata": {"annotations": {labels.DO_NOT_DISRUPT: "true"}}}
        stage.api.patch(kinds.POD, pod["metadata"]["name"], protected, "default")
    for name in sick[:4]:
        says(stage, name)
    stage.run(10)
    stage.scale("a", 7)
    refused: list[str] = []

    def patch(real: Any, kind: Any, obj: str, body: Any, *rest: Any, **more: Any) -> Any:
        marks = (body.get("metadata") or {}).get("annotations") or {}
        if kind == kinds.NODE_CLAIM and labels.TERMINATION_TIMESTAMP in marks and not refused:
            refused.append(obj)
            raise refusal(500)
        return real(kind, obj, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.run(TOLERATED_S + 60)
    assert sum(leaves(stage, name) for name in sick) == 1
    assert refused[0] not in stage.names(kinds.NODE)


def test_pods_on_a_machine_that_died_run_again_elsewhere() -> None:
    """Its kubelet is silent, so nobody ends them; without repair they would stay where they are, dying, for ever."""
    stage = Stage(staying(), settings=REPAIRING)
    stage.world.apply([apps("a", 6, "20")])
    stage.run(60)
    (name, *_rest) = stage.names(kinds.NODE)
    (dead,) = (machine for machine in stage.cloud.machines if machine.claim == name)
    stage.cloud.kill(dead.provider_id)
    stage.run(1800 + 300)
    assert name not in stage.names(kinds.NODE)
    assert stage.running("a") == 6
    assert len(stage.claims) == len(stage.cloud.machines) == 6
    assert all(pod["spec"].get("nodeName") != name for pod in stage.all(kinds.POD))


def world_of_deaths(settings: Settings) -> tuple[int, int, int]:
    """Ten pods with a machine each, in a cloud where machines die faster than they are repaired, until long after; returns how many
    pods run, how many nodes are ready, and how many nodes there are."""
    world = World(7, weather=Weather(lasts_s=7_200.0, hazards=(Hazard("death", 0.2),)))
    operator = Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, settings=settings, log=Silence())
    world.install(operator)
    world.apply([NODE_CLASS, staying(), apps("a", 10, "20")])
    world.run(2 * 7_200)
    alive = [pod for pod in world.api.list(kinds.POD).items if "deletionTimestamp" not in pod["metadata"]]
    nodes = world.api.list(kinds.NODE).items
    running = sum(pod["status"].get("phase") == "Running" for pod in alive)
    return running, sum(conditions(node)["Ready"] == "True" for node in nodes), len(nodes)


def test_machines_that_die_by_chance_are_replaced_in_the_end() -> None:
    assert world_of_deaths(REPAIRING) == (10, 10, 10)
    running, ready, nodes = world_of_deaths(Settings())
    assert (running, ready) == (10, 10)
    assert nodes > 10
