"""Claims that karpy deletes on its own initiative are counted, with the pods that have to move."""

from __future__ import annotations

import pytest

from karpy.metrics import NODECLAIMS_DISRUPTED, PODS_DISRUPTION_INITIATED
from tests.karpy.controllers.stage import Stage, apps, pool


def test_an_underutilized_node_is_counted_with_the_policy_of_its_pool_and_its_pods() -> None:
    stage = Stage()
    stage.grown(apps("a", 2, "500m"), apps("b", 1, "6"))
    stage.scale("b", 0)
    stage.run(300)
    ((_, told),) = stage.metrics.told(NODECLAIMS_DISRUPTED)
    assert told == {
        "reason": "underutilized",
        "nodepool": "default",
        "capacity_type": "on-demand",
        "consolidation_policy": "when_empty_or_underutilized",
        "termination_mode": "graceful",
    }
    assert stage.metrics.told(PODS_DISRUPTION_INITIATED) == [(2, told)]


@pytest.mark.parametrize(("grace", "mode"), [("10s", "eventual"), ("0s", "forceful")])
def test_how_pods_leave_is_counted_too(grace: str, mode: str) -> None:
    stage = Stage(pool(terminationGracePeriod=grace))
    stage.grown(apps("a", 1))
    stage.scale("a", 0)
    stage.run(300)
    ((_, told),) = stage.metrics.told(NODECLAIMS_DISRUPTED)
    assert (told["reason"], told["termination_mode"]) == ("empty", mode)
    assert stage.metrics.told(PODS_DISRUPTION_INITIATED) == []
