"""Emptying a node: gently and in order, and in time (core specification 4.12)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from karpy.objects.pod import STUCK_S, DrainRank, Pod

__all__ = ["Drain", "Forced", "drain", "has_to_leave", "keeps_its_turn"]

_SHORTEST_GRACE_S = 1
_ORDINARY: DrainRank = (False, False)
"""The first to leave."""


@attrs.frozen
class Forced:
    """A pod to delete now, whatever protects it, with so many seconds to end itself."""

    pod: Pod
    grace_s: int


@attrs.frozen
class Drain:
    """Pods to evict now, pods to delete now, and pods to wait for; the node is drained when there are none.

    ``next_at`` is when the answer changes though nothing happens. ``stuck`` are those that are not waited for any more.
    """

    evict: tuple[Pod, ...] = ()
    force: tuple[Forced, ...] = ()
    waiting: tuple[Pod, ...] = ()
    next_at: float = math.inf
    stuck: tuple[Pod, ...] = ()

    @property
    def is_done(self) -> bool:
        return not self.remaining

    @property
    def remaining(self) -> tuple[Pod, ...]:
        """All pods that have to leave."""
        return (*self.evict, *(each.pod for each in self.force), *self.waiting)


def drain(pods: Iterable[Pod], *, now: float, deadline: float | None = None) -> Drain:
    """Who goes next. Pods leave in four groups, one after the other: ordinary ones, daemons, critical ones, critical daemons.

    Pods that tolerate the taint, mirror pods, finished ones and ones that are stuck in their end are not waited for. With a
    deadline, every pod is told to end early enough to take the time that it was promised, whatever its group or protection.
    """
    leaving: list[tuple[DrainRank, Pod]] = []
    stuck: list[Pod] = []
    for pod in pods:
        rank = pod.drain_rank
        if rank is not None and pod.is_stuck(now):
            stuck.append(pod)
        elif rank is not None:
            leaving.append((rank, pod))
    first = min((rank for rank, _ in leaving), default=_ORDINARY)
    evict: list[Pod] = []
    force: list[Forced] = []
    waiting: list[Pod] = []
    next_at = math.inf
    for rank, pod in leaving:
        grace_s = None if deadline is None else _forced_grace_s(pod, now, deadline)
        if grace_s is not None:
            force.append(Forced(pod, grace_s))
            continue
        may_go = rank == first and not pod.metadata.is_deleting and not pod.is_protected(now)
        (evict if may_go else waiting).append(pod)
        if deadline is not None or not may_go:  # who may go, and need not, is no question of time
            next_at = min(next_at, _next_at(pod, now, deadline))
    return Drain(tuple(evict), tuple(force), tuple(waiting), next_at, tuple(stuck))


def keeps_its_turn(pods: Iterable[Pod], now: float) -> bool:
    """Whether it stays the turn of ordinary pods, whoever else has ended: some of ``pods`` have yet to leave."""
    return any(pod.drain_rank == _ORDINARY and not pod.is_stuck(now) for pod in pods)


def has_to_leave(pod: Pod, now: float) -> bool:
    """Whether a node that goes waits for the pod's end."""
    return pod.drain_rank is not None and not pod.is_stuck(now)


def _forced_grace_s(pod: Pod, now: float, deadline: float) -> int | None:
    """How many seconds the pod gets, if it must be deleted now; None if it need not be.

    A clock that jumped may leave less than nothing: a pod gets a second at the least, and never more than it asked for.
    """
    left = max(math.floor(deadline - now), _SHORTEST_GRACE_S)
    deleted = pod.metadata.deleted
    if deleted is not None:
        return left if deleted > deadline and now + left < deleted else None
    if now < _forced_at(pod, deadline):
        return None
    return max(min(_own_grace_s(pod), left), _SHORTEST_GRACE_S)


def _forced_at(pod: Pod, deadline: float) -> float:
    return deadline - _own_grace_s(pod)


def _own_grace_s(pod: Pod) -> int:
    """What it asks for. One that says nothing is left alone for as long as possible."""
    return max(pod.spec.termination_grace_period_seconds or 0, 0)


def _next_at(pod: Pod, now: float, deadline: float | None) -> float:
    """When the passing of time alone makes a difference to a pod."""
    if pod.metadata.deleted is not None:
        return pod.metadata.deleted + STUCK_S + 1.0
    forced_at = math.inf if deadline is None else _forced_at(pod, deadline)
    return min(forced_at, pod.protected_until if pod.is_protected(now) else math.inf)
