"""What was found out on an earlier picture is what would be found out now, whatever was written meanwhile."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

import attrs
import pytest

from karpy.clock import format_time
from karpy.disruption.basis import Answers
from karpy.disruption.engine import Pass, look
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.testing import START, make_catalog, make_condition, make_nodepool
from tests.karpy.disruption.deciding import Json, flat, machine, make_budget, pod

SIZES = {"c2": 2, "c4": 4, "c8": 8}
ROUNDS, CHANGES = 40, 6


class Life:
    """A random cluster to which somebody writes at random."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        names = [f"n{number}" for number in range(self.dice.randint(2, 6))]
        pool = make_nodepool(disruption={"budgets": [{"nodes": "100%"}], "consolidateAfter": "0s"})
        self.objects: list[Json] = [pool, make_budget("web", allowed=1), *flat([self._node(name) for name in names])]
        self.state = ClusterState.of(self.objects)
        self.catalog = make_catalog(self.state.snapshot())
        self.writes: list[Callable[[], None]] = [
            self.ready,
            self.visited,
            self.budget,
            self.relabel,
            self.come,
            self.go,
        ]

    def _node(self, name: str) -> list[Json]:
        instance_type = self.dice.choice(sorted(SIZES))
        room = SIZES[instance_type]
        taken = [self.dice.randint(1, room) for _ in range(self.dice.randint(1, 3))]
        kept = [cpu for place, cpu in enumerate(taken) if sum(taken[: place + 1]) <= room]
        pods = [pod(f"{name}-{place}", name, str(cpu), labels={"app": "a"}) for place, cpu in enumerate(kept)]
        return [*machine(name, instance_type, room), *pods]

    def _write(self, kind: Kind, change: Callable[[Json], None]) -> None:
        of_kind = [each for each in self.objects if each["kind"] == kind.kind]
        if of_kind:
            old = self.dice.choice(of_kind)
            new = copy.deepcopy(old)
            change(new)
            self.objects[self.objects.index(old)] = new
            self.state.apply(WatchEvent(EventType.MODIFIED, kind, new))

    def ready(self) -> None:
        status = self.dice.choice(("True", "False"))
        self._write(kinds.POD, lambda obj: obj["status"].update(conditions=[make_condition("Ready", status=status)]))

    def visited(self) -> None:
        when = format_time(START - self.dice.randint(1, 90))
        self._write(kinds.NODE_CLAIM, lambda obj: obj["status"].update(lastPodEventTime=when))

    def budget(self) -> None:
        allowed = self.dice.randint(0, 1)
        self._write(kinds.POD_DISRUPTION_BUDGET, lambda obj: obj["status"].update(disruptionsAllowed=allowed))

    def relabel(self) -> None:
        app = self.dice.choice("ab")
        self._write(kinds.POD, lambda obj: obj["metadata"].update(labels={"app": app}))

    def come(self) -> None:
        node = self.dice.choice([each["metadata"]["name"] for each in self.objects if each["kind"] == "Node"])
        new = pod(f"new-{len(self.objects)}-{self.dice.random()}", node, "100m")
        self.objects.append(new)
        self.state.apply(WatchEvent(EventType.ADDED, kinds.POD, new))

    def go(self) -> None:
        pods = [each for each in self.objects if each["kind"] == "Pod"]
        if pods:
            gone = self.dice.choice(pods)
            self.objects.remove(gone)
            self.state.apply(WatchEvent(EventType.DELETED, kinds.POD, gone))


def said(found: Pass) -> tuple[object, ...]:
    verdicts = {name: str(verdict) for name, verdict in found.verdicts.items()}
    return verdicts, [(str(command), command.moves, command.savings) for command in found.commands]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_answers_of_earlier_passes_are_those_of_a_pass_that_knows_none(seed: int) -> None:
    life = Life(seed)
    past = look(life.state.snapshot(), life.catalog, now=START).past
    for _ in range(CHANGES):
        for write in life.dice.sample(life.writes, life.dice.randint(1, 2)):
            write()
        snapshot = life.state.snapshot()
        knowing = look(snapshot, life.catalog, now=START, past=past)
        anew = look(snapshot, life.catalog, now=START, past=attrs.evolve(past, answers=Answers()))
        assert said(knowing) == said(anew)
        past = knowing.past
