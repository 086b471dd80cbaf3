"""The pods that wait for a node: to be tried now, after a back-off, or when something changes that could help.

Source: kube-scheduler's queue. Higher priority first, then whoever was queued earlier; a pod that failed rests 1 s, doubling to
10 s, and one that nothing helped is tried again after five minutes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import attrs

from karpy.kube.client import RawObject

__all__ = ["PodQueue", "WaitingPod"]

Key = tuple[str, str]

FIRST_BACKOFF_S = 1.0
LONGEST_BACKOFF_S = 10.0
GIVE_UP_WAITING_S = 300.0


@attrs.define(eq=False)
class WaitingPod:
    """A pod without a node, and how its attempts went."""

    key: Key
    pod: RawObject
    order: tuple[int, float, str, int]
    """Priority, when it was queued, when it was created, and when it was first seen."""
    attempts: int = 0
    not_before: float = 0.0
    plugins: frozenset[str] = frozenset()


_Order = tuple[int, float, str, int]


def _order(pod: RawObject, queued: float, serial: int) -> _Order:
    return -(pod["spec"].get("priority") or 0), queued, pod["metadata"].get("creationTimestamp") or "", serial


def _asks_otherwise(old: RawObject, new: RawObject) -> bool:
    """Whether the pod itself changed in a way that may let it be placed."""
    if old is new:
        return False
    was, now = old["metadata"], new["metadata"]
    return bool(old["spec"] != new["spec"] or was.get("labels") != now.get("labels"))


class PodQueue:
    """Waiting pods. Each is in one of three places: active, resting, or parked until something changes."""

    def __init__(self) -> None:
        self._pods: dict[Key, WaitingPod] = {}
        self._active: list[tuple[_Order, Key]] = []
        self._is_active: set[Key] = set()
        self._resting: list[tuple[float, _Order, Key]] = []
        self._parked: dict[Key, float] = {}
        self._serial = 0

    def __len__(self) -> int:
        return len(self._pods)

    def put(self, key: Key, pod: RawObject, now: float) -> None:
        """Take in a pod without a node, or a new version of one, which is tried again when it asks for something else."""
        waiting = self._pods.get(key)
        if waiting is not None:
            if waiting.pod["metadata"]["uid"] == pod["metadata"]["uid"]:
                asks_otherwise = _asks_otherwise(waiting.pod, pod)
                waiting.pod = pod
                if asks_otherwise and key in self._parked:
                    self._unpark(waiting, now)
                return
            self.remove(key)
        self._serial += 1
        self._pods[key] = WaitingPod(key, pod, _order(pod, now, self._serial))
        self._activate(self._pods[key])

    def remove(self, key: Key) -> None:
        """The pod has a node, or is gone."""
        self._pods.pop(key, None)
        self._is_active.discard(key)
        self._parked.pop(key, None)

    def pop(self) -> WaitingPod | None:
        """The next pod to try, which must be handed back by `park` or `remove`."""
        while self._active:
            order, key = heapq.heappop(self._active)
            waiting = self._pods.get(key)
            if waiting is not None and waiting.order == order and key in self._is_active:
                self._is_active.discard(key)
                waiting.attempts += 1
                return waiting
        return None

    def park(self, waiting: WaitingPod, plugins: frozenset[str], now: float) -> None:
        """The attempt failed for these rules' refusals; wait for a change that concerns them."""
        waiting.plugins = plugins
        waiting.order = _order(waiting.pod, now, waiting.order[-1])
        waiting.not_before = now + min(FIRST_BACKOFF_S * 2 ** (waiting.attempts - 1), LONGEST_BACKOFF_S)
        self._parked[waiting.key] = now

    def retry(self, waiting: WaitingPod, now: float) -> None:
        """The attempt went wrong for a reason of the API; try again after the back-off."""
        self.park(waiting, frozenset(), now)
        self._unpark(waiting, now)

    def stir(self, could_help: Callable[[WaitingPod], bool], now: float) -> None:
        """Something changed: let the parked pods that it could help try again once their back-off is over."""
        for key in [key for key in self._parked if could_help(self._pods[key])]:
            self._unpark(self._pods[key], now)

    def flush(self, now: float) -> None:
        """Activate what has rested enough, and what was parked for too long."""
        while self._resting and self._resting[0][0] <= now:
            _, order, key = heapq.heappop(self._resting)
            waiting = self._pods.get(key)
            if waiting is not None and waiting.order == order and key not in self._parked:
                self._activate(waiting)
        if self._parked and next(iter(self._parked.values())) + GIVE_UP_WAITING_S <= now:
            for key in [key for key, since in self._parked.items() if since + GIVE_UP_WAITING_S <= now]:
                self._unpark(self._pods[key], now)

    def next_time(self) -> float | None:
        """When `flush` has something to do next."""
        times = [self._resting[0][0]] if self._resting else []
        if self._parked:
            times.append(next(iter(self._parked.values())) + GIVE_UP_WAITING_S)
        return min(times, default=None)

    @property
    def has_active(self) -> bool:
        return bool(self._is_active)

    def _unpark(self, waiting: WaitingPod, now: float) -> None:
        self._parked.pop(waiting.key, None)
        if waiting.not_before <= now:
            self._activate(waiting)
        else:
            heapq.heappush(self._resting, (waiting.not_before, waiting.order, waiting.key))

    def _activate(self, waiting: WaitingPod) -> None:
        if waiting.key not in self._is_active:
            self._is_active.add(waiting.key)
            heapq.heappush(self._active, (waiting.order, waiting.key))
