"""One node after another, within the work that a pass may do; the next pass goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.clock import format_time
from karpy.cloud.instancetype import Catalog
from karpy.disruption.basis import Answers
from karpy.disruption.engine import Pass, look
from karpy.disruption.past import Past
from karpy.disruption.scene import Scene
from karpy.disruption.singlenode import single_node
from karpy.disruption.verdicts import BlockedBy, NotJudgedYet
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.settings import Settings
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_nodepool
from tests.karpy.disruption.deciding import Json, flat, machine, make_budget, pod

FREE = {"budgets": [{"nodes": "100%"}]}


def stuck(name: str, instance_type: str = "c4", cpu: int = 4, **arguments: Any) -> list[Json]:
    """A node whose pod can run nowhere else."""
    here = {"nodeSelector": {labels.HOSTNAME: "away"}}
    return [*machine(name, instance_type, cpu, **arguments), pod(f"p-{name}", name, spec=here)]


def cluster(*objects: Sequence[Json] | Json) -> tuple[Snapshot, Catalog]:
    snapshot = Snapshot.from_objects([make_nodepool(disruption=FREE), *flat(objects)])
    return snapshot, make_catalog(snapshot)


def passes(snapshot: Snapshot, catalog: Catalog, count: int, **settings: Any) -> list[Pass]:
    """One after another, each with what the one before left to it."""
    found: list[Pass] = []
    for _ in range(count):
        past = found[-1].past if found else None
        found.append(look(snapshot, catalog, now=START, settings=Settings(**settings), past=past))
    return found


def judged(found: Pass) -> set[str]:
    return {name for name, verdict in found.verdicts.items() if isinstance(verdict, BlockedBy)}


@pytest.mark.core("CORE-599")
def test_what_a_pass_does_not_come_to_is_looked_at_first_in_the_next() -> None:
    """On a cluster that changes all the time, so that nothing is known from before."""
    snapshot, catalog = cluster(*(stuck(f"n{number}") for number in range(9)))
    past, lately, longest = Past(), [], 0
    for _ in range(12):
        found = look(snapshot, catalog, now=START, settings=Settings(disruption_work=6), past=past)
        past = attrs.evolve(found.past, answers=Answers())
        lately.append(judged(found))
        longest = max(longest, found.longest_wait)
    assert 0 < len(lately[0]) < 9
    assert longest == 2
    for number in range(len(lately) - longest):
        assert set().union(*lately[number : number + longest + 1]) == {f"n{number}" for number in range(9)}


def test_when_nothing_changes_the_next_passes_go_on_to_the_end() -> None:
    snapshot, catalog = cluster(*(stuck(f"n{number}") for number in range(9)))
    first, second, third = passes(snapshot, catalog, 3, disruption_work=6)
    assert judged(first) < judged(second)
    assert judged(third) == {f"n{number}" for number in range(9)}
    assert (third.work, third.longest_wait) == (0, 0)


def test_a_node_that_was_not_looked_at_says_so_and_for_how_many_passes() -> None:
    snapshot, catalog = cluster(*(stuck(f"n{number}") for number in range(9)))
    for number, found in enumerate(passes(snapshot, catalog, 3, disruption_work=1)):
        waiting = [verdict for verdict in found.verdicts.values() if isinstance(verdict, NotJudgedYet)]
        assert max(verdict.passes for verdict in waiting) == found.longest_wait == number + 1


def test_each_pool_has_its_turn() -> None:
    pools = [make_nodepool(name, disruption=FREE) for name in ("cheap", "dear")]
    nodes = [stuck(f"d{n}", "c16", 16, pool="dear") for n in range(3)] + [
        stuck(f"c{n}", pool="cheap") for n in range(3)
    ]
    snapshot = Snapshot.from_objects([*pools, *flat(nodes)])
    scene = Scene(snapshot, make_catalog(snapshot), now=START, settings=Settings(disruption_work=2))
    assert single_node(scene) == ()
    assert {
        name for name in ("d0", "d1", "d2", "c0", "c1", "c2") if isinstance(scene.docket.last(name), BlockedBy)
    } == {"c0", "d0"}


# What is known already


def test_while_nothing_changes_nothing_is_worked_out_again() -> None:
    snapshot, catalog = cluster(*(stuck(f"n{number}") for number in range(4)))
    first, second = passes(snapshot, catalog, 2)
    assert (first.work > 0, second.work) == (True, 0)
    assert {name: str(verdict) for name, verdict in first.verdicts.items()} == {
        name: str(verdict) for name, verdict in second.verdicts.items()
    }


class Changing:
    """A cluster that is looked at, changes, and is looked at again."""

    def __init__(self) -> None:
        budget = make_budget("web", allowed=4)
        self.objects = [make_nodepool(disruption=FREE), budget, *flat([stuck(f"n{number}") for number in range(4)])]
        self.state = ClusterState.of(self.objects)
        self.catalog = make_catalog(self.state.snapshot())
        self.past = look(self.state.snapshot(), self.catalog, now=START).past

    def work(self, now: float = START, **more: Any) -> int:
        """How much there is to do now."""
        arguments = {"past": self.past, **more}
        return look(self.state.snapshot(), arguments.pop("catalog", self.catalog), now=now, **arguments).work

    def write(self, kind: Kind, name: str, change: Callable[[Json], None]) -> None:
        obj = copy.deepcopy(next(o for o in self.objects if (o["kind"], o["metadata"]["name"]) == (kind.kind, name)))
        obj["metadata"]["resourceVersion"] = "77"
        change(obj)
        self.state.apply(WatchEvent(EventType.MODIFIED, kind, obj))


def _nothing(_obj: Json) -> None:
    pass


def _less_room(obj: Json) -> None:
    obj["status"]["allocatable"]["cpu"] = "3"


def _label(obj: Json) -> None:
    obj["metadata"].setdefault("labels", {})["app"] = "other"


def _ready(obj: Json) -> None:
    obj["status"]["conditions"] = [make_condition("Ready")]


def _visited(obj: Json) -> None:
    obj["status"]["lastPodEventTime"] = format_time(START - 5)


def _used_up(obj: Json) -> None:
    obj["status"]["disruptionsAllowed"] = 0


def _limit(obj: Json) -> None:
    obj["spec"]["limits"] = {"cpu": "100"}


def test_that_somebody_wrote_to_a_node_is_no_change() -> None:
    cluster = Changing()
    cluster.write(kinds.NODE, "n1", _nothing)
    assert cluster.work() == 0


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [(kinds.POD, "p-n1", _ready), (kinds.NODE_CLAIM, "n1", _visited), (kinds.POD_DISRUPTION_BUDGET, "web", _used_up)],
)
def test_who_may_be_disturbed_changes_nothing_of_what_becomes_of_pods(
    kind: Kind, name: str, change: Callable[[Json], None]
) -> None:
    cluster = Changing()
    cluster.write(kind, name, change)
    assert cluster.work() == 0


def test_but_nobody_goes_who_may_no_longer_be_disturbed() -> None:
    cluster = Changing()
    cluster.write(kinds.POD_DISRUPTION_BUDGET, "web", _used_up)
    found = look(cluster.state.snapshot(), cluster.catalog, now=START, past=cluster.past).verdicts
    assert {name: str(verdict) for name, verdict in found.items()} == {
        name: str(verdict)
        for name, verdict in look(cluster.state.snapshot(), cluster.catalog, now=START).verdicts.items()
    }


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        (kinds.NODE, "n1", _less_room),
        (kinds.NODE, "n1", _label),
        (kinds.POD, "p-n1", _label),
        (kinds.NODE_POOL, "default", _limit),
    ],
)
def test_whatever_else_changes_all_is_worked_out_again(kind: Kind, name: str, change: Callable[[Json], None]) -> None:
    cluster = Changing()
    cluster.write(kind, name, change)
    assert cluster.work() > 0


def test_so_it_is_when_other_machines_are_sold_or_other_settings_hold() -> None:
    cluster = Changing()
    assert cluster.work(catalog=make_catalog(cluster.state.snapshot())) > 0
    assert cluster.work(settings=Settings(respect_preferences=False)) > 0


def test_so_it_is_when_a_node_has_been_left_alone_for_long_enough_to_be_moved_to() -> None:
    recent = stuck("recent", "c16", 16)
    recent[0]["status"]["lastPodEventTime"] = format_time(START - 30)
    pool = make_nodepool(disruption={**FREE, "consolidateAfter": "1m"})
    snapshot = Snapshot.from_objects([pool, *recent, *flat([stuck(f"n{number}") for number in range(3)])])
    catalog = make_catalog(snapshot)
    past = look(snapshot, catalog, now=START).past
    assert look(snapshot, catalog, now=START + 10, past=past).work == 0
    assert look(snapshot, catalog, now=START + 40, past=past).work > 0
