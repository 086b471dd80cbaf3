from __future__ import annotations

import pytest

from karpy_aws.measuredmemory import MeasuredMemory

IMAGES = frozenset({"ami-1", "ami-2"})
DAY = 86_400.0


@pytest.mark.aws("AWS-119")
def test_the_least_that_nodes_had_counts() -> None:
    memory = MeasuredMemory()
    for amount in (100, 90, 95):
        memory.note("m5.large", IMAGES, "ami-2", amount, now=0.0)
    assert memory.at(IMAGES, now=1.0) == {"m5.large": 90}


@pytest.mark.aws("AWS-119")
def test_other_images_start_anew() -> None:
    memory = MeasuredMemory()
    memory.note("m5.large", IMAGES, "ami-1", 100, now=0.0)
    assert memory.at(frozenset({"ami-3"}), now=1.0) == {}


@pytest.mark.aws("AWS-119")
def test_a_node_with_an_image_that_the_class_no_longer_has_tells_nothing() -> None:
    memory = MeasuredMemory()
    memory.note("m5.large", IMAGES, "ami-9", 100, now=0.0)
    assert memory.at(IMAGES, now=1.0) == {}


def test_it_is_forgotten_after_sixty_days_without_a_node() -> None:
    memory = MeasuredMemory()
    memory.note("m5.large", IMAGES, "ami-1", 100, now=0.0)
    memory.note("c5.large", IMAGES, "ami-1", 100, now=30 * DAY)
    assert set(memory.at(IMAGES, now=60 * DAY)) == {"c5.large"}


def test_it_is_the_same_object_while_nothing_changes() -> None:
    memory = MeasuredMemory()
    memory.note("m5.large", IMAGES, "ami-1", 100, now=0.0)
    before = memory.at(IMAGES, now=1.0)
    memory.note("m5.large", IMAGES, "ami-1", 200, now=2.0)
    assert memory.at(IMAGES, now=3.0) is before
