"""Claims that karpy deletes on its own initiative are counted, with the pods that have to move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karpy.metrics import NODECLAIMS_DISRUPTED, PODS_DISRUPTION_INITIATED
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from tests.karpy.controllers.stage import Stage, apps, pool, refusal


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


def test_where_one_of_several_cannot_be_deleted_the_others_are_counted_once() -> None:
    several = pool()
    several["spec"]["disruption"]["budgets"] = [{"nodes": "100%"}]
    stage = Stage(several)
    for name in "abc":
        stage.world.apply([apps(name, 1, "7")])
        stage.run(60)
    names, asked = stage.names(kinds.NODE_CLAIM), list[str]()
    assert len(names) == 3

    def delete(real: Callable[..., Any], kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            asked.append(name)
            if len(asked) == 2:
                raise refusal(500)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", delete)
    for name in "abc":
        stage.scale(name, 0)
    stage.run(300)
    assert stage.names(kinds.NODE_CLAIM) == []
    assert sorted(asked) == sorted([*names, asked[1]])
    assert len(stage.metrics.told(NODECLAIMS_DISRUPTED)) == 3
