"""How many nodes of each pool may be disrupted at once, by its budgets, and when that changes (core specification 5.3)."""

from __future__ import annotations

import functools
import math

import attrs

from karpy.disruption.command import Reason
from karpy.errors import InvalidObject
from karpy.objects.budget import Budget, Window
from karpy.objects.nodepool import NodePool
from karpy.state.snapshot import Snapshot

__all__ = ["Allowance", "Opening", "allowance", "allowances", "budgets_change_at"]


@attrs.frozen
class Opening:
    """A budget, and a window in which it holds."""

    budget: Budget
    window: Window

    def __str__(self) -> str:
        return f"budget {self.budget} {self.window}"


@attrs.frozen(kw_only=True)
class Allowance:
    """What the budgets of a pool say at one time: how many more of its nodes may go for a reason, and why no more.

    ``nodes`` are those that count: managed, initialized, and not at their end. ``disrupted`` of them use the budgets up already:
    they are going, or not ready. ``reason`` None stands for one that budgets cannot name.
    """

    pool: str
    reason: Reason | None
    nodes: int = 0
    disrupted: int = 0
    chosen: int = 0
    """Others that will go, by commands that are not carried out yet."""
    limit: int | None = None
    """How many may be disrupted together; None: no budget says."""
    held_by: Opening | None = None
    """The strictest budget that holds now, the first of several."""
    next: Opening | None = None
    """What will hold after what holds now, or beside it: the first to open."""
    changes_at: float = math.inf
    """Before then the passing of time alone changes nothing."""
    problem: InvalidObject | None = None
    """Why a budget cannot be read, which lets nothing go."""

    @property
    def allowed(self) -> int:
        """How many more may go."""
        if self.problem is not None:
            return 0
        left = self.nodes if self.limit is None else self.limit - self.disrupted
        return max(0, left - self.chosen)

    def less(self, chosen: int) -> Allowance:
        """The same when so many more nodes were chosen to go."""
        return attrs.evolve(self, chosen=self.chosen + chosen)

    @property
    def is_closed(self) -> bool:
        """Whether there are nodes, and none of them might go even if all of them were well."""
        return self.nodes > 0 and (self.problem is not None or (self.limit is not None and self.limit <= 0))

    @property
    def why(self) -> str:
        """What limits it now and for how long; then what comes, unless nothing may go anyway."""
        if self.problem is not None:
            return f"a budget cannot be read: {self.problem}"
        text = "no budget limits that" if self.held_by is None else f"budget {self.held_by.budget}"
        if self.held_by is not None and self.held_by.window.end:
            text += f" {self.held_by.window.end}"
        if self.held_by is not None and self.disrupted:
            text += f", {self.disrupted} going or not ready"
        if self.chosen:
            text += f", {self.chosen} chosen to go"
        return f"{text}; next: {self.next}" if self.next is not None and self.allowed else text

    def __str__(self) -> str:
        count, reason = min(self.allowed, self.nodes), "any reason" if self.reason is None else self.reason.value
        return f'{count} of {self.nodes} nodes of pool "{self.pool}" may go for {reason}: {self.why}'


def allowances(snapshot: Snapshot, now: float) -> tuple[Allowance, ...]:
    """What the budgets of every pool say for every reason."""
    return tuple(allowance(snapshot, pool, reason, now) for pool in snapshot.pools for reason in Reason)


def allowance(snapshot: Snapshot, pool: NodePool, reason: Reason | None, now: float) -> Allowance:
    """What the budgets of ``pool`` say at ``now``, which may be any time, about the nodes that there are. ``reason`` None is one
    that they do not name.

    O(budgets): the state counts the machines of each pool.
    """
    fleet, standing = snapshot.fleet(pool.name), _all_standing(pool.budgets, now)
    found = Allowance(
        pool=pool.name,
        reason=reason,
        nodes=fleet.counted,
        disrupted=fleet.disrupted,
        changes_at=min((each.changes_at for each in standing), default=math.inf),
    )
    for index, each in enumerate(standing):
        if each.problem is not None:  # even if it is for other reasons
            place, name = f"spec.disruption.budgets[{index}]", f"{pool.origin.kind}/{pool.name}"
            return attrs.evolve(found, problem=each.problem.at(path=place, object_name=name))
    mine = [each for each in standing if each.budget.concerns(None if reason is None else reason.value)]
    held = [Opening(each.budget, each.open) for each in mine if each.open is not None]
    coming = [Opening(each.budget, each.next) for each in mine if each.next is not None]
    strictest = min(held, key=lambda opening: opening.budget.count(found.nodes), default=None)
    return attrs.evolve(
        found,
        limit=None if strictest is None else strictest.budget.count(found.nodes),
        held_by=strictest,
        next=min(coming, key=lambda opening: opening.window.opens, default=None),
    )


def budgets_change_at(snapshot: Snapshot, now: float) -> float:
    """When the passing of time alone may next change what budgets allow: a window opens or closes. Infinity: never."""
    standing = (each for pool in snapshot.pools for each in _all_standing(pool.budgets, now))
    return min((each.changes_at for each in standing), default=math.inf)


@attrs.frozen
class _Standing:
    """What a budget says at one time, whatever nodes there are: the window that is open, the one that opens next, or why the
    budget cannot be read."""

    budget: Budget
    open: Window | None = None
    next: Window | None = None
    problem: InvalidObject | None = None
    changes_at: float = math.inf


@functools.lru_cache(maxsize=1024)
def _all_standing(budgets: tuple[Budget, ...], now: float) -> tuple[_Standing, ...]:
    return tuple(_standing(budget, now) for budget in budgets)


def _standing(budget: Budget, now: float) -> _Standing:
    try:
        window = budget.window(now)
    except InvalidObject as error:
        return _Standing(budget, problem=error)
    if not window.contains(now):
        return _Standing(budget, next=window, changes_at=window.opens)
    try:
        budget.count(0)  # whether it can be read counts while it holds, as in Karpenter
    except InvalidObject as error:
        return _Standing(budget, problem=error, changes_at=window.closes)
    has_next = window.closes < math.inf and not window.or_later
    return _Standing(budget, window, budget.window(window.closes) if has_next else None, changes_at=window.closes)
