from __future__ import annotations

import pytest

from karpy import labels
from karpy.scheduling.barren import barren_pools
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_nodepool, selector

NOT_SOLD = selector(labels.INSTANCE_TYPE, "In", "nothing")
MANY = selector(labels.INSTANCE_TYPE, "Exists", min_values=99)


@pytest.mark.parametrize(
    ("wanted", "strict", "found"),
    [
        ([], True, []),
        ([NOT_SOLD], True, [("default", False)]),
        ([MANY], True, [("default", True)]),
        ([MANY], False, []),
    ],
    ids=["sells something", "nothing suits", "too few suit", "too few suit, and fewer will do"],
)
def test_pools_of_which_nothing_can_be_had(wanted: list[object], strict: bool, found: list[object]) -> None:
    snapshot = Snapshot.from_objects([make_nodepool(requirements=wanted)])
    barren = barren_pools(snapshot, make_catalog(snapshot), strict_min_values=strict)
    assert [(pool.name, for_min_values) for pool, for_min_values in barren] == found


def test_a_pool_without_a_catalog_is_another_matter() -> None:
    snapshot = Snapshot.from_objects([make_nodepool(requirements=[NOT_SOLD])])
    assert list(barren_pools(snapshot, make_catalog(snapshot, []), strict_min_values=True)) == []


def test_nor_does_one_count_that_must_not_grow() -> None:
    static = make_nodepool(requirements=[NOT_SOLD], spec={"replicas": 1})
    snapshot = Snapshot.from_objects([static])
    assert list(barren_pools(snapshot, make_catalog(snapshot), strict_min_values=True)) == []
