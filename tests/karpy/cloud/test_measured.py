from __future__ import annotations

from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.measured import Measured
from karpy.objects.nodepool import NodeClassRef
from karpy.resources import MEMORY, Resources
from karpy.testing import make_instance_type

SMALL, LARGE = make_instance_type("small"), make_instance_type("large")
TYPES = InstanceTypes((SMALL, LARGE))
ONE, OTHER = NodeClassRef("x.io", "Class", "one"), NodeClassRef("x.io", "Class", "other")
ROOM = SMALL.allocatable


def less(by: int, name: str = MEMORY) -> Resources:
    return Resources({**ROOM, name: ROOM[name] - by})


def test_a_type_has_what_its_machines_have() -> None:
    measured = Measured()
    measured.note(ONE, "small", ROOM, less(1000))
    small, large = measured.applied(ONE, TYPES)
    assert small.allocatable == less(1000)
    assert large is LARGE


def test_the_smallest_machine_counts() -> None:
    measured = Measured()
    for by in (1000, 5000, 2000):
        measured.note(ONE, "small", ROOM, less(by))
    assert measured.applied(ONE, TYPES)[0].allocatable == less(5000)


def test_machines_that_keep_their_promise_change_nothing() -> None:
    measured = Measured()
    measured.note(ONE, "small", ROOM, ROOM)
    measured.note(ONE, "small", ROOM, less(-1000))
    assert measured.applied(ONE, TYPES) is TYPES


def test_what_may_only_be_late_is_not_missing() -> None:
    measured = Measured()
    measured.note(ONE, "small", Resources({**ROOM, "x.io/gpu": 4}), Resources({**ROOM, "x.io/gpu": 1}))
    measured.note(ONE, "small", ROOM, Resources({**ROOM, MEMORY: 0}))
    assert measured.applied(ONE, TYPES) is TYPES


def test_another_node_class_is_another_matter() -> None:
    measured = Measured()
    measured.note(ONE, "small", ROOM, less(1000))
    assert measured.applied(OTHER, TYPES) is TYPES


def test_the_same_knowledge_gives_the_same_catalog_again() -> None:
    measured = Measured()
    measured.note(ONE, "small", ROOM, less(1000))
    first = measured.applied(ONE, TYPES)
    measured.note(ONE, "small", ROOM, less(500))
    assert measured.applied(ONE, TYPES) is first
