"""CapacityBuffers in a running cluster: what stands in their status, and when machines are launched for them."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Command
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.scheduling.plan import Plan
from karpy.settings import Settings
from tests.karpy.controllers.stage import Stage, apps, pool, refusal
from tests.karpy.sim.manifests import bare_pod, event_reasons, template, workload

GATE = Settings(capacity_buffer=True)
NOWHERE = pool(requirements=[{"key": "kubernetes.io/arch", "operator": "In", "values": ["mips"]}])

Json = dict[str, Any]


def chunk(name: str = "chunk", cpu: str = "1") -> Json:
    head = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}}
    return {**head, "template": template("web", cpu)}


def buffer(name: str = "b", **spec: Any) -> Json:
    spec = spec or {"podTemplateRef": {"name": "chunk"}, "replicas": 3}
    return {
        "apiVersion": kinds.CAPACITY_BUFFER.api_version,
        "kind": kinds.CAPACITY_BUFFER.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def of(kind: Kind, name: str, percentage: int) -> Json:
    return buffer(scalableRef={"apiGroup": "apps", "kind": kind.kind, "name": name}, percentage=percentage)


def staged(*objects: Json, pools: tuple[Json, ...] = (), settings: Settings = GATE) -> Stage:
    stage = Stage(*pools, settings=settings)
    stage.world.apply(objects)
    return stage


def status(stage: Stage, name: str = "b") -> Json:
    return dict(stage.api.get(kinds.CAPACITY_BUFFER, name, "default").get("status") or {})


def condition(stage: Stage, type_: str, name: str = "b") -> tuple[str, str, str]:
    found = {each["type"]: each for each in status(stage, name).get("conditions", ())}
    each = found.get(type_, {"status": "", "reason": "", "message": ""})
    return each["status"], each["reason"], each["message"]


def plans(stage: Stage) -> list[Plan]:
    return [decision for _, decision in stage.decisions if isinstance(decision, Plan)]


# What it is resolved to


def test_a_buffer_says_what_it_was_resolved_to() -> None:
    stage = staged(chunk(), buffer())
    stage.run(1)
    said = status(stage)
    assert condition(stage, "ReadyForProvisioning") == ("True", "Resolved", "Pod template resolved successfully")
    assert (said["podTemplateRef"], said["podTemplateGeneration"], said["replicas"]) == ({"name": "chunk"}, 1, 3)
    assert said["provisioningStrategy"] == "buffer.x-k8s.io/active-capacity"
    assert {each["observedGeneration"] for each in said["conditions"]} == {1}


@pytest.mark.core("CORE-456")
@pytest.mark.parametrize("kind", [kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.REPLICA_SET], ids=lambda kind: kind.kind)
def test_a_share_of_a_workload_is_told_without_a_template(kind: Kind) -> None:
    stage = staged(workload(kind, "web", replicas=5), of(kind, "web", 50))
    stage.run(1)
    assert status(stage)["replicas"] == 3
    assert "podTemplateRef" not in status(stage)


@pytest.mark.core("CORE-457")
def test_what_is_not_there_is_told_and_found_once_it_is() -> None:
    stage = staged(buffer("by-template"), {**of(kinds.DEPLOYMENT, "web", 20), "metadata": {"name": "by-scale"}})
    stage.run(1)
    ready = "ReadyForProvisioning"
    assert condition(stage, ready, "by-template") == ("False", "PodTemplateNotFound", 'PodTemplate "chunk" not found')
    assert condition(stage, ready, "by-scale") == ("False", "ScalableRefNotFound", 'Deployment.apps "web" not found')
    assert "replicas" not in status(stage, "by-scale")
    assert event_reasons(stage.world, "by-template") == ["PodTemplateNotFound"]

    stage.world.apply([chunk(), apps("web", 5)])
    stage.run(1)
    assert condition(stage, ready, "by-template")[0] == "True"
    assert condition(stage, ready, "by-scale")[0] == "True"
    assert status(stage, "by-scale")["replicas"] == 1
    turned = (
        "Status condition transitioned, Type: ReadyForProvisioning, Status: False -> True, Reason: Resolved, "
        "Message: Pod template resolved successfully"
    )
    for name in ("by-template", "by-scale"):
        told = [event["message"] for event in stage.all(kinds.EVENT) if event["involvedObject"]["name"] == name]
        assert told.count(turned) == 1


@pytest.mark.core("CORE-457")
def test_a_workload_of_another_kind_is_refused_by_name() -> None:
    stage = staged(buffer(scalableRef={"apiGroup": "batch", "kind": "Job", "name": "j"}, replicas=1))
    stage.run(1)
    state, reason, message = condition(stage, "ReadyForProvisioning")
    assert (state, reason) == ("False", "ResolutionFailed")
    assert "spec.scalableRef.apiGroup: found 'batch' (accepted: 'apps')" in message


@pytest.mark.core("CORE-458")
def test_a_template_that_changes_is_resolved_anew() -> None:
    stage = staged(chunk(), buffer(podTemplateRef={"name": "chunk"}, limits={"cpu": "4"}))
    stage.run(1)
    assert (status(stage)["podTemplateGeneration"], status(stage)["replicas"]) == (1, 4)
    stage.world.apply([chunk(cpu="2")])
    stage.run(1)
    assert (status(stage)["podTemplateGeneration"], status(stage)["replicas"]) == (2, 2)


def test_what_is_gone_is_no_longer_said() -> None:
    stage = staged(chunk(), buffer())
    stage.run(1)
    stage.api.delete(kinds.POD_TEMPLATE, "chunk", "default")
    stage.run(1)
    assert condition(stage, "ReadyForProvisioning")[1] == "PodTemplateNotFound"
    assert not {"podTemplateRef", "podTemplateGeneration", "replicas"} & status(stage).keys()


def test_a_buffer_at_rest_is_not_written_again() -> None:
    stage = staged(chunk(), buffer())
    stage.run(120)
    before = stage.api.get(kinds.CAPACITY_BUFFER, "b", "default")["metadata"]["resourceVersion"]
    stage.run(300)
    assert stage.api.get(kinds.CAPACITY_BUFFER, "b", "default")["metadata"]["resourceVersion"] == before


def test_a_buffer_with_another_strategy_is_somebody_elses() -> None:
    spec = {"podTemplateRef": {"name": "chunk"}, "replicas": 3}
    stage = staged(chunk(), buffer(**spec, provisioningStrategy="other.example.com/strategy"))
    stage.run(60)
    assert (status(stage), stage.claims) == ({}, [])


# Whether its room is there


@pytest.mark.core("CORE-449", "CORE-450", "CORE-451")
def test_room_is_told_missing_until_its_machine_is_on_its_way() -> None:
    stage = staged(chunk(), buffer())
    stage.run(0.5)
    assert condition(stage, "Provisioning") == ("", "", "")  # nothing was planned yet
    stage.run(1)
    assert condition(stage, "Provisioning") == (
        "False",
        "RequiresNewCapacity",
        "3/3 virtual pods required new capacity, 0 failed",
    )
    stage.run(30)
    told = ("True", "FitsExistingCapacity", "All 3 virtual pods fit on existing capacity")
    assert condition(stage, "Provisioning") == told


@pytest.mark.core("CORE-450")
@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"podTemplateRef": {"name": "chunk"}, "replicas": 0}, "BufferEmpty", "Buffer has zero desired replicas"),
        (
            {"podTemplateRef": {"name": "lost"}, "replicas": 1},
            "NotReadyForProvisioning",
            "Buffer is not ReadyForProvisioning",
        ),
    ],
)
def test_a_buffer_that_no_room_is_made_for_says_why(spec: Json, reason: str, message: str) -> None:
    stage = staged(chunk(), buffer(**spec))
    stage.run(1)
    assert condition(stage, "Provisioning") == ("False", reason, message)


def test_room_that_cannot_be_had_is_told_with_the_reason() -> None:
    stage = staged(chunk(), buffer(), pools=(NOWHERE,))
    stage.run(5)
    state, reason, message = condition(stage, "Provisioning")
    assert (state, reason) == ("False", "RequiresNewCapacity")
    assert message.startswith("0/3 virtual pods required new capacity, 3 failed: incompatible with nodepool")


# Machines


@pytest.mark.core("CORE-459")
def test_only_a_buffer_that_was_resolved_wakes_the_provisioner() -> None:
    stage = staged(buffer(podTemplateRef={"name": "lost"}, replicas=3))
    stage.run(60)
    assert plans(stage) == []
    stage.world.apply([chunk("lost")])
    stage.run(2)
    assert [len(plan.launches) for plan in plans(stage)] == [1]


def test_machines_come_for_room_alone_and_no_one_is_told_to_go_there() -> None:
    stage = staged(chunk(), buffer())
    stage.run(60)
    assert (len(stage.claims), len(stage.nodes)) == (1, 1)
    assert stage.all(kinds.POD) == []
    assert [event for event in stage.all(kinds.EVENT) if event["reason"] in ("Nominated", "FailedScheduling")] == []


def test_a_machine_that_is_slow_to_come_up_is_not_ordered_twice() -> None:
    stage = Stage(settings=GATE)
    stage.cloud.launch_stillborn()
    stage.world.apply([chunk(), buffer()])
    stage.run(300)
    assert len(stage.claims) == 1


def test_a_launch_that_is_refused_is_tried_again() -> None:
    stage = Stage(settings=GATE)
    calls = []

    def create(real: Any, kind: Kind, obj: Any, *rest: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            calls.append(obj)
            if len(calls) == 1:
                raise refusal(500)
        return real(kind, obj, *rest)

    stage.kube.through("create", create)
    stage.world.apply([chunk(), buffer()])
    stage.run(10)
    assert (len(calls), len(stage.claims)) == (2, 1)


def test_a_status_that_cannot_be_written_stops_no_launch() -> None:
    stage = Stage(settings=GATE)

    def patch(real: Any, kind: Kind, name: str, change: Any, *rest: Any, **more: Any) -> Any:
        written = {each["type"] for each in (change.get("status") or {}).get("conditions", ())}
        if kind == kinds.CAPACITY_BUFFER and "Provisioning" in written:
            raise refusal(409, "Conflict")
        return real(kind, name, change, *rest, **more)

    stage.kube.through("patch", patch)
    stage.world.apply([chunk(), buffer(), bare_pod("p")])
    stage.run(60)
    assert len(stage.nodes) >= 1
    assert condition(stage, "Provisioning")[0] == ""
    assert not any(name == "provisioner" for name, _ in stage.world.loop.errors)


def test_more_room_is_made_when_the_buffer_grows() -> None:
    stage = staged(chunk(), buffer())
    stage.run(60)
    stage.api.patch(kinds.CAPACITY_BUFFER, "b", {"spec": {"replicas": 12}}, "default")
    assert stage.until(lambda: condition(stage, "Provisioning")[1] == "RequiresNewCapacity") < 5
    stage.run(60)
    assert condition(stage, "Provisioning")[2] == "All 12 virtual pods fit on existing capacity"


def test_room_is_kept_while_the_buffer_is_there_and_goes_with_it() -> None:
    stage = staged(chunk(), buffer())
    stage.run(600)
    assert len(stage.nodes) == 1
    assert [decision for _, decision in stage.decisions if isinstance(decision, Command)] == []
    stage.api.delete(kinds.CAPACITY_BUFFER, "b", "default")
    stage.until(lambda: stage.nodes == [])


def test_without_the_gate_buffers_are_not_looked_at() -> None:
    stage = staged(chunk(), buffer(), settings=Settings())
    stage.run(60)
    assert (status(stage), stage.claims) == ({}, [])
    assert not set(stage.operator.state.BUFFER_KINDS) & set(stage.operator.kinds)
