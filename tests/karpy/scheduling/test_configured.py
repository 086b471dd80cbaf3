from __future__ import annotations

import pytest

from karpy import labels
from karpy.errors import InvalidObject
from karpy.scheduling.configured import solve_as_set
from karpy.scheduling.packing import Packing
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import make_catalog, make_nodepool, make_pod, selector

PREFERS_BIG = {
    "affinity": {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [selector(labels.INSTANCE_TYPE, "In", "c16")]}}
            ]
        }
    }
}


def types(settings: Settings | None, **pool: object) -> list[str]:
    snapshot = Snapshot.from_objects([make_nodepool(**pool), make_pod(spec=PREFERS_BIG)])
    plan = solve_as_set(settings, snapshot, make_catalog(snapshot))
    return [priced.name for launch in plan.launches for priced in launch.instance_types]


def test_each_setting_reaches_the_solve() -> None:
    assert types(None) == types(Settings()) == ["c16"]
    assert "c16" not in types(Settings(respect_preferences=False))[:1]
    assert len(types(Settings(respect_preferences=False, max_instance_types=2))) == 2
    strict = [{**selector(labels.INSTANCE_TYPE, "Exists"), "minValues": 99}]
    assert types(Settings(respect_preferences=False), requirements=strict) == []
    assert types(Settings(respect_preferences=False, strict_min_values=False), requirements=strict) != []


def test_the_packing_that_is_set_counts_unless_another_is_asked_for() -> None:
    snapshot = Snapshot.from_objects([make_nodepool(), make_pod()])
    catalog, wrong = make_catalog(snapshot), Settings(packing="tidy")
    with pytest.raises(InvalidObject, match="packing: found 'tidy'"):
        solve_as_set(wrong, snapshot, catalog)
    assert solve_as_set(wrong, snapshot, catalog, packing=Packing.THRIFTY).launches
