"""Pools say whether their machines join (core specification 4.4)."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import CreateFailed
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.settings import Settings
from karpy.sim.generic import NODE_CLASS
from tests.karpy.controllers.stage import Stage, apps, pool, refusal, writes_condition
from tests.karpy.sim.manifests import bare_pod

SOON = Settings(registration_timeout_s=20.0, registration_failures_allowed=0)


def health(stage: Stage, name: str = "default") -> tuple[str, str, str]:
    (said,) = [
        each
        for each in stage.api.get(kinds.NODE_POOL, name)["status"]["conditions"]
        if each["type"] == "NodeRegistrationHealthy"
    ]
    return said["status"], said["reason"], said.get("message", "")


UNKNOWN = ("Unknown", "AwaitingReconciliation", "object is awaiting reconciliation")
HEALTHY = ("True", "NodeRegistrationHealthy", "")
UNHEALTHY = ("False", "RegistrationFailed", "Failed to register node")


@pytest.mark.core("CORE-712", "CORE-654")
def test_nothing_is_known_until_the_first_machine_joins() -> None:
    stage = Stage()
    assert health(stage) == UNKNOWN
    stage.grown(apps("a", 1))
    assert health(stage) == HEALTHY


@pytest.mark.core("CORE-663")
def test_two_machines_that_do_not_join_make_a_pool_unhealthy_and_one_does_not() -> None:
    stage = Stage(settings=SOON)
    stage.cloud.launch_stillborn(9)
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: bool(stage.claims))
    first = stage.names(kinds.NODE_CLAIM)
    stage.until(lambda: stage.names(kinds.NODE_CLAIM) not in ([], first))
    assert health(stage) == UNKNOWN
    stage.until(lambda: health(stage) == UNHEALTHY, timeout_s=30)
    told = [event["message"] for event in stage.all(kinds.EVENT) if event["involvedObject"]["kind"] == "NodePool"]
    assert (
        "Status condition transitioned, Type: NodeRegistrationHealthy, Status: Unknown -> False, "
        "Reason: RegistrationFailed, Message: Failed to register node" in told
    )


@pytest.mark.core("CORE-663")
def test_a_machine_that_is_never_launched_counts_and_its_error_is_the_reason() -> None:
    stage = Stage(settings=Settings(launch_timeout_s=20.0, registration_failures_allowed=0))
    stage.cloud.fail_launches(*[CreateFailed("there is no such image", "ImageMissing")] * 99)
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: health(stage)[0] == "False")
    assert health(stage)[1:] == ("ImageMissing", "there is no such image")


@pytest.mark.core("CORE-654")
def test_a_pool_with_two_failures_stays_unhealthy_until_others_take_their_place() -> None:
    stage = Stage(settings=SOON)
    stage.cloud.launch_stillborn(2)
    stage.world.apply([bare_pod("p0", cpu="20")])
    seen = []
    for serial in range(1, 4):
        stage.until(lambda: all(pod["spec"].get("nodeName") for pod in stage.all(kinds.POD)))
        seen.append(health(stage)[0])
        stage.world.apply([bare_pod(f"p{serial}", cpu="20")])
    assert seen == ["False", "False", "True"]


@pytest.mark.core("CORE-654", "CORE-663")
@pytest.mark.parametrize("joins", [True, False])
def test_of_a_pool_that_is_gone_nothing_is_said(joins: bool) -> None:
    """Its claims were left behind on purpose."""
    stage = Stage(settings=SOON)
    if not joins:
        stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: bool(stage.claims) and "providerID" in stage.claims[0].get("status", {}))
    (name,) = stage.names(kinds.NODE_CLAIM)
    stage.api.patch(kinds.NODE_CLAIM, name, {"metadata": {"ownerReferences": None}})
    stage.api.delete(kinds.NODE_POOL, "default")
    stage.run(60)
    assert (name in stage.names(kinds.NODE_CLAIM)) is joins


@pytest.mark.core("CORE-712")
@pytest.mark.parametrize("changed", ["pool", "class"])
def test_a_change_of_the_pool_or_its_class_begins_anew(changed: str) -> None:
    stage = Stage()
    stage.grown(apps("a", 1))
    if changed == "pool":
        stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"weight": 3}})
    else:
        stage.api.patch(NODE_CLASS, "default", {"spec": {"image": "other"}})
    stage.run(5)
    assert health(stage) == UNKNOWN
    stage.world.apply([apps("b", 1, cpu="20")])
    stage.run(60)
    assert health(stage) == HEALTHY


@pytest.mark.core("CORE-712")
@pytest.mark.parametrize("failures", [0, 2])
def test_what_does_not_change_a_pool_changes_nothing_and_a_restart_neither(failures: int) -> None:
    stage = Stage(settings=SOON)
    stage.cloud.launch_stillborn(failures)
    stage.world.apply([apps("a", 1)])
    stage.run(120)
    expected = UNHEALTHY if failures else HEALTHY
    assert health(stage) == expected
    stage.api.patch(kinds.NODE_POOL, "default", {"metadata": {"labels": {"touched": "yes"}}})
    stage.start()
    stage.run(30)
    assert health(stage) == expected


@pytest.mark.core("CORE-712")
def test_without_a_node_class_nothing_is_said() -> None:
    ref = {"group": NODE_CLASS.group, "kind": NODE_CLASS.kind, "name": "missing"}
    stage = Stage(pool(nodeClassRef=ref))
    stage.run(10)
    said = stage.api.get(kinds.NODE_POOL, "default")["status"]["conditions"]
    assert "NodeRegistrationHealthy" not in {each["type"] for each in said}


@pytest.mark.core("CORE-713")
def test_what_could_not_be_written_is_not_counted_twice() -> None:
    stage = Stage(settings=SOON)
    stage.cloud.launch_stillborn()
    refused: list[float] = []

    def patch(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_POOL and "conditions" in rest[1]["status"] and 20 < stage.clock.now() - began < 60:
            refused.append(stage.clock.now())
            if len(refused) < 4:
                raise refusal(409, "Conflict")
        return real(kind, *rest, **more)

    began = stage.clock.now()
    stage.kube.through("patch", patch)
    stage.world.apply([apps("a", 1)])
    stage.run(120)
    assert len(refused) >= 4
    assert health(stage) == HEALTHY


def test_a_machine_whose_claim_cannot_be_deleted_is_counted_once() -> None:
    stage = Stage(settings=Settings(registration_timeout_s=20.0, registration_failures_allowed=3))
    stage.cloud.launch_stillborn()
    refused: list[str] = []

    def delete(real: Any, kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and len(refused) < 4:
            refused.append(name)
            raise refusal(500)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", delete)
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: len(refused) == 4)
    pool_says = stage.api.get(kinds.NODE_POOL, "default")["status"]["conditions"]
    (resting,) = [each["message"] for each in pool_says if each["type"] == "Resting"]
    assert resting.startswith("1 in a row failed")
    assert health(stage) == UNKNOWN


def test_a_machine_that_joins_is_counted_once_though_its_claim_cannot_say_so() -> None:
    stage = Stage(settings=SOON)
    stage.cloud.launch_stillborn(2)
    stage.world.apply([bare_pod("p0", cpu="20")])
    refused: list[str] = []

    def patch(real: Any, kind: Kind, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        if writes_condition(kind, body, "Registered") and len(refused) < 4:
            refused.append(name)
            raise refusal(409, "Conflict")
        return real(kind, name, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.until(lambda: all(pod["spec"].get("nodeName") for pod in stage.all(kinds.POD)))
    assert len(refused) == 4
    assert health(stage) == UNHEALTHY


def test_a_pool_whose_annotation_is_no_number_is_told_so() -> None:
    wrong = pool()
    wrong["metadata"]["annotations"] = {"karpy.dev/registration-failures-allowed": "often"}
    said = Stage(wrong).api.get(kinds.NODE_POOL, "default")["status"]["conditions"]
    (message,) = [each["message"] for each in said if each["reason"] == "NodePoolValidationFailed"]
    assert message == (
        "NodePool/default: metadata.annotations[karpy.dev/registration-failures-allowed]: found 'often' "
        "(accepted: a whole number; 0: the pool never rests)"
    )
