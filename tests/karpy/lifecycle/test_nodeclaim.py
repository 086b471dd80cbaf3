from __future__ import annotations

from typing import Any

import pytest

from karpy.lifecycle.nodeclaim import next_step
from karpy.lifecycle.step import AddFinalizer, GiveUp, Initialize, Launch, Register, Rest, Step, Wait
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.settings import Settings
from karpy.testing import START, make_claim, make_condition, make_machine, make_nodepool

SETTINGS = Settings()
LAUNCHED, REGISTERED = ("Launched",), ("Launched", "Registered")


def step(claim: dict[str, Any], node: dict[str, Any] | None = None, *, at: float = 0.0) -> Step:
    """What is due ``at`` seconds after the claim was made."""
    return next_step(
        NodeClaim.from_dict(claim),
        () if node is None else (Node.from_dict(node),),
        NodePool.from_dict(make_nodepool()),
        now=START + at,
        settings=SETTINGS,
    )


@pytest.mark.core("CORE-664")
def test_a_claim_is_held_before_there_is_an_instance() -> None:
    assert step(make_claim(reached=(), metadata={"finalizers": []})) == AddFinalizer()
    assert step(make_claim(reached=())) == Launch()


@pytest.mark.core("CORE-661")
@pytest.mark.parametrize(("seconds", "given_up"), [(399.0, False), (400.0, True)])
def test_a_launch_that_fails_for_too_long_is_given_up(seconds: float, given_up: bool) -> None:
    failing = make_condition("Launched", START + 100, "Unknown", "LaunchFailed")
    found = step(make_claim(reached=(), conditions=[failing]), at=seconds)
    assert found == (GiveUp("launch_timeout", 300.0) if given_up else Launch())


@pytest.mark.core("CORE-661")
def test_a_claim_that_looks_old_is_launched_all_the_same() -> None:
    """The API server's clock made it look old: a claim that nobody tried to launch has not failed."""
    assert step(make_claim(reached=()), at=100_000.0) == Launch()


def test_until_its_node_joins_the_claim_waits() -> None:
    found = step(make_claim(reached=LAUNCHED), at=60.0)
    assert found == Wait("Registered", "NodeNotFound", "Node not registered with cluster", 840.0)


@pytest.mark.core("CORE-662")
def test_a_node_that_never_joins_is_given_up() -> None:
    assert step(make_claim(reached=LAUNCHED), at=900.0) == GiveUp("registration_timeout", 900.0)


@pytest.mark.core("CORE-662")
def test_a_node_that_joins_late_is_still_welcome() -> None:
    assert isinstance(step(*make_machine("m", reached=LAUNCHED), at=5000.0), Register)


@pytest.mark.core("CORE-660")
def test_a_registered_claim_is_never_given_up() -> None:
    claim, _node = make_machine("m", reached=REGISTERED)
    assert isinstance(step(claim, at=1e9), Wait)


@pytest.mark.core("CORE-656", "CORE-657")
def test_a_registered_node_that_is_ready_is_initialized() -> None:
    found = step(*make_machine("m", reached=REGISTERED))
    assert isinstance(found, Initialize)
    assert found.node.name == "m"
    assert found.node_patch == {"metadata": {"resourceVersion": "1", "labels": {"karpenter.sh/initialized": "true"}}}


def test_what_is_missing_is_told() -> None:
    claim, node = make_machine("m", reached=REGISTERED)
    node["status"]["conditions"] = []
    assert step(claim, node) == Wait("Initialized", "NodeNotReady", "Node status is NotReady")


def test_a_node_that_vanished_before_it_was_up_is_waited_for() -> None:
    assert step(make_claim(reached=REGISTERED)) == Wait(
        "Initialized", "NodeNotFound", "Node not registered with cluster"
    )


def test_a_machine_that_is_up_needs_nothing() -> None:
    assert step(*make_machine("m")) == Rest()


def test_the_same_question_has_the_same_answer() -> None:
    claim, node = make_machine("m", reached=LAUNCHED)
    assert step(claim, node) == step(claim, node)


def test_several_nodes_of_one_claim_are_a_contradiction_that_is_told_by_name() -> None:
    claim, node = make_machine("m", reached=LAUNCHED)
    twin = {**node, "metadata": {**node["metadata"], "name": "twin"}}
    nodes = [Node.from_dict(each) for each in (node, twin)]
    found = next_step(NodeClaim.from_dict(claim), nodes, None, now=START, settings=SETTINGS)
    told = "Invariant violated, matched multiple nodes (m, twin)"
    assert found == Wait("Registered", "MultipleNodesFound", told, 900.0, status="False")
    late = next_step(NodeClaim.from_dict(claim), nodes, None, now=START + 900, settings=SETTINGS)
    assert late == GiveUp("registration_timeout", 900.0)


def test_a_node_that_is_on_its_way_out_does_not_count() -> None:
    claim, node = make_machine("m", reached=LAUNCHED)
    leaving = {**node["metadata"], "name": "old", "deletionTimestamp": "2026-01-05T09:00:00Z"}
    old, new = Node.from_dict({**node, "metadata": leaving}), Node.from_dict(node)
    read = NodeClaim.from_dict(claim)
    assert next_step(read, [new, old], None, now=START, settings=SETTINGS) == Register(new)
    alone = next_step(read, [old], None, now=START, settings=SETTINGS)
    assert alone == Wait("Registered", "NodeNotFound", "Node not registered with cluster", 900.0)


@pytest.mark.core("CORE-662")
def test_a_pool_may_give_its_nodes_more_time() -> None:
    pool = make_nodepool()
    pool["metadata"]["annotations"] = {"karpy.dev/registration-timeout": "30m"}
    claim = NodeClaim.from_dict(make_claim(reached=LAUNCHED))
    read = NodePool.from_dict(pool)
    late, later = (next_step(claim, (), read, now=START + at, settings=SETTINGS) for at in (1799.0, 1800.0))
    assert late == Wait("Registered", "NodeNotFound", "Node not registered with cluster", 1.0)
    assert later == GiveUp("registration_timeout", 1800.0)
