"""What becomes of conditions: heard in what happens to objects, counted, and told on the objects as events.

It does not matter who writes a condition. What was heard of an object is remembered until it is gone. A restart begins anew with
each object: at the worst a change in between is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from karpy.clock import parse_time
from karpy.controllers.base import DONE, Request, Result, Source
from karpy.controllers.shared import Shared
from karpy.errors import InvalidObject
from karpy.gauges import ConditionMetrics, condition_metrics
from karpy.metrics import Reading
from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["ConditionWatch"]

_ALL = condition_metrics()


@attrs.frozen
class _Said:
    """One condition."""

    status: str
    reason: str
    since: str

    @property
    def time(self) -> float | None:
        return _time(self.since)


@attrs.define
class _Known:
    """What was last heard of an object."""

    uid: str
    labels: dict[str, str]
    """By the names that they have among the labels of metrics."""
    conditions: dict[str, _Said]
    deleted: str = ""
    finalizers: tuple[str, ...] = ()
    """Those that it had when it was asked to go."""


class ConditionWatch:
    """Listens to the objects of one kind. ``told_by``: the labels of the objects, and their names, that tell series apart.

    ``in_general``: the older metrics, which are about all kinds at once, are told too. ``from_the_start``: conditions that are
    Unknown as long as an object does not carry them.
    """

    def __init__(
        self,
        shared: Shared,
        kind: Kind,
        told_by: Sequence[tuple[str, str]] = (),
        *,
        in_general: bool = False,
        from_the_start: Sequence[str] = (),
    ) -> None:
        self._shared = shared
        self._kind = kind
        self._told_by = tuple(told_by)
        self._at_first = {type_: _Said("Unknown", "", "") for type_ in from_the_start}
        self._metrics: tuple[tuple[ConditionMetrics, bool], ...] = (
            (condition_metrics(kind.kind, tuple(name for _key, name in told_by)), True),
            *(((_ALL, False),) if in_general else ()),
        )
        self._known: dict[tuple[str, str], _Known] = {}
        self._untold: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        """Uid, reason and message of events that are to be written."""
        self.name = f"status.{kind.kind.lower()}"

    @property
    def sources(self) -> Sequence[Source]:
        return (Source(self._kind, self._hear),)

    def reconcile(self, request: Request) -> Result:
        """Write the events that are due."""
        for uid, reason, message in self._untold.pop((request.namespace, request.name), ()):
            about = ObjectMeta(name=request.name, namespace=request.namespace, uid=uid)
            self._shared.recorder.normal(self._kind, about, reason, message)
        return DONE

    def readings(self, now: float) -> Iterator[Reading]:
        """How conditions stand, and which objects are about to go."""
        for metrics, is_own in self._metrics:
            for (namespace, name), known in list(self._known.items()):  # whoever asks may be another thread
                which = {"namespace": namespace, "name": name, **self._labels(known, is_own=is_own)}
                for type_, said in known.conditions.items():
                    labels = {**which, "type": type_, "status": said.status, "reason": said.reason}
                    yield Reading(metrics.count, 1.0, labels)
                    if said.time is not None:
                        yield Reading(metrics.current, max(now - said.time, 0.0), labels)
                if (deleted := _time(known.deleted)) is not None:
                    yield Reading(metrics.ending, max(now - deleted, 0.0), which)

    def _hear(self, event: WatchEvent) -> tuple[Request, ...]:
        """Most events change no condition, so this compares before anything else."""
        raw = event.object
        metadata = raw["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if event.type is EventType.DELETED:
            return self._end(key)
        conditions = {
            c["type"]: _Said(c.get("status") or "", c.get("reason") or "", c.get("lastTransitionTime") or "")
            for c in (raw.get("status") or {}).get("conditions") or ()
            if "type" in c
        }
        known, at_first = self._known.get(key), self._at_first
        if known is None or known.uid != metadata.get("uid", ""):
            known, at_first = _Known(metadata.get("uid", ""), {}, {}), {}  # what it says now, it may have said long ago
            self._known[key] = known
        before, known.conditions = known.conditions, conditions
        labels = metadata.get("labels") or {}
        known.labels = {name: labels.get(label, "") for label, name in self._told_by}
        if not known.deleted and metadata.get("deletionTimestamp"):
            known.deleted, known.finalizers = metadata["deletionTimestamp"], tuple(metadata.get("finalizers") or ())
        if before == conditions:
            return ()
        return self._compare(key, known, {**at_first, **before}, raw["status"]["conditions"] if conditions else ())

    def _compare(
        self, key: tuple[str, str], known: _Known, before: Mapping[str, _Said], raw: Sequence[Mapping[str, Any]]
    ) -> tuple[Request, ...]:
        """Count what stands otherwise than before. A condition that was not there counts as unknown until now."""
        messages = {c.get("type"): c.get("message", "") for c in raw}
        for type_, said in known.conditions.items():
            old = before.get(type_)
            if said.status == (old.status if old is not None else "Unknown"):
                continue
            self._count(known, type_, said, old)
            if old is not None:
                text = f"Status condition transitioned, Type: {type_}, Status: {old.status} -> {said.status}, Reason: {said.reason}"
                message = messages.get(type_)
                self._tell(key, known.uid, type_, f"{text}, Message: {message}" if message else text)
        return self._due(key)

    def _count(self, known: _Known, type_: str, said: _Said, old: _Said | None) -> None:
        for metrics, is_own in self._metrics:
            told = self._labels(known, is_own=is_own)
            self._shared.metrics.add(metrics.transitions, type=type_, status=said.status, reason=said.reason, **told)
            if old is not None and said.time is not None and old.time is not None:
                stood = max(said.time - old.time, 0.0)
                self._shared.metrics.observe(metrics.transition_seconds, stood, type=type_, status=old.status, **told)

    def _end(self, key: tuple[str, str]) -> tuple[Request, ...]:
        """The object is gone, and its series with it."""
        known = self._known.pop(key, None)
        self._untold.pop(key, None)
        if known is None:
            return ()
        deleted = _time(known.deleted)
        if deleted is not None:
            took = max(self._shared.clock.now() - deleted, 0.0)
            for metrics, is_own in self._metrics:
                self._shared.metrics.observe(metrics.ended, took, **self._labels(known, is_own=is_own))
        for finalizer in known.finalizers:
            self._tell(key, known.uid, "Finalized", f"Finalized {finalizer}")
        return self._due(key)

    def _labels(self, known: _Known, *, is_own: bool) -> Mapping[str, str]:
        return known.labels if is_own else {"group": self._kind.group, "kind": self._kind.kind}

    def _tell(self, key: tuple[str, str], uid: str, reason: str, message: str) -> None:
        self._untold.setdefault(key, []).append((uid, reason, message))

    def _due(self, key: tuple[str, str]) -> tuple[Request, ...]:
        namespace, name = key
        return (Request(name, namespace),) if key in self._untold else ()


def _time(text: str) -> float | None:
    try:
        return parse_time(text) if text else None
    except InvalidObject:
        return None
