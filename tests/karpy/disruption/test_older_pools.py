"""Pools of older API generations give nodes back as they did in their day."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.command import Method
from karpy.disruption.engine import look
from karpy.lifecycle.disruptable import consolidatable_in
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog
from tests.karpy.disruption.deciding import Json, machine, pod

ROOM = {"name": "default"}


def beta(**disruption: Any) -> Json:
    return {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": "default", "uid": "u"},
        "spec": {"template": {"spec": {"nodeClassRef": ROOM, "requirements": []}}, "disruption": disruption},
    }


def provisioner(**spec: Any) -> Json:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default", "uid": "u"},
        "spec": {"providerRef": ROOM, **spec},
    }


def goes(pool: Json, *pods: Json, budget: bool = True) -> Method | None:
    """By which method a large node goes that holds so little."""
    if pool["apiVersion"].endswith("v1beta1") and budget:
        pool["spec"]["disruption"]["budgets"] = [{"nodes": "100%"}]
    snapshot = Snapshot.from_objects([pool, *machine("a", "c16", 16), *pods])
    commands = look(snapshot, make_catalog(snapshot), now=START).commands
    return commands[0].method if commands else None


LITTLE = pod("p", "a")


@pytest.mark.parametrize(
    ("pool", "empty", "little"),
    [
        (beta(consolidationPolicy="WhenUnderutilized"), Method.EMPTINESS, Method.SINGLE_NODE),
        (beta(), Method.EMPTINESS, Method.SINGLE_NODE),
        (beta(consolidationPolicy="WhenUnderutilized", consolidateAfter="Never"), None, None),
        (beta(consolidationPolicy="WhenEmpty", consolidateAfter="30s"), Method.EMPTINESS, None),
        (provisioner(consolidation={"enabled": True}), Method.EMPTINESS, Method.SINGLE_NODE),
        (provisioner(ttlSecondsAfterEmpty=30), Method.EMPTINESS, None),
        (provisioner(consolidation={"enabled": False}), None, None),
        (provisioner(), None, None),
    ],
)
def test_what_the_pool_says_is_what_goes(pool: Json, empty: Method | None, little: Method | None) -> None:
    assert goes(pool) is empty
    assert goes(pool, LITTLE) is little


@pytest.mark.parametrize(
    ("pool", "seconds"),
    [
        (beta(consolidationPolicy="WhenUnderutilized"), 0),
        (beta(consolidationPolicy="WhenEmpty", consolidateAfter="30s"), 30),
        (beta(consolidationPolicy="WhenUnderutilized", consolidateAfter="Never"), None),
        (provisioner(ttlSecondsAfterEmpty=30), 30),
        (provisioner(consolidation={"enabled": True}), 0),
        (provisioner(), None),
    ],
)
def test_a_node_waits_for_as_long_as_the_pool_says(pool: Json, seconds: float | None) -> None:
    snapshot = Snapshot.from_objects([pool, *machine("a", "c16", 16)])
    claim, (found,) = snapshot.nodes[0].claim, snapshot.pools
    assert claim is not None
    assert consolidatable_in(claim, found, now=START) == seconds


@pytest.mark.parametrize(
    ("pool", "seconds"),
    [
        (provisioner(ttlSecondsUntilExpired=60), 60),
        (provisioner(), None),
        (beta(expireAfter="1m"), 60),
        (beta(expireAfter="Never"), None),
    ],
)
def test_its_nodes_expire_as_it_says(pool: Json, seconds: float | None) -> None:
    (found,) = Snapshot.from_objects([pool]).pools
    assert found.expire_after_s == seconds
