from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import format_time
from karpy.lifecycle.disruptable import consolidatable_in
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.testing import START, make_claim, make_nodepool


def seconds(after: str, *, now: float, last_event: float | None = None, **pool: Any) -> float | None:
    raw = make_claim()
    if last_event is not None:
        raw["status"]["lastPodEventTime"] = format_time(START + last_event)
    found = NodePool.from_dict(make_nodepool(disruption={"consolidateAfter": after}, **pool))
    return consolidatable_in(NodeClaim.from_dict(raw), found, now=START + now)


@pytest.mark.core("CORE-675")
def test_a_node_is_left_alone_for_a_while_after_it_came_up() -> None:
    assert [seconds("30s", now=now) for now in (0, 10, 30, 99)] == [30.0, 20.0, 0.0, 0.0]


@pytest.mark.core("CORE-675", "CORE-676")
def test_the_time_starts_anew_with_each_pod_that_comes_or_goes() -> None:
    assert seconds("30s", now=100, last_event=90) == 20.0
    assert seconds("0s", now=100, last_event=100) == 0.0


@pytest.mark.core("CORE-676", "CORE-684")
def test_some_are_never_consolidatable() -> None:
    assert seconds("Never", now=1e6) is None
    assert seconds("0s", now=1e6, spec={"replicas": 1}) is None
    young = NodeClaim.from_dict(make_claim(reached=("Launched", "Registered")))
    pool = NodePool.from_dict(make_nodepool())
    assert consolidatable_in(young, pool, now=START) is None
    assert consolidatable_in(NodeClaim.from_dict(make_claim()), None, now=START) is None
