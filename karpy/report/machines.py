"""`MachineLedger`: how far each NodeClaim is, what it runs on and at which price."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from karpy import labels
from karpy.cloud.instancetype import Price
from karpy.errors import InvalidObject
from karpy.lifecycle.states import State, state_of
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.report.happening import Happening, What

__all__ = ["Machine", "MachineLedger"]

_TOLD_AS = {
    State.CREATED: What.CLAIM_CREATED,
    State.LAUNCHED: What.CLAIM_LAUNCHED,
    State.REGISTERED: What.NODE_JOINED,
    State.INITIALIZED: What.NODE_READY,
    State.DRAINING: What.NODE_DRAINING,
    State.TERMINATING: What.NODE_TERMINATING,
    State.GONE: What.CLAIM_GONE,
}
"""The other states are on the way to the next, and no news."""


@attrs.frozen(kw_only=True)
class Machine:
    """A claim and its machine, as far as they are known. ``price`` is dollars per hour, 0 before the launch."""

    claim: str
    pool: str
    state: State
    created: float
    node: str = ""
    instance_type: str = ""
    zone: str = ""
    capacity_type: str = ""
    price: Price = 0.0

    @property
    def offer(self) -> str:
        """What was bought, in a few words."""
        return f"{self.instance_type} {self.capacity_type} in {self.zone} at ${self.price:.4f}/h"

    @property
    def fields(self) -> Mapping[str, Any]:
        """For JSON; what is not known is left out."""
        known = {
            "claim": self.claim,
            "node": self.node,
            "nodePool": self.pool,
            "instanceType": self.instance_type,
            "zone": self.zone,
            "capacityType": self.capacity_type,
            "price": self.price,
        }
        return {name: value for name, value in known.items() if value}


class MachineLedger:
    """Fed with the watch events of NodeClaims. ``price_of`` knows the price per hour of a provider id, None when it does not."""

    def __init__(self, price_of: Callable[[str], Price | None]) -> None:
        self._price_of = price_of
        self._machines: dict[str, Machine] = {}

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All claims that exist, in the order of their creation."""
        return tuple(self._machines.values())

    def take(self, event: WatchEvent, now: float) -> Happening | None:
        """Take in a claim's event; what happened, when the claim came to another state."""
        try:
            claim = NodeClaim.from_dict(event.object)
        except InvalidObject:
            return None  # karpy's controllers tell of it on the object itself
        old = self._machines.get(claim.name)
        gone = event.type is EventType.DELETED
        state = State.GONE if gone else state_of(claim)
        machine = self._read(claim, state, old)
        if gone:
            self._machines.pop(claim.name, None)
        else:
            self._machines[claim.name] = machine
        what = _TOLD_AS.get(state)
        if what is None or (old is not None and old.state is state):
            return None
        return Happening(now, what, _words(machine), machine.fields)

    def _read(self, claim: NodeClaim, state: State, old: Machine | None) -> Machine:
        price = self._price_of(claim.provider_id) if claim.provider_id else None
        if price is None:
            price = 0.0 if old is None else old.price
        return Machine(
            claim=claim.name,
            pool=claim.pool,
            state=state,
            created=claim.metadata.created,
            node=claim.node_name,
            instance_type=claim.labels.get(labels.INSTANCE_TYPE, ""),
            zone=claim.labels.get(labels.ZONE, ""),
            capacity_type=claim.labels.get(labels.CAPACITY_TYPE, ""),
            price=price,
        )


def _words(machine: Machine) -> str:
    if machine.state is State.CREATED:
        return f"{machine.claim} of nodepool {machine.pool}"
    if machine.state is State.LAUNCHED:
        return f"{machine.claim} is {machine.offer}"
    if machine.state is State.GONE and not machine.instance_type:
        return f"{machine.claim} given up before it had a machine"
    return f"{machine.node or machine.claim} ({machine.instance_type})"
