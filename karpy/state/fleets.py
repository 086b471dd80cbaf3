"""The machines of each pool, and what they come to: kept view by view, so that nobody who asks walks over all nodes."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from karpy.objects.nodeclaim import INSTANCE_TERMINATING
from karpy.resources import Resources
from karpy.state.nodeview import NodeView, Order
from karpy.state.stores import InOrder

__all__ = ["Fleet", "Fleets"]


@attrs.frozen(eq=False)
class Fleet:
    """The machines of one pool, initialized ones first, then by name. ``held``: the capacity of those that are not leaving.

    Budgets speak of those that have a claim, are initialized, and are not being terminated (core specification 5.3): so many are
    ``counted``, and ``disrupted`` of them are leaving or not ready.
    """

    machines: tuple[NodeView, ...] = ()
    held: Resources = Resources()
    counted: int = 0
    disrupted: int = 0

    @property
    def active(self) -> tuple[NodeView, ...]:
        """Claims that are there to stay, launched or not."""
        return tuple(view for view in self._claims if not view.is_leaving)

    @property
    def pending_disruption(self) -> tuple[NodeView, ...]:
        """Claims that a command is about, and that nobody has deleted yet."""
        return tuple(view for view in self._claims if view.is_leaving and not view.is_ending)

    @property
    def deleting(self) -> tuple[NodeView, ...]:
        """Claims that are being deleted."""
        return tuple(view for view in self._claims if view.is_ending)

    @property
    def _claims(self) -> tuple[NodeView, ...]:
        return tuple(view for view in self.machines if view.claim is not None)


def _is_counted(view: NodeView) -> bool:
    return view.claim is not None and view.is_initialized and not view.claim.is_true(INSTANCE_TERMINATING)


def _is_disrupted(view: NodeView) -> bool:
    return view.is_leaving or view.node is None or not view.node.is_ready


class _Sum:
    """A sum to which amounts are added and from which they are taken off again. A name is in it as long as a summand has it."""

    def __init__(self) -> None:
        self._amounts: dict[str, int] = {}
        self._summands: dict[str, int] = {}

    def add(self, amounts: Mapping[str, int], sign: int) -> None:
        for name, amount in amounts.items():
            count = self._summands.get(name, 0) + sign
            if count:
                self._summands[name] = count
                self._amounts[name] = self._amounts.get(name, 0) + sign * amount
            else:
                del self._summands[name], self._amounts[name]

    def total(self) -> Resources:
        return Resources(self._amounts)


class _Members:
    def __init__(self) -> None:
        self.views: InOrder[Order, NodeView] = InOrder()
        self.held = _Sum()
        self.counted = 0
        self.disrupted = 0


class Fleets:
    """Not safe for threads: `ClusterState` holds its lock meanwhile."""

    def __init__(self) -> None:
        self._members: dict[str, _Members] = {}
        self._changed: set[str] = set()
        self._picture: Mapping[str, Fleet] = {}

    def change(self, old: NodeView | None, new: NodeView | None) -> None:
        """What was seen as ``old`` is seen as ``new`` now; None: not at all."""
        if old is not None and (new is None or (new.pool, new.order) != (old.pool, old.order)):
            self._put(old, None)
        if new is not None:
            self._put(new, new)
        if old is None or new is None or not _holds_as_much(old, new):
            self._count(old, -1)
            self._count(new, +1)

    def _put(self, view: NodeView, here: NodeView | None) -> None:
        """What is to stand in its pool where this view belongs."""
        if view.pool:
            self._of(view.pool).views.put(view.order, here)

    def _count(self, view: NodeView | None, sign: int) -> None:
        if view is None or not view.pool:
            return
        members = self._of(view.pool)
        if not view.is_leaving:
            members.held.add(view.capacity, sign)
        if view.derived(_is_counted):
            members.counted += sign
            members.disrupted += sign * view.derived(_is_disrupted)

    def _of(self, pool: str) -> _Members:
        self._changed.add(pool)
        return self._members.setdefault(pool, _Members())

    def held(self, pool: str) -> Resources:
        """The capacity of the pool's machines that are not leaving. O(1)."""
        members = self._members.get(pool)
        return members.held.total() if members is not None else Resources()

    def picture(self) -> Mapping[str, Fleet]:
        """The pools that have machines; those that did not change are the same objects again."""
        if self._changed:
            picture = dict(self._picture)
            for pool in sorted(self._changed):
                members = self._members[pool]
                machines = members.views.picture()
                if machines:
                    picture[pool] = Fleet(machines, members.held.total(), members.counted, members.disrupted)
                else:
                    del self._members[pool]
                    picture.pop(pool, None)
            self._picture = picture
            self._changed.clear()
        return self._picture


def _holds_as_much(old: NodeView, new: NodeView) -> bool:
    """Whether nothing changed that counts: only its pods, most of the time."""
    is_same = old.node is new.node and old.claim is new.claim
    return is_same and old.is_leaving == new.is_leaving
