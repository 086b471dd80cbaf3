"""Kubernetes events: what karpy tells people on the objects that it is about.

An event that was told a short while ago, with the same text about the same object, is not told again. And of one object no more
is told than client-go's spam filter lets pass: a number at once, then one every five minutes. What is told of very many objects at
once, such as where each pod of a crowd should go, is told of a few a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from karpy.clock import Clock, format_time
from karpy.errors import KubeError
from karpy.kube.client import KubeClient
from karpy.objects.kinds import EVENT, Kind
from karpy.objects.meta import ObjectMeta

__all__ = ["EventRecorder"]

COMPONENT = "karpenter"
_REPEAT_S = 120.0
_LONGEST_REPEAT_S = 3600.0
_SWEEP_EVERY_S = 600.0
"""What may be told again is forgotten so often."""


@attrs.frozen
class _Allowance:
    """So many at once, and one more every so many seconds."""

    burst: int
    refill_s: float


_OF_OBJECT = _Allowance(25, 300.0)
_OF_REASON = {"Nominated": _Allowance(10, 0.2)}
"""Over all objects."""


class EventRecorder:
    """Writes events; a refusal of the API server is counted in ``lost`` and stops nothing."""

    def __init__(self, kube: KubeClient, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._told: dict[tuple[str, str, str], float] = {}
        self._sweep_at = 0.0
        self._spent: dict[str, tuple[float, float]] = {}
        """How much of the allowance of an object, or of a reason, is spent, and as of when."""
        self.lost = 0

    def normal(
        self, kind: Kind, about: ObjectMeta, reason: str, message: str, *, repeat_s: float = _REPEAT_S, topic: str = ""
    ) -> None:
        """Texts of one ``topic`` (default: each is its own) count as the same."""
        self._tell("Normal", kind, about, reason, message, repeat_s, topic)

    def warning(
        self, kind: Kind, about: ObjectMeta, reason: str, message: str, *, repeat_s: float = _REPEAT_S, topic: str = ""
    ) -> None:
        """As `normal`."""
        self._tell("Warning", kind, about, reason, message, repeat_s, topic)

    def _tell(
        self, type_: str, kind: Kind, about: ObjectMeta, reason: str, message: str, repeat_s: float, topic: str
    ) -> None:
        now = self._clock.now()
        key = (about.uid or about.key, reason, topic or message)
        told = self._told.get(key)
        if told is not None and 0 <= now - told < repeat_s:  # else also: the clock jumped back since
            return
        of_reason = _OF_REASON.get(reason)
        if (of_reason is not None and not self._spends(reason, of_reason, now)) or not self._spends(
            key[0], _OF_OBJECT, now
        ):
            return
        self._forget_old(now)
        self._told[key] = now
        try:
            self._kube.create(EVENT, _event(type_, kind, about, reason, message, now), about.namespace or "default")
        except KubeError:
            self.lost += 1

    def _spends(self, whose: str, allowance: _Allowance, now: float) -> bool:
        """Whether one more event may be told now."""
        spent, since = self._spent.get(whose, (0.0, now))
        spent = max(spent - max(now - since, 0.0) / allowance.refill_s, 0.0)
        if spent > allowance.burst - 1:
            self._spent[whose] = (spent, now)
            return False
        self._spent[whose] = (spent + 1, now)
        return True

    def _forget_old(self, now: float) -> None:
        """Keep the memory of what was told bounded, at a cost that stays small for each event."""
        if not 0 <= self._sweep_at - now <= _SWEEP_EVERY_S:  # or the clock jumped
            self._told = {key: told for key, told in self._told.items() if 0 <= now - told < _LONGEST_REPEAT_S}
            self._sweep_at = now + _SWEEP_EVERY_S
            longest = _OF_OBJECT.burst * _OF_OBJECT.refill_s
            self._spent = {about: spent for about, spent in self._spent.items() if spent[1] + longest > now}


def _event(type_: str, kind: Kind, about: ObjectMeta, reason: str, message: str, now: float) -> Mapping[str, Any]:
    when = format_time(now)
    involved = {"apiVersion": kind.api_version, "kind": kind.kind, "name": about.name, "uid": about.uid}
    if about.namespace:
        involved["namespace"] = about.namespace
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"generateName": f"{about.name}.", "namespace": about.namespace or "default"},
        "involvedObject": involved,
        "type": type_,
        "reason": reason,
        "message": message,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }
