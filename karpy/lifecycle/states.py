"""The life of a NodeClaim: every state, every way from one to the next, and what leads there.

`TRANSITIONS` is the whole truth: `move` refuses what is not in it.
"""

from __future__ import annotations

import enum

from karpy.errors import InternalError
from karpy.objects.nodeclaim import DRAINED, INSTANCE_TERMINATING, NodeClaim

__all__ = ["TRANSITIONS", "State", "move", "state_of"]


class State(enum.Enum):
    """How far a claim is."""

    CREATED = "Created"
    LAUNCHED = "Launched"
    REGISTERED = "Registered"
    INITIALIZED = "Initialized"
    DRAINING = "Draining"
    TERMINATING = "Terminating"
    GONE = "Gone"


TRANSITIONS: dict[tuple[State, State], str] = {
    (State.CREATED, State.LAUNCHED): "the cloud runs an instance for it",
    (State.CREATED, State.GONE): "given up before there was an instance: sold out, node class not ready, time-out",
    (State.LAUNCHED, State.REGISTERED): "its node joined",
    (State.LAUNCHED, State.TERMINATING): "deleted, or its node never joined: there are no pods to move",
    (State.REGISTERED, State.INITIALIZED): "its node is ready, start-up taints are gone, resources are reported",
    (State.REGISTERED, State.DRAINING): "deleted before it was ready",
    (State.INITIALIZED, State.DRAINING): "deleted: by a user, by disruption, by expiry",
    (State.DRAINING, State.TERMINATING): "no pod is left that has to be moved",
    (State.TERMINATING, State.GONE): "the cloud says that the instance is no more",
}


def state_of(claim: NodeClaim) -> State:
    """Where the claim stands, from its conditions alone: nothing else survives a restart."""
    if claim.metadata.is_deleting:
        if not claim.provider_id:
            return State.GONE
        if claim.is_true(INSTANCE_TERMINATING) or claim.is_true(DRAINED) or not claim.is_registered:
            return State.TERMINATING
        return State.DRAINING
    if claim.is_initialized:
        return State.INITIALIZED
    if claim.is_registered:
        return State.REGISTERED
    return State.LAUNCHED if claim.is_launched else State.CREATED


def move(source: State, target: State) -> str:
    """What leads from one state to the other.

    Raises:
        InternalError: nothing does.
    """
    if (source, target) not in TRANSITIONS:
        raise InternalError(f"a NodeClaim cannot go from {source.value} to {target.value}")
    return TRANSITIONS[source, target]
