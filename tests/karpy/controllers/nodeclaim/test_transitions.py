"""Claims go from state to state as `karpy.lifecycle.states` says: every transition happens here, and no other."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from karpy import labels
from karpy.errors import InsufficientCapacity
from karpy.lifecycle.states import TRANSITIONS, State, Transition, state_of
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent
from tests.karpy.controllers.stage import Stage, apps, pool, refusal, writes_condition

Way = tuple[State, State]


class Seen:
    """The states that the claims of a stage went through."""

    def __init__(self, stage: Stage) -> None:
        self._lives: dict[str, list[State]] = {}
        stage.world.subscribe(kinds.NODE_CLAIM, self._note)

    def _note(self, event: WatchEvent) -> None:
        gone = event.type is EventType.DELETED
        state = State.GONE if gone else state_of(NodeClaim.from_dict(event.object))
        self._lives.setdefault(event.object["metadata"]["uid"], []).append(state)

    @property
    def ways(self) -> set[Way]:
        return {way for life in self._lives.values() for way in itertools.pairwise(life) if way[0] is not way[1]}


def _lived(stage: Stage) -> None:
    """A pod comes and goes, and the machine with it."""
    stage.grown(apps("a", 1))
    stage.scale("a", 0)
    stage.run(300)


def _sold_out(stage: Stage) -> None:
    stage.cloud.fail_launches(InsufficientCapacity("none left"))
    stage.grown(apps("a", 1))


def _never_held(stage: Stage) -> None:
    """Somebody deletes the claim in the moment in which it is made."""

    hasty: list[str] = []

    def create(real: Callable[..., Any], kind: Kind, body: Any, *rest: Any, **more: Any) -> Any:
        made = real(kind, body, *rest, **more)
        if kind == kinds.NODE_CLAIM and not hasty:
            hasty.append(made["metadata"]["name"])
            stage.api.delete(kinds.NODE_CLAIM, hasty[0])
        return made

    stage.kube.through("create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(60)


def _never_joined(stage: Stage) -> None:
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.run(1000)


def _never_ready(stage: Stage) -> None:
    """A start-up taint that nobody takes off; the claim is deleted at last."""
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"template": {"spec": {"startupTaints": [_TAINT]}}}})
    stage.world.apply([apps("a", 1)])
    stage.run(60)
    for claim in stage.claims:
        stage.api.delete(kinds.NODE_CLAIM, claim["metadata"]["name"])
    stage.run(60)


_TAINT = {"key": "cni", "effect": "NoSchedule"}


def _slow_volumes(stage: Stage) -> None:
    """The pod refuses to go for a while; then its volumes are waited for."""
    stubborn = apps("a", 1)
    stubborn["spec"]["template"]["metadata"]["annotations"] = {labels.DO_NOT_DISRUPT: "true"}
    name = stage.grown(stubborn)
    stage.api.delete(kinds.NODE_CLAIM, name)
    stage.run(5)
    said = stage.api.get(kinds.NODE_CLAIM, name)
    drained = {"type": "Drained", "status": "True", "reason": "Drained"}
    waiting = {"type": "VolumesDetached", "status": "Unknown", "reason": "AwaitingVolumeDetachment"}
    kept = [each for each in said["status"]["conditions"] if each["type"] not in ("Drained", "VolumesDetached")]
    now = said["metadata"]["deletionTimestamp"]
    marks = [{**each, "message": "", "lastTransitionTime": now} for each in (drained, waiting)]
    stage.api.patch(kinds.NODE_CLAIM, name, {"status": {"conditions": [*kept, *marks]}}, subresource="status")
    stage.api.patch(kinds.NODE, said["status"]["nodeName"], {"metadata": {"finalizers": None}})
    stage.run(60)


def _forgotten(stage: Stage) -> None:
    """The launch is never written down, and the claim deleted."""

    def patch(real: Callable[..., Any], kind: Kind, name: str, body: Any, *rest: Any, **more: Any) -> Any:
        if writes_condition(kind, body, "Launched"):
            raise refusal(500)
        return real(kind, name, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    stage.api.patch(kinds.DEPLOYMENT, "a", {"spec": {"replicas": 0}}, "default")
    for claim in stage.claims:
        stage.api.delete(kinds.NODE_CLAIM, claim["metadata"]["name"])
    stage.run(120)


STORIES: dict[Way, Callable[[Stage], None]] = {
    (State.CREATED, State.LAUNCHED): _lived,
    (State.CREATED, State.RELEASING): _sold_out,
    (State.CREATED, State.GONE): _never_held,
    (State.LAUNCHED, State.REGISTERED): _lived,
    (State.LAUNCHED, State.TERMINATING): _never_joined,
    (State.REGISTERED, State.INITIALIZED): _lived,
    (State.REGISTERED, State.DRAINING): _never_ready,
    (State.INITIALIZED, State.DRAINING): _lived,
    (State.DRAINING, State.DETACHING): _slow_volumes,
    (State.DRAINING, State.TERMINATING): _lived,
    (State.DETACHING, State.TERMINATING): _slow_volumes,
    (State.RELEASING, State.TERMINATING): _forgotten,
    (State.RELEASING, State.GONE): _sold_out,
    (State.TERMINATING, State.GONE): _lived,
}


def test_every_transition_has_a_story() -> None:
    assert STORIES.keys() == {(way.source, way.target) for way in TRANSITIONS}


@pytest.mark.parametrize("way", TRANSITIONS, ids=lambda way: f"{way.source.value}-{way.target.value}")
def test_a_transition_happens_and_no_other_than_there_are(way: Transition) -> None:
    stage = Stage(pool())
    seen = Seen(stage)
    STORIES[way.source, way.target](stage)
    assert (way.source, way.target) in seen.ways
    assert seen.ways <= STORIES.keys()
