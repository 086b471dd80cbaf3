from __future__ import annotations

from karpy.sim.scheduler.reasons import NODE_AFFINITY, UNSCHEDULABLE, insufficient, summary


def test_reasons_are_counted_over_nodes_and_sorted_as_text() -> None:
    refusals = {f"n{i}": insufficient(False, ("cpu",)) for i in range(10)}
    refusals |= {"m1": NODE_AFFINITY, "m2": UNSCHEDULABLE}
    assert summary(refusals) == (
        "0/12 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) were unschedulable, "
        "10 Insufficient cpu."
    )
