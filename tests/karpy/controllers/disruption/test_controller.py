"""One command at a time: taint, replacement, initialized, delete; and back again when the replacement does not come."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from karpy.controllers.disruption import controller
from karpy.disruption.command import Command
from karpy.disruption.engine import look
from karpy.errors import InsufficientCapacity
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from tests.karpy.controllers.stage import Stage, apps, conditions, refusal, taint_keys, writes_condition
from tests.karpy.sim.manifests import bare_pod

DISRUPTED = "karpenter.sh/disrupted"


def story(stage: Stage, old: str) -> dict[str, None]:
    """What happens to the machine ``old`` and to those that come after it, each once, in order."""
    told: dict[str, None] = {}

    def node(event: WatchEvent) -> None:
        if event.object["metadata"]["name"] == old and DISRUPTED in taint_keys(event.object):
            told["taint"] = None

    def claim(event: WatchEvent) -> None:
        name = event.object["metadata"]["name"]
        if name != old:
            told["replacement"] = None
            if conditions(event.object).get("Initialized") == "True":
                told["initialized"] = None
        elif event.object["metadata"].get("deletionTimestamp") or event.type is EventType.DELETED:
            told["delete"] = None

    stage.world.subscribe(kinds.NODE, node)
    stage.world.subscribe(kinds.NODE_CLAIM, claim)
    told.clear()  # what was there already
    return told


def oversized(stage: Stage) -> str:
    """One machine for four pods, three of which go: a smaller one would do."""
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    return name


def commands(stage: Stage) -> list[Command]:
    return [decision for _, decision in stage.decisions if isinstance(decision, Command)]


def test_an_empty_machine_goes() -> None:
    stage = Stage()
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: not stage.claims and not stage.cloud.machines)
    assert len(commands(stage)) == 1


def test_a_machine_is_deleted_only_when_its_replacement_is_up() -> None:
    stage = Stage()
    told = story(stage, oversized(stage))
    stage.run(300)
    assert list(told) == ["taint", "replacement", "initialized", "delete"]
    assert (stage.running("a"), len(stage.claims), len(stage.cloud.machines)) == (1, 1, 1)


def test_a_command_is_carried_out_only_when_it_is_still_right_after_the_delay() -> None:
    stage = Stage()
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))
    stage.run(5)
    stage.scale("a", 2)
    stage.run(60)
    assert commands(stage) == []
    assert (stage.running("a"), taint_keys(stage.nodes[0])) == (2, [])


def test_everything_stays_as_it_was_when_the_replacement_cannot_be_had() -> None:
    stage = Stage()
    old = oversized(stage)
    stage.cloud.fail_launches(*(InsufficientCapacity("none left") for _ in range(100)))
    stage.until(lambda: bool(commands(stage)))
    stage.run(5)
    assert taint_keys(stage.api.get(kinds.NODE, old)) == []
    assert "DisruptionReason" not in conditions(stage.api.get(kinds.NODE_CLAIM, old))
    assert stage.running("a") == 1


def test_everything_stays_as_it_was_when_the_replacement_never_joins() -> None:
    stage = Stage()
    old = oversized(stage)
    stage.cloud.launch_stillborn(100)
    stage.until(lambda: bool(commands(stage)))
    assert DISRUPTED in taint_keys(stage.api.get(kinds.NODE, old))
    waited = stage.until(lambda: DISRUPTED not in taint_keys(stage.api.get(kinds.NODE, old)))
    assert 600 <= waited < 605
    assert "deletionTimestamp" not in stage.api.get(kinds.NODE_CLAIM, old)["metadata"]


def test_a_taint_that_no_command_is_about_is_taken_off() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    taint = {"key": DISRUPTED, "effect": "NoSchedule"}
    stage.api.patch(kinds.NODE, name, {"spec": {"taints": [taint]}})
    stage.run(60)
    assert taint_keys(stage.api.get(kinds.NODE, name)) == []


def test_a_command_that_failed_after_the_taint_is_undone() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 2))
    hits: list[int] = []

    def patch(real: Any, kind: Kind, obj: str, body: Any, *rest: Any, **more: Any) -> Any:
        if writes_condition(kind, body, "DisruptionReason") and not hits:
            hits.append(1)
            pod = bare_pod("keep", nodeName=name)  # and in this moment one comes that must not be disturbed
            pod["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
            stage.world.apply([pod])
            raise refusal(409, "Conflict")
        return real(kind, obj, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.scale("a", 0)
    stage.run(300)
    assert hits
    (node,), (claim,) = stage.nodes, stage.claims
    assert taint_keys(node) == []
    assert "DisruptionReason" not in conditions(claim)


def test_a_fresh_machine_is_left_alone_while_pods_are_on_their_way_to_it() -> None:
    stage = Stage()
    stage.grown(apps("a", 1))
    stage.run(600)
    assert commands(stage) == []
    assert stage.cloud.launches == 1


@pytest.mark.core("CORE-492")
def test_a_search_that_found_nothing_is_repeated_when_something_happened_or_after_five_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    stage.grown(apps("a", 2))
    stage.run(300)
    searched: list[float] = []

    def search(*given: Any, **more: Any) -> Command | None:
        searched.append(stage.clock.now())
        return look(*given, **more)

    monkeypatch.setattr(controller, "look", search)
    stage.run(1200)
    assert 3 <= len(searched) <= 4
    assert all(later - former >= 300 for former, later in pairwise(searched))
    searched.clear()
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"weight": 3}})
    stage.run(20)
    assert searched != []
