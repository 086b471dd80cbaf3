"""The next step in the life of a NodeClaim that is not being deleted."""

from __future__ import annotations

from collections.abc import Sequence

from karpy import labels
from karpy.lifecycle.initialization import initialization_patch, not_initialized
from karpy.lifecycle.liveness import (
    TimeLimits,
    launch_overdue,
    registration_left_s,
    registration_overdue,
    time_limits,
)
from karpy.lifecycle.states import State, state_of
from karpy.lifecycle.step import AddFinalizer, Initialize, Launch, Register, Rest, Step, Wait
from karpy.objects.node import Node
from karpy.objects.nodeclaim import INITIALIZED, REGISTERED, NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.settings import Settings

__all__ = ["NODE_NOT_FOUND", "next_step"]

NODE_NOT_FOUND = ("NodeNotFound", "Node not registered with cluster")
"""Reason and message of what waits for the node."""


def next_step(
    claim: NodeClaim, nodes: Sequence[Node], pool: NodePool | None, *, now: float, settings: Settings
) -> Step:
    """What is due now (core specification 4.1-4.4). The same answer for the same arguments, however often it is asked.

    ``nodes`` are all that carry the claim's provider id.
    """
    state = state_of(claim)
    if state is State.CREATED:
        return _launch(claim, time_limits(pool, settings), now)
    if state is State.LAUNCHED:
        return _register(claim, nodes, time_limits(pool, settings), now)
    if state is State.REGISTERED:
        return _initialize(claim, next((node for node in nodes if node.name == claim.node_name), None))
    return Rest()


def _launch(claim: NodeClaim, limits: TimeLimits, now: float) -> Step:
    if labels.TERMINATION_FINALIZER not in claim.metadata.finalizers:
        return AddFinalizer()
    return launch_overdue(claim, limits, now) or Launch()


def _register(claim: NodeClaim, nodes: Sequence[Node], limits: TimeLimits, now: float) -> Step:
    """A node that joins late is welcome all the same, as long as it is the only one. One that is on its way out has not joined."""
    nodes = [node for node in nodes if not node.metadata.is_deleting]
    if len(nodes) == 1:
        return Register(nodes[0])
    overdue = registration_overdue(claim, limits, now)
    if overdue is not None:
        return overdue
    left = registration_left_s(claim, limits, now)
    if nodes:
        told = f"Invariant violated, matched multiple nodes ({', '.join(node.name for node in nodes)})"
        return Wait(REGISTERED, "MultipleNodesFound", told, left, status="False")
    return Wait(REGISTERED, *NODE_NOT_FOUND, left)


def _initialize(claim: NodeClaim, node: Node | None) -> Step:
    if node is None:
        return Wait(INITIALIZED, *NODE_NOT_FOUND)
    missing = not_initialized(claim, node)
    if missing is not None:
        return Wait(INITIALIZED, *missing)
    return Initialize(node, initialization_patch(node))
