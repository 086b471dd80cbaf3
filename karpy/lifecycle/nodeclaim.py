"""The next step in the life of a NodeClaim that is not being deleted."""

from __future__ import annotations

from karpy import labels
from karpy.lifecycle.initialization import initialization_patch, not_initialized
from karpy.lifecycle.registration import registration_patch
from karpy.lifecycle.states import State, state_of
from karpy.lifecycle.step import AddFinalizer, GiveUp, Initialize, Launch, Register, Rest, Step, Wait
from karpy.objects.node import Node
from karpy.objects.nodeclaim import INITIALIZED, LAUNCHED, REGISTERED, NodeClaim
from karpy.settings import Settings

__all__ = ["next_step"]


def next_step(claim: NodeClaim, node: Node | None, *, now: float, settings: Settings) -> Step:
    """What is due now (core specification 4.1–4.4). The same answer for the same arguments, however often it is asked."""
    state = state_of(claim)
    if state is State.CREATED:
        return _launch(claim, now, settings)
    if state is State.LAUNCHED:
        return _register(claim, node, now, settings)
    if state is State.REGISTERED:
        return _initialize(claim, node)
    return Rest()


def _launch(claim: NodeClaim, now: float, settings: Settings) -> Step:
    """Time runs from the first launch that failed, by the clock that noted it: the API server's clock may be another."""
    if labels.TERMINATION_FINALIZER not in claim.metadata.finalizers:
        return AddFinalizer()
    failed = claim.condition(LAUNCHED)
    if failed is not None and failed.since + settings.launch_timeout_s <= now:
        return GiveUp("launch_timeout", "NodeClaim was not launched in time")
    return Launch()


def _register(claim: NodeClaim, node: Node | None, now: float, settings: Settings) -> Step:
    if node is not None:
        return Register(registration_patch(claim, node))
    launched = claim.condition(LAUNCHED)
    since = launched.since if launched is not None else claim.metadata.created
    deadline = since + settings.registration_timeout_s
    if deadline <= now:
        return GiveUp("registration_timeout", "Node did not register in time")
    return Wait(REGISTERED, "NodeNotFound", "Node not registered with cluster", deadline - now)


def _initialize(claim: NodeClaim, node: Node | None) -> Step:
    if node is None:
        return Wait(INITIALIZED, "NodeNotFound", "Node not registered with cluster")
    missing = not_initialized(claim, node)
    if missing is not None:
        return Wait(INITIALIZED, *missing)
    return Initialize(initialization_patch(node))
