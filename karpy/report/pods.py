"""`PodLedger`: how far each pod is, and what changed since it was last asked."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from typing import Any

from karpy.objects.watchevent import EventType, WatchEvent
from karpy.report.happening import Happening, What

__all__ = ["PodLedger"]

_NAMED = 3


class _Stage(enum.Enum):
    """How far a pod is. A pod that has finished counts as gone."""

    PENDING = What.PODS_PENDING
    BOUND = What.PODS_BOUND
    RUNNING = What.PODS_RUNNING
    GONE = What.PODS_GONE


class PodLedger:
    """Fed with the watch events of pods; `changes` tells of many pods in one line."""

    def __init__(self) -> None:
        self._stage: dict[str, _Stage] = {}
        self._node: dict[str, str] = {}
        self._count: Counter[_Stage] = Counter()
        self._on_node: Counter[str] = Counter()
        self._moved: dict[_Stage, dict[str, str]] = {stage: {} for stage in _Stage}

    @property
    def pending(self) -> int:
        """Pods without a node."""
        return self._count[_Stage.PENDING]

    @property
    def starting(self) -> int:
        """Pods that have a node and do not run yet."""
        return self._count[_Stage.BOUND]

    @property
    def running(self) -> int:
        return self._count[_Stage.RUNNING]

    def on_node(self, name: str) -> int:
        """How many pods have this node."""
        return self._on_node[name]

    def take(self, event: WatchEvent) -> bool:
        """Take in a pod's event; True when the pod moved on."""
        metadata = event.object["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        node = event.object.get("spec", {}).get("nodeName", "")
        stage = _Stage.GONE if event.type is EventType.DELETED else _stage(event.object)
        old = self._stage.get(key)
        if stage is old or (old is None and stage is _Stage.GONE):
            return False
        self._leave(key, old)
        if stage is not _Stage.GONE:
            self._stage[key], self._node[key] = stage, node
            self._count[stage] += 1
            self._on_node[node] += 1
        for moved in self._moved.values():
            moved.pop(key, None)
        self._moved[stage][key] = node
        return True

    def _leave(self, key: str, old: _Stage | None) -> None:
        if old is not None:
            del self._stage[key]
            self._count[old] -= 1
            self._on_node[self._node.pop(key)] -= 1

    def changes(self, at: float) -> Iterator[Happening]:
        """What went, came and was bound since the last call, as happenings of the instant ``at``."""
        yield from self._tell(at, _Stage.GONE, "gone")
        yield from self._tell(at, _Stage.PENDING, "waiting for a node")
        bound = self._moved[_Stage.BOUND]
        for node in sorted(set(bound.values())):
            keys = sorted(key for key, held in bound.items() if held == node)
            yield Happening(
                at, What.PODS_BOUND, f"{_few(keys)} to {node}", {"count": len(keys), "node": node, "pods": keys}
            )
        bound.clear()

    def started(self, at: float) -> Iterator[Happening]:
        """What began to run since the last call."""
        yield from self._tell(at, _Stage.RUNNING, "running")

    def _tell(self, at: float, stage: _Stage, words: str) -> Iterator[Happening]:
        keys = sorted(self._moved[stage])
        if keys:
            yield Happening(at, stage.value, f"{_few(keys)} {words}", {"count": len(keys), "pods": keys})
        self._moved[stage].clear()


def _stage(pod: Any) -> _Stage:
    phase = pod.get("status", {}).get("phase", "Pending")
    if phase in ("Succeeded", "Failed"):
        return _Stage.GONE
    if phase == "Running":
        return _Stage.RUNNING
    return _Stage.BOUND if pod.get("spec", {}).get("nodeName") else _Stage.PENDING


def _few(keys: list[str]) -> str:
    """How many, and which if they are few; the default namespace goes without saying."""
    if len(keys) == 1:
        return f"pod {keys[0].removeprefix('default/')}"
    if len(keys) <= _NAMED:
        return f"{len(keys)} pods ({', '.join(key.removeprefix('default/') for key in keys)})"
    return f"{len(keys)} pods"
