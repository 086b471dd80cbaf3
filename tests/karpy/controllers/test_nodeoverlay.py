"""Overlays change what is launched, and say whether they count."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.settings import Settings
from karpy.testing import selector
from tests.karpy.controllers.stage import Stage, apps, conditions, pool, refusal
from tests.karpy.sim.manifests import event_reasons

ON = Settings(node_overlay=True)
DEVICE = "acme.com/device"


def overlay(name: str, *types: str, **spec: Any) -> dict[str, Any]:
    """An overlay of these instance types, or of all."""
    asked = [selector(labels.INSTANCE_TYPE, "In", *types)] if types else []
    return {
        "apiVersion": kinds.NODE_OVERLAY.api_version,
        "kind": kinds.NODE_OVERLAY.kind,
        "metadata": {"name": name},
        "spec": {"requirements": asked, **spec},
    }


CHEAP = overlay("cheap", "m-8x-amd64", price="0.001")


def overlaid(claim: dict[str, Any]) -> dict[str, str]:
    """What the claim says of overlays."""
    return {key: value for key, value in claim["metadata"]["annotations"].items() if "overlay" in key}


def said(stage: Stage, name: str) -> tuple[str, str, str]:
    """Status and reason of the condition, and whether the overlay is ready."""
    status = stage.api.get(kinds.NODE_OVERLAY, name)["status"]
    (found,) = (each for each in status["conditions"] if each["type"] == "ValidationSucceeded")
    return found["status"], found["reason"], conditions({"status": status})["Ready"]


VALID = ("True", "ValidationSucceeded", "True")
CONFLICT = ("False", "Conflict", "False")


def launched(stage: Stage) -> list[str]:
    return [machine.instance_type.name for machine in stage.cloud.machines]


# What is launched


def test_an_overlay_that_makes_a_type_cheaper_changes_which_is_launched() -> None:
    without = Stage(pool(), settings=ON)
    without.grown(apps("a", 1))
    assert launched(without) == ["c-2x-amd64"]

    stage = Stage(pool(), CHEAP, settings=ON)
    stage.grown(apps("a", 1))
    assert launched(stage) == ["m-8x-amd64"]
    (claim,) = stage.claims
    assert overlaid(claim) == {"karpenter.sh/price-overlay-applied": "true"}
    assert stage.running("a") == 1
    assert stage.cloud.cost_per_hour() == pytest.approx(8 * 0.025 + 64 * 0.001)  # the cloud charges its own price


def test_behind_a_closed_gate_overlays_are_not_even_looked_at() -> None:
    stage = Stage(pool(), CHEAP)
    stage.grown(apps("a", 1))
    assert launched(stage) == ["c-2x-amd64"]
    assert "status" not in stage.api.get(kinds.NODE_OVERLAY, "cheap")
    assert kinds.NODE_OVERLAY not in stage.operator.kinds


def test_pods_that_ask_for_what_an_overlay_promises_get_a_node() -> None:
    stage = Stage(pool(), settings=ON)
    asking = apps("a", 1)
    container = asking["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {DEVICE: "1"}, "limits": {DEVICE: "1"}}
    stage.world.apply([asking])
    stage.run(60)
    assert stage.claims == []
    stage.world.apply([overlay("devices", "c-4x-amd64", capacity={DEVICE: "4"})])
    stage.run(60)
    assert launched(stage) == ["c-4x-amd64"]
    assert stage.running("a") == 1
    (claim,) = stage.claims
    assert overlaid(claim) == {"karpenter.sh/capacity-overlay-applied": "true"}


def test_a_new_overlay_makes_nodes_move_to_what_is_cheaper_now() -> None:
    stage = Stage(pool(), settings=ON)
    stage.grown(apps("a", 1))
    stage.run(300)
    assert launched(stage) == ["c-2x-amd64"]
    stage.world.apply([CHEAP])
    stage.run(300)
    assert launched(stage) == ["m-8x-amd64"]


# What they say


@pytest.mark.core("CORE-736")
def test_overlays_that_are_fine_say_so_and_of_two_that_conflict_the_later_does_not() -> None:
    weighed = {"weight": 7}
    first = overlay("conflict-a", "s-2x-amd64", priceAdjustment="+10%", **weighed)
    second = overlay("conflict-b", "s-2x-amd64", priceAdjustment="-10%", **weighed)
    stage = Stage(pool(), CHEAP, first, second, settings=ON)
    assert said(stage, "cheap") == said(stage, "conflict-b") == VALID
    told = stage.api.get(kinds.NODE_OVERLAY, "cheap")["status"]["conditions"]
    assert {each["observedGeneration"] for each in told} == {1}
    assert said(stage, "conflict-a") == CONFLICT
    (message,) = (
        each["message"]
        for each in stage.api.get(kinds.NODE_OVERLAY, "conflict-a")["status"]["conditions"]
        if each["reason"] == "Conflict"
    )
    assert message.startswith(
        'conflict with another overlay: "conflict-b", also of weight 7, sets the price of s-2x-amd64'
    )
    assert event_reasons(stage.world, "conflict-a") == ["Conflict"]

    stage.api.delete(kinds.NODE_OVERLAY, "conflict-b")
    stage.run(1)
    assert said(stage, "conflict-a") == VALID


def test_what_karpy_cannot_read_though_the_api_server_took_it_is_told_on_the_overlay() -> None:
    odd = overlay("odd", capacity={DEVICE: "1e5000"})
    stage = Stage(pool(), odd, CHEAP, settings=ON)
    assert said(stage, "odd") == ("False", "RuntimeValidation", "False")
    assert said(stage, "cheap") == VALID
    assert event_reasons(stage.world, "odd") == ["RuntimeValidation"]
    stage.api.patch(kinds.NODE_OVERLAY, "odd", {"spec": {"capacity": {DEVICE: "1"}}})
    stage.run(1)
    assert said(stage, "odd") == VALID


def test_a_pool_that_comes_later_may_make_overlays_conflict() -> None:
    def of_pool(name: str) -> dict[str, Any]:
        made = overlay(name, price="1")
        made["spec"]["requirements"] = [selector("team", "In", "red", name)]
        return made

    stage = Stage(pool(labels={"team": "a"}), of_pool("a"), of_pool("b"), settings=ON)
    assert said(stage, "a") == said(stage, "b") == VALID
    stage.world.apply([pool("both", labels={"team": "red"})])
    stage.run(1)
    assert (said(stage, "a"), said(stage, "b")) == (CONFLICT, VALID)
    stage.api.delete(kinds.NODE_POOL, "both")
    stage.run(1)
    assert said(stage, "a") == VALID


def test_a_write_that_is_refused_is_tried_again_and_stops_no_other_overlay() -> None:
    stage = Stage(pool(), settings=ON)
    refused: list[str] = []

    def patch(real: Any, kind: Any, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_OVERLAY and name == "cheap" and len(refused) < 3:
            refused.append(name)
            raise refusal(500)
        return real(kind, name, *rest, **more)

    stage.kube.through("patch", patch)
    stage.world.apply([CHEAP, overlay("other", "c-1x-amd64", price="1")])
    stage.run(30)
    assert len(refused) == 3
    assert said(stage, "cheap") == said(stage, "other") == VALID


def test_a_status_is_written_once() -> None:
    stage = Stage(pool(), CHEAP, settings=ON)
    version = stage.api.get(kinds.NODE_OVERLAY, "cheap")["metadata"]["resourceVersion"]
    stage.grown(apps("a", 1))
    stage.run(7 * 3600)
    assert stage.api.get(kinds.NODE_OVERLAY, "cheap")["metadata"]["resourceVersion"] == version


def test_a_status_that_somebody_else_wiped_is_written_again() -> None:
    stage = Stage(pool(), CHEAP, settings=ON)
    stage.api.patch(kinds.NODE_OVERLAY, "cheap", {"status": None}, subresource="status")
    stage.run(1)
    assert said(stage, "cheap") == VALID
