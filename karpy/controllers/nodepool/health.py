"""What became of machines is written onto their pool: whether they join, and whether the pool had better rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from karpy.controllers.nodepool.writing import write_conditions
from karpy.controllers.shared import Shared
from karpy.lifecycle.conditions import AWAITING
from karpy.lifecycle.health import (
    HEALTHY,
    REGISTRATION_FAILED,
    REGISTRATION_FAILED_MESSAGE,
    History,
    class_generation,
    current_health,
    unhealthy,
)
from karpy.lifecycle.resting import CAPACITY, after_failure, is_trying, patience_with
from karpy.objects.meta import Condition, find_condition, set_condition
from karpy.objects.nodeclaim import LAUNCHED, NodeClaim
from karpy.objects.nodepool import RESTING, NodePool

__all__ = ["PoolHealth"]

_Conditions = tuple[Condition, ...]


class PoolHealth:
    """Told by whoever carries claims through their life. What it remembers is lost in a restart, and begun anew from the
    conditions."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._histories: dict[str, tuple[object, History]] = {}
        """Of each pool, by name: how its last machines fared, and of what it was then."""
        self._counted: set[tuple[str, bool]] = set()
        """By uid, and whether they joined: claims that are counted, and that do not say yet what became of them."""

    def joined(self, claim: NodeClaim) -> None:
        """Its node joined the cluster. A pool gets healthy by that, unless too many of its last machines failed."""

        def change(pool: NodePool, history: History) -> _Conditions:
            resting = find_condition(pool.conditions, RESTING)
            is_over = resting is not None and resting.reason != CAPACITY
            known = _without(pool.conditions, RESTING) if is_over else pool.conditions
            return self._with(pool, known, HEALTHY) if history.is_healthy else known

        self._note(claim, change, joined=True)

    def gave_up(self, claim: NodeClaim) -> None:
        """It was not launched in time, or its node did not join in time. One of them does not make a pool unhealthy."""
        launched = claim.condition(LAUNCHED)
        reason, message = REGISTRATION_FAILED, REGISTRATION_FAILED_MESSAGE
        if launched is not None and not launched.is_true and launched.reason not in (None, AWAITING):
            reason, message = launched.reason or reason, launched.message or message
        began = launched.since if launched is not None else claim.metadata.created

        def change(pool: NodePool, history: History) -> _Conditions:
            known = pool.conditions
            if not history.is_healthy:
                known = self._with(pool, known, unhealthy(reason, message))
            return self._with_failure(pool, known, reason, message, began)

        self._note(claim, change, joined=False)

    def settled(self, claim: NodeClaim) -> None:
        """What became of it is written on the claim itself. Until then it may be told again, and is not counted again."""
        self._counted -= {(claim.metadata.uid, True), (claim.metadata.uid, False)}

    def lacks_capacity(self, name: str, message: str) -> None:
        """The cloud has no machine for this pool. Where pods ask for machines they ask for others then; a static pool waits."""
        pool, now = self._shared.state.pool(name), self._shared.clock.now()
        if pool is not None and pool.is_static:
            write_conditions(self._shared, pool, self._with_failure(pool, pool.conditions, CAPACITY, message, now))

    def launched(self, claim: NodeClaim) -> None:
        """The cloud had a machine for it. Those that were ordered before the pool went to rest say nothing of what comes after."""
        pool = self._shared.state.pool(claim.pool)
        resting = find_condition(pool.conditions, RESTING) if pool is not None else None
        if pool is not None and is_trying(resting) and resting is not None and resting.reason == CAPACITY:
            write_conditions(self._shared, pool, _without(pool.conditions, RESTING))

    def _note(self, claim: NodeClaim, change: Callable[[NodePool, History], _Conditions], *, joined: bool) -> None:
        """Work out what the pool says with this machine counted in, write it, and only then remember the machine."""
        pool, told = self._shared.state.pool(claim.pool), (claim.metadata.uid, joined)
        if pool is None:
            self._histories.pop(claim.pool, None)
            return
        if told in self._counted:
            return
        generation = class_generation(self._shared.state.node_class(pool.node_class))
        now_is = (pool.metadata.uid, pool.metadata.generation, generation)
        was, history = self._histories.get(pool.name, (None, History()))
        if was != now_is:
            history = History.of(current_health(pool, generation))
        history = history.after(joined=joined)
        write_conditions(self._shared, pool, change(pool, history))
        self._histories[pool.name] = (now_is, history)
        self._counted.add(told)

    def _with(self, pool: NodePool, known: Sequence[Condition], new: Condition) -> _Conditions:
        """Said of the pool as it is now."""
        observed = msgspec.structs.replace(new, observed_generation=pool.metadata.generation or None)
        return set_condition(known, observed, now=self._shared.clock.now())

    def _with_failure(self, pool: NodePool, known: _Conditions, reason: str, message: str, began: float) -> _Conditions:
        now, patience = self._shared.clock.now(), patience_with(pool, self._shared.settings, reason)
        found = after_failure(
            find_condition(known, RESTING), patience, reason=reason, why=message, began=began, now=now
        )
        return known if found is None else self._with(pool, known, found)


def _without(conditions: Sequence[Condition], type_: str) -> _Conditions:
    return tuple(each for each in conditions if each.type != type_)
