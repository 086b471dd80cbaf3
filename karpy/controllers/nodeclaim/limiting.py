"""A machine is launched only where its pool's limits leave room for it, whoever else launches at the same moment.

The plan saw to that already. But a node that the machine was to replace may be there to stay, since karpy started anew in between;
and claims that were made by hand, or by two plans that did not know of each other, are in no plan together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs

from karpy.cloud.instancetype import InstanceType, allocatable_groups
from karpy.controllers.shared import Shared
from karpy.errors import CreateFailed, InsufficientCapacity, NodeClassNotReady, Throttled
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.resources import NODES, Resources, total

__all__ = ["Limiting"]

_WAIT_S = 1.0
_NOTHING_LAUNCHED = (CreateFailed, InsufficientCapacity, NodeClassNotReady, Throttled)


@attrs.frozen
class _Charge:
    """What a launch that the cloud has not answered yet may come to."""

    pool: str
    most: Resources


class Limiting:
    """Charges launches that are under way to the limits of their pools. Safe from several threads."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._under_way: dict[str, _Charge] = {}
        self._launching: set[str] = set()

    @contextmanager
    def launching(self, claim: NodeClaim) -> Iterator[None]:
        """What is charged for the claim stays charged until it is certain what the launch came to: that there is no machine, or
        that the state knows it, or that the claim is gone. An error after the launch leaves that open."""
        with self._lock:
            self._launching.add(claim.name)
        try:
            yield
        except _NOTHING_LAUNCHED:
            self._settle(claim.name)
            raise
        finally:
            with self._lock:
                self._launching.discard(claim.name)

    def _settle(self, name: str) -> None:
        with self._lock:
            self._under_way.pop(name, None)

    def _forget_settled(self) -> None:
        """Launches that nobody is at any more, and of which the state knows what came of them."""
        for name in [name for name in self._under_way if name not in self._launching]:
            view = self._shared.state.machine(name)
            if view is None or view.claim is None or view.claim.capacity:
                del self._under_way[name]

    def within(self, claim: NodeClaim, pool: NodePool, found: tuple[InstanceType, ...]) -> tuple[InstanceType, ...]:
        """The types that the pool's limits leave room for now; the largest of them is charged.

        Raises:
            InsufficientCapacity: there is room for none.
            Throttled: nor will there be, if launches that are under way come to the most that they may.
        """
        if pool.limits is None:
            return found
        with self._lock:
            self._forget_settled()
            # In this order: who becomes known in between is counted twice, and not left out.
            charged = total(self._charges(claim, pool.name))
            left = self._left(claim, pool.name, pool.limits)
            allowed = _fitting(found, _less(left, charged))
            if not allowed and NODES in left:
                left[NODES] += self._only_claims(claim, pool.name)
                allowed = _fitting(found, _less(left, charged))
            if not allowed and _fitting(found, left):
                message = f"other launches may use up the limits of nodepool {pool.name}; waiting for them"
                raise Throttled(message, _WAIT_S)
            if not allowed:
                raise InsufficientCapacity(f"the limits of nodepool {pool.name} leave no room for it")
            self._under_way[claim.name] = _Charge(pool.name, _largest(allowed))
            return allowed

    def _left(self, claim: NodeClaim, pool: str, limits: Mapping[str, int]) -> dict[str, int]:
        """What is left beside the machines that are known. Claims without one count as nodes, and as nothing else."""
        used, own = self._shared.state.held_by(pool), self._shared.state.machine(claim.name)
        if own is not None and own.pool == pool and not own.is_leaving:
            used -= own.capacity
        return {name: most - used.get(name, 0) for name, most in limits.items()}

    def _only_claims(self, claim: NodeClaim, pool: str) -> int:
        """How many others count as nodes though nobody launches them now: whoever comes first gets the room."""
        others = (view for view in self._shared.state.snapshot().nodes if view.pool == pool and not view.is_leaving)
        return sum(
            view.node is None
            and view.claim is not None
            and not view.claim.capacity
            and view.claim.name not in (claim.name, *self._under_way)
            for view in others
        )

    def _charges(self, claim: NodeClaim, pool: str) -> Iterator[Resources]:
        """Of other launches, those that the state does not know the outcome of; as nodes it has counted them already."""
        for name, charge in self._under_way.items():
            view = self._shared.state.machine(name)
            is_known = view is not None and view.claim is not None and bool(view.claim.capacity)
            if name != claim.name and charge.pool == pool and not is_known:
                yield charge.most if view is None else charge.most - {NODES: 1}


def _less(left: Mapping[str, int], charged: Mapping[str, int]) -> dict[str, int]:
    return {name: amount - charged.get(name, 0) for name, amount in left.items()}


def _fitting(found: tuple[InstanceType, ...], left: Mapping[str, int]) -> tuple[InstanceType, ...]:
    return tuple(type_ for type_ in found if all(_fits(machine, left) for machine in allocatable_groups(type_)))


def _fits(machine: InstanceType, left: Mapping[str, int]) -> bool:
    wanted = machine.capacity + {NODES: 1}
    return all(wanted.get(name, 0) <= most for name, most in left.items())


def _largest(types: tuple[InstanceType, ...]) -> Resources:
    most = Resources({NODES: 1})
    for type_ in types:
        for machine in allocatable_groups(type_):
            most = most.maximum(machine.capacity)
    return most
