from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from karpy.labels import CORE_LABELS
from karpy.objects.pod import Pod
from karpy.scheduling.classes import PodClass, classify, read_pods
from karpy.scheduling.existing import ExistingNode, existing_nodes
from karpy.scheduling.lots import Lot
from karpy.scheduling.shelves import Fitting, Row, Shelved, Sieve, Sifted
from karpy.state.snapshot import Snapshot, Storage
from karpy.testing import make_node, make_pod

RowOf = Callable[[list[ExistingNode]], Row]


def nodes(*cpus: int) -> list[ExistingNode]:
    room = [{"cpu": f"{cpu}m", "memory": f"{10_000 - cpu}", "pods": "10"} for cpu in cpus]
    objects = [make_node(f"n{index:03d}", room=each) for index, each in enumerate(room)]
    return existing_nodes(Snapshot.from_objects(objects), ())


def pod_class(cpu: int) -> PodClass:
    pod = Pod.from_dict(make_pod(requests={"cpu": f"{cpu}m"}))
    (found,) = classify(read_pods([pod], CORE_LABELS, {}, Storage())[0], lambda _pod: ())
    return found


def shelved(held: list[ExistingNode]) -> Row:
    return Shelved(held, range(len(held)))


def sifted(held: list[ExistingNode]) -> Row:
    return Sifted(Fitting([node.own() for node in held]), range(len(held))).over(held)


KINDS = pytest.mark.parametrize("row_of", [shelved, sifted])


def first(held: list[ExistingNode], members: range, asked: PodClass) -> int:
    """The same by looking at every node."""
    fitting = (place for place in members if all(held[place].free.get(name, 0) >= n for name, n in asked.amounts))
    return next(fitting, len(held))


@KINDS
def test_the_first_node_with_room_is_found_from_wherever_the_search_begins(row_of: RowOf) -> None:
    row = row_of(nodes(*([100] * 40), 500, *([100] * 40), 500, 100))
    amounts = (("cpu", 300),)
    assert [row.first_with_room(start, amounts) for start in (0, 40, 41, 81, 82)] == [40, 40, 81, 81, 83]


@KINDS
def test_all_resources_must_be_there_on_one_node(row_of: RowOf) -> None:
    row = row_of(nodes(100, 9_900))
    assert row.first_with_room(0, (("cpu", 9_000), ("memory", 9_000))) == 2
    assert row.first_with_room(0, (("cpu", 1), ("gpu", 1))) == 2


def test_filling_nodes_is_noticed() -> None:
    dice = random.Random(0)
    held = nodes(*(dice.randrange(100, 4_000, 100) for _ in range(100)))
    fitting = Fitting([node.own() for node in held])
    everything, some = range(100), range(20, 90, 2)  # rows may share nodes
    rows: list[Row] = [Shelved(held, everything), Shelved(held, some)]
    rows += [Sifted(fitting, everything).over(held), Sifted(fitting, some).over(held)]
    for _ in range(400):
        asked = pod_class(dice.randrange(100, 4_000, 100))
        for row, members in zip(rows, (everything, some) * 2, strict=True):
            place = row.first_with_room(0, asked.amounts)
            assert place == first(held, members, asked)
            if place < len(held):
                assert held[place].add(Lot(asked, asked.pods)) == 1


def test_nodes_that_are_gone_are_passed_over() -> None:
    held = nodes(500, 100, 500, 500)
    fitting = Fitting(held)
    row = Sifted(fitting, range(4)).over(held, Sieve(fitting, gone=(0, 2)))
    assert row.first_with_room(0, (("cpu", 300),)) == 3
    assert row.first_with_room(0, (("cpu", 100),)) == 1


@KINDS
def test_a_row_may_be_empty(row_of: RowOf) -> None:
    assert row_of([]).first_with_room(0, (("cpu", 1),)) == 0
