"""The life of a NodeClaim: every state, every way from one to the next, what leads there, and what sees to it that one is taken.

`TRANSITIONS` is the whole truth: ``docs/lifecycle.md`` is drawn from it.
"""

from __future__ import annotations

import enum

import attrs

from karpy.objects.nodeclaim import DRAINED, INSTANCE_TERMINATING, VOLUMES_DETACHED, NodeClaim

__all__ = ["MEANINGS", "TRANSITIONS", "State", "Surety", "Transition", "state_of"]


class State(enum.Enum):
    """How far a claim is."""

    CREATED = "Created"
    LAUNCHED = "Launched"
    REGISTERED = "Registered"
    INITIALIZED = "Initialized"
    DRAINING = "Draining"
    DETACHING = "Detaching"
    TERMINATING = "Terminating"
    RELEASING = "Releasing"
    GONE = "Gone"


class Surety(enum.Enum):
    """What brings a transition about if nothing else does."""

    TIME = "time alone"
    DELETION = "deletion"


@attrs.frozen
class Transition:
    """A way from one state to another. ``surely`` is None where it hangs on somebody who may never do his part."""

    source: State
    target: State
    when: str
    surely: Surety | None = None


MEANINGS: dict[State, str] = {
    State.CREATED: "the claim exists; the cloud is asked for a machine",
    State.LAUNCHED: "the machine exists; its node is waited for",
    State.REGISTERED: "the node joined and carries what its claim says; it is not ready for pods yet",
    State.INITIALIZED: "the node takes pods",
    State.DRAINING: "deleted: the pods leave, in order",
    State.DETACHING: "deleted: the pods have left; their volumes are waited for",
    State.TERMINATING: "deleted: the cloud ends the machine",
    State.RELEASING: "deleted, and no machine is known: the cloud is asked whether there is one after all",
    State.GONE: "the finalizer is off, and the claim is no more",
}

TRANSITIONS: tuple[Transition, ...] = (
    Transition(State.CREATED, State.LAUNCHED, "the cloud runs a machine for it"),
    Transition(
        State.CREATED,
        State.RELEASING,
        "sold out, node class missing or not ready, launch time-out; or it was deleted",
        Surety.TIME,
    ),
    Transition(State.CREATED, State.GONE, "it was deleted before karpy held it by its finalizer"),
    Transition(State.LAUNCHED, State.REGISTERED, "its node joined, and every registration hook let it pass"),
    Transition(
        State.LAUNCHED,
        State.TERMINATING,
        "registration time-out; or it was deleted: without a node there are no pods to move",
        Surety.TIME,
    ),
    Transition(
        State.REGISTERED,
        State.INITIALIZED,
        "its node is ready, start-up and ephemeral taints are off, what was asked for is reported",
    ),
    Transition(State.REGISTERED, State.DRAINING, "it was deleted before it was ready", Surety.DELETION),
    Transition(
        State.INITIALIZED,
        State.DRAINING,
        "it was deleted: by a user, by disruption, by expiry, by repair, or because its machine is gone",
        Surety.DELETION,
    ),
    Transition(
        State.DRAINING,
        State.DETACHING,
        "no pod is left that has to be moved, and volumes are still attached",
    ),
    Transition(
        State.DRAINING,
        State.TERMINATING,
        "no pod is left, the termination grace period is over, or the node is gone",
        Surety.DELETION,
    ),
    Transition(
        State.DETACHING,
        State.TERMINATING,
        "the volumes are detached, the termination grace period is over, or the node is gone",
        Surety.DELETION,
    ),
    Transition(
        State.RELEASING,
        State.TERMINATING,
        "the cloud runs a machine for it: karpy was stopped before it could note that",
    ),
    Transition(State.RELEASING, State.GONE, "the cloud runs no machine for it", Surety.TIME),
    Transition(State.TERMINATING, State.GONE, "the cloud says that the machine is no more", Surety.DELETION),
)


def state_of(claim: NodeClaim) -> State:
    """Where the claim stands, from what is written on it alone: nothing else survives a restart."""
    if claim.metadata.is_deleting:
        return _state_at_the_end(claim)
    if claim.is_initialized:
        return State.INITIALIZED
    if claim.is_registered:
        return State.REGISTERED
    return State.LAUNCHED if claim.is_launched else State.CREATED


def _state_at_the_end(claim: NodeClaim) -> State:
    if claim.is_true(INSTANCE_TERMINATING):
        return State.TERMINATING
    if not claim.is_launched:
        return State.RELEASING
    if not claim.is_registered:
        return State.TERMINATING
    if not claim.is_true(DRAINED):
        return State.DRAINING
    detached = claim.condition(VOLUMES_DETACHED)
    return State.DETACHING if detached is not None and detached.status == "Unknown" else State.TERMINATING
