"""The memory that nodes turned out to have: better than the estimate from EC2's list, for the images that they ran.

Unlike `karpy.cloud.measured`, which only ever takes away what a machine lacked, this replaces the estimate, which may be too small.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

__all__ = ["MeasuredMemory"]

_KEPT_S: Final = 60 * 24 * 3_600.0

Images = frozenset[str]


class MeasuredMemory:
    """By instance type and the images of the node class. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._least: dict[Images, dict[str, tuple[int, float]]] = {}
        self._now: dict[Images, Mapping[str, int]] = {}

    def note(self, instance_type: str, images: Images, image: str, memory: int, now: float) -> None:
        """A node of the type joined with so many bytes. One that runs an image which the class no longer has tells nothing."""
        if image not in images or memory <= 0:
            return
        with self._lock:
            known = self._least.setdefault(images, {})
            least = min(memory, known[instance_type][0]) if instance_type in known else memory
            known[instance_type] = least, now
            self._renew(images, now)

    def at(self, images: Images, now: float) -> Mapping[str, int]:
        """Instance type → the least memory seen, in bytes. The same object while nothing changes."""
        with self._lock:
            if any(now - since >= _KEPT_S for _, since in self._least.get(images, {}).values()):
                self._renew(images, now)
            return self._now.get(images, _NOTHING)

    def _renew(self, images: Images, now: float) -> None:
        kept = {type_: seen for type_, seen in self._least[images].items() if now - seen[1] < _KEPT_S}
        self._least[images] = kept
        found = {type_: memory for type_, (memory, _) in kept.items()}
        if found != self._now.get(images):
            self._now[images] = found


_NOTHING: Final[Mapping[str, int]] = {}
