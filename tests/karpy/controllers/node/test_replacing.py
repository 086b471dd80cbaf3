"""New room before old room goes, where that is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.controllers.node import replacing
from karpy.objects import kinds
from karpy.scheduling.configured import solve_as_set
from karpy.settings import Settings
from tests.karpy.controllers.node.leaving import WISH, Leaving, budget, wishing
from tests.karpy.controllers.stage import Json, apps, pool
from tests.karpy.sim.manifests import NODE_CLASS

FIRST = Settings(replace_before_drain=True)
ANNOTATION = "karpy.dev/replace-before-drain"
WAITING = ("Unknown", "AwaitingReplacement", "Waiting until its pods have a place on other nodes")


def annotated(value: str, **spec: Any) -> Json:
    found = pool(**spec)
    found["metadata"]["annotations"] = {ANNOTATION: value}
    return found


def waits(stage: Leaving, name: str) -> bool:
    """Whether the pods of a node wait for places elsewhere, a second after it was deleted."""
    stage.take(name)
    stage.run(1)
    return stage.condition(name, "Drained") == WAITING


def least_while(stage: Leaving, app: str, name: str) -> tuple[int, float]:
    """How many pods of an app could be served by at the least, until the node is gone; and how long that took."""
    least, start = 10**6, stage.clock.now()
    while name in stage.names(kinds.NODE_CLAIM):
        ready = stage.api.get(kinds.DEPLOYMENT, app, "default")["status"].get("readyReplicas", 0)
        least = min(least, ready)
        stage.run(0.25)
        assert stage.clock.now() < start + 900
    return least, stage.clock.now() - start


def test_pods_wait_for_their_places_before_the_first_of_them_goes() -> None:
    stage = Leaving(settings=FIRST)
    name = stage.grown(apps("a", 3))
    calls = stage.asked()
    assert waits(stage, name)
    stage.until(lambda: bool(calls))
    (other,) = (claim for claim in stage.claims if claim["metadata"]["name"] != name)
    other_ready = {each["type"]: each["status"] for each in other["status"]["conditions"]}
    assert other_ready["Initialized"] == "True"
    stage.until_gone(name)
    assert len(stage.claims) == 1


@pytest.mark.parametrize(
    ("settings", "one"), [(FIRST, pool()), (None, annotated("true"))], ids=["setting", "annotation"]
)
def test_a_budget_and_new_room_together_keep_an_app_up(settings: Settings | None, one: Json) -> None:
    """One pod at a time, and each finds a node that is up: only the pod that is on its way is missing."""
    stage = Leaving(one, settings=settings)
    name = stage.grown(apps("a", 4, "900m"))
    stage.world.apply([budget("b", "a", maxUnavailable=1)])
    stage.run(5)
    stage.take(name)
    least, _ = least_while(stage, "a", name)
    assert least == 3


def test_an_expired_node_is_replaced_first_too() -> None:
    stage = Leaving(pool(expireAfter="5m"), settings=FIRST)
    name = stage.grown(apps("a", 4, "900m"))
    stage.world.apply([budget("b", "a", maxUnavailable=1)])
    calls = stage.asked()
    stage.until(lambda: "deletionTimestamp" in stage.api.get(kinds.NODE_CLAIM, name)["metadata"])
    least, _ = least_while(stage, "a", name)
    assert (least, len(calls) >= 4) == (3, True)


def missing_s(settings: Settings | None) -> float:
    """For how long pods are missing while their node is deleted."""
    stage = Leaving(settings=settings)
    name, missing = stage.grown(apps("a", 3)), 0.0
    stage.take(name)
    while name in stage.names(kinds.NODE_CLAIM) or stage.running("a") < 3:
        ready = stage.api.get(kinds.DEPLOYMENT, "a", "default")["status"].get("readyReplicas", 0)
        missing += 0.25 * (ready < 3)
        stage.run(0.25)
    return missing


def test_pods_are_missing_for_as_long_as_they_take_to_start_and_not_for_as_long_as_a_machine_does() -> None:
    stops_and_starts_s = 3
    assert missing_s(FIRST) <= stops_and_starts_s
    assert missing_s(None) >= stops_and_starts_s + 2


@pytest.mark.parametrize(("settings", "one"), [(None, pool()), (FIRST, annotated("false"))])
def test_otherwise_pods_go_at_once(settings: Settings | None, one: Json) -> None:
    stage = Leaving(one, settings=settings)
    name = stage.grown(apps("a", 3))
    calls, start = stage.asked(), stage.take(name)
    stage.run(1)
    assert calls == [(start, "a", "200")] * 3


@pytest.mark.parametrize("settings", [None, FIRST])
def test_a_wish_that_cannot_be_read_is_named_in_the_pools_status_and_the_setting_counts(
    settings: Settings | None,
) -> None:
    stage = Leaving(settings=settings)
    name = stage.grown(apps("a", 3))
    stage.world.apply([annotated("yes")])
    assert waits(stage, name) == (settings is FIRST)
    said = stage.api.get(kinds.NODE_POOL, "default")["status"]["conditions"]
    (message,) = [each["message"] for each in said if each["type"] == "ValidationSucceeded"]
    place = f"NodePool/default: metadata.annotations[{ANNOTATION}]"
    assert message == f"{place}: found 'yes' (accepted: true or false)"


def test_while_nothing_changes_places_are_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    stage, looks = Leaving(settings=FIRST), list[float]()

    def solve(*given: Any) -> Any:
        looks.append(stage.clock.now())
        return solve_as_set(*given)

    name = stage.grown(apps("a", 2))
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"limits": {"cpu": "0"}}})
    monkeypatch.setattr(replacing, "solve_as_set", solve)
    assert waits(stage, name)
    stage.run(30)
    known = len(looks)
    assert known >= 1
    stage.run(60)
    assert len(looks) == known
    stage.world.apply([apps("b", 1)])
    stage.run(5)
    assert looks[-1] >= stage.clock.now() - 5


def test_room_that_is_there_already_is_enough() -> None:
    stage = Leaving(settings=FIRST)
    name = stage.grown(apps("a", 1))
    stage.cloud.add_machine("s-4x-amd64", "sim-1a", NODE_CLASS, "spare")
    stage.run(10)
    calls, start = stage.asked(), stage.take(name)
    stage.run(1)
    assert calls == [(start, "a", "200")]
    stage.until_gone(name)
    assert stage.names(kinds.NODE) == ["spare"]


def test_a_place_that_cannot_be_had_is_waited_for_only_so_long() -> None:
    stage = Leaving(settings=FIRST)
    name = stage.grown(apps("a", 2))
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"limits": {"cpu": "0"}}})
    calls, start = stage.asked(), stage.take(name)
    stage.until(lambda: bool(calls))
    assert calls[0][0] == pytest.approx(start + 600, abs=2)


def test_it_is_never_waited_for_past_the_deadline() -> None:
    stage = Leaving(pool(terminationGracePeriod="2m"), settings=FIRST)
    name = stage.grown(apps("a", 2))
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"limits": {"cpu": "0"}}})
    deleted, start = stage.deleted(), stage.take(name)
    stage.until_gone(name)
    assert [at for at, *_ in deleted] == [start + 90] * 2
    assert stage.clock.now() <= start + 120 + 15


def test_pods_that_cannot_leave_are_not_waited_for() -> None:
    stage = Leaving(settings=FIRST)
    name = stage.grown(apps("a", 1), wishing("b", 1, annotations={WISH: "true"}))
    calls = stage.asked()
    stage.take(name)
    stage.until(lambda: bool(calls))
    assert [app for _, app, _ in calls] == ["a"]
    assert stage.running("b") == 1


def test_a_node_that_is_being_repaired_waits_for_nothing() -> None:
    stage = Leaving(settings=FIRST)
    name = stage.grown(apps("a", 2))
    now = {"karpenter.sh/nodeclaim-termination-timestamp": "2026-01-05T09:00:00Z"}
    stage.api.patch(kinds.NODE_CLAIM, name, {"metadata": {"annotations": now}})
    deleted, start = stage.deleted(), stage.take(name)
    stage.run(1)
    assert deleted == [(start, "a", 1)] * 2


def test_an_empty_node_waits_for_nothing() -> None:
    stage = Leaving(settings=FIRST)
    name = stage.grown(apps("a", 1))
    stage.scale("a", 0)
    stage.run(5)
    stage.take(name)
    assert stage.until_gone(name) < 15
