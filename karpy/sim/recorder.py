"""Writing Events as Kubernetes components do: the same message about the same object counts up instead of piling up."""

from __future__ import annotations

import zlib
from typing import Any

from karpy.clock import Clock, format_time
from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind

__all__ = ["NORMAL", "WARNING", "Recorder"]

NORMAL = "Normal"
WARNING = "Warning"

_REPEAT_AFTER_S = 60.0
_REMEMBERED = 4096


class Recorder:
    """Writes the events of one component. Failing to write one never fails the work that it tells of."""

    def __init__(self, kube: KubeClient, clock: Clock, component: str) -> None:
        self._kube = kube
        self._clock = clock
        self._component = component
        self._written: dict[tuple[str, str, str], tuple[str, float, int]] = {}
        self._serial = 0

    def record(self, kind: Kind, obj: RawObject, type_: str, reason: str, message: str) -> None:
        """Tell ``message`` about ``obj``. A repetition within a minute is dropped, a later one raises the count."""
        now = self._clock.now()
        metadata = obj["metadata"]
        key = (metadata.get("uid", ""), reason, message)
        known = self._written.get(key)
        if known is None:
            name = self._create(kind, obj, type_, reason, message)
            self._remember(key, (name, now, 1))
        elif now - known[1] >= _REPEAT_AFTER_S:
            self._repeat(metadata.get("namespace") or "default", known[0], known[2] + 1)
            self._remember(key, (known[0], now, known[2] + 1))

    def _remember(self, key: tuple[str, str, str], entry: tuple[str, float, int]) -> None:
        self._written.pop(key, None)
        self._written[key] = entry
        if len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]

    def _create(self, kind: Kind, obj: RawObject, type_: str, reason: str, message: str) -> str:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        self._serial += 1
        mark = zlib.crc32(f"{self._component}/{self._serial}".encode())
        name = f"{metadata['name']}.{int(self._clock.now() * 1e6):x}{mark:08x}"
        at = format_time(self._clock.now())
        event: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "name": metadata["name"],
                "uid": metadata.get("uid", ""),
                "resourceVersion": metadata.get("resourceVersion", ""),
                **({"namespace": metadata["namespace"]} if metadata.get("namespace") else {}),
            },
            "type": type_,
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        try:
            self._kube.create(kinds.EVENT, event, namespace)
        except KubeError:
            return ""  # a namespace that is going takes no more events
        return name

    def _repeat(self, namespace: str, name: str, count: int) -> None:
        if not name:
            return
        patch = {"count": count, "lastTimestamp": format_time(self._clock.now())}
        try:
            self._kube.patch(kinds.EVENT, name, patch, namespace)
        except KubeError:
            return  # it has expired: the next new message is written anew
