"""How many machines a static pool lacks, and which of those that are too many go."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.static import Missing, missing, surplus
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.state.snapshot import Fleet, NodeView

TRUE = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def pool(replicas: int | None, nodes: str | None = None) -> NodePool:
    spec: dict[str, Any] = {"replicas": replicas, "limits": None if nodes is None else {"nodes": nodes}}
    return NodePool.from_dict({"metadata": {"name": "p"}, "spec": spec})


def pod(name: str, *, daemon: bool = False, held: bool = False) -> Pod:
    owner = {"kind": "DaemonSet" if daemon else "ReplicaSet", "apiVersion": "apps/v1", "name": "o", "controller": True}
    notes = {"karpenter.sh/do-not-disrupt": "true"} if held else {}
    meta = {"name": name, "namespace": "d", "uid": name, "ownerReferences": [owner], "annotations": notes}
    return Pod.from_dict({"metadata": meta, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}})


def machine(
    name: str,
    *pods: Pod,
    launched: bool = True,
    deleting: bool = False,
    marked: bool = False,
    created: str = "2026-01-01T00:00:00Z",
) -> NodeView:
    labels = {"karpenter.sh/nodepool": "p"}
    meta: dict[str, Any] = {"name": name, "labels": labels, "creationTimestamp": created}
    if deleting:
        meta["deletionTimestamp"] = created
    status: dict[str, Any] = {"providerID": f"sim://{name}"} if launched else {}
    if launched:
        status["conditions"] = [{"type": type_, **TRUE} for type_ in ("Launched", "Registered", "Initialized")]
    claim = NodeClaim.from_dict({"metadata": meta, "status": status})
    node = Node.from_dict({"metadata": {"name": name, "labels": labels}, "spec": {"providerID": f"sim://{name}"}})
    return NodeView(node=node if launched else None, claim=claim, pods=pods, marked_for_deletion=marked)


def moving(view: NodeView) -> float:
    return float(len(view.reschedulable_pods))


def lacking(of: NodePool, *views: NodeView, is_trying: bool = False) -> Missing:
    return missing(of, Fleet(views), is_trying=is_trying)


def going(of: NodePool, *views: NodeView) -> list[str]:
    return [view.claim.name for view in surplus(of, Fleet(views), moving) if view.claim is not None]


@pytest.mark.core("CORE-715", "CORE-716")
@pytest.mark.parametrize(("replicas", "there", "wanted"), [(None, 0, 0), (0, 0, 0), (2, 2, 0), (2, 3, 0), (3, 1, 2)])
def test_what_is_missing_is_wanted(replicas: int | None, there: int, wanted: int) -> None:
    assert lacking(pool(replicas), *(machine(f"m{i}") for i in range(there))) == Missing(wanted, wanted)


@pytest.mark.core("CORE-502", "CORE-716")
@pytest.mark.parametrize(("limit", "now"), [("9", 4), ("4", 3), ("2", 1), ("1", 0), ("0", 0)])
def test_the_limit_gives_all_some_or_none(limit: str, now: int) -> None:
    assert lacking(pool(5, limit), machine("m")) == Missing(4, now)


@pytest.mark.core("CORE-502", "CORE-716")
def test_every_machine_that_is_still_there_counts_against_the_limit() -> None:
    views = (machine("a"), machine("b", launched=False), machine("c", deleting=True))
    assert lacking(pool(6, "4"), *views) == Missing(4, 1)


@pytest.mark.core("CORE-501", "CORE-717")
def test_a_machine_that_is_to_be_replaced_is_neither_missing_nor_too_much() -> None:
    views = (machine("a"), machine("b", marked=True), machine("replacement"))
    assert lacking(pool(2), *views) == Missing(0, 0)
    assert going(pool(2), *views) == []


def test_while_a_pool_is_tried_it_gets_one_machine_at_a_time() -> None:
    assert lacking(pool(5), machine("a"), is_trying=True) == Missing(4, 1)
    assert lacking(pool(5), machine("a"), machine("b", launched=False), is_trying=True) == Missing(3, 0)


@pytest.mark.core("CORE-717")
@pytest.mark.parametrize(("replicas", "count"), [(4, 0), (3, 0), (1, 2), (0, 3)])
def test_a_pool_is_trimmed_to_its_replicas(replicas: int, count: int) -> None:
    views = (machine("a"), machine("b"), machine("c"), machine("ending", deleting=True))
    assert len(going(pool(replicas), *views)) == count


@pytest.mark.core("CORE-718")
def test_first_go_those_that_do_not_run_then_empty_ones_then_the_cheapest_and_the_protected_at_last() -> None:
    views = (
        machine("protected", pod("x", held=True)),
        machine("protected-daemon", pod("d", daemon=True, held=True)),
        machine("dear", pod("a"), pod("b")),
        machine("cheap", pod("c")),
        machine("empty", pod("e", daemon=True)),
        machine("unlaunched", launched=False),
    )
    order = ["unlaunched", "empty", "cheap", "dear", "protected-daemon", "protected"]
    assert [going(pool(6 - count), *views) for count in range(1, 7)] == [order[:count] for count in range(1, 7)]


@pytest.mark.core("CORE-718")
def test_among_equals_the_youngest_goes() -> None:
    views = (
        machine("old", created="2026-01-01T00:00:00Z"),
        machine("young", created="2026-01-03T00:00:00Z"),
        machine("middle", created="2026-01-02T00:00:00Z"),
    )
    assert going(pool(1), *views) == ["young", "middle"]
