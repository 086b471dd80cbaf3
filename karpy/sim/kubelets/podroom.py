"""What the pods on a node use of it, kept as they come, start and end, for nodes on which pods are put without a scheduler."""

from __future__ import annotations

from collections import Counter

import attrs

from karpy.kube.client import RawObject
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.resources import Resources
from karpy.sim.cache import ClusterCache, Key, key_of
from karpy.sim.kubelets.podadmission import requested
from karpy.sim.podfacts import is_finished

__all__ = ["PodRoom"]

_REMEMBERED = 2_000


@attrs.define(eq=False)
class _Taken:
    """What is used of one node, and by whom."""

    by_pod: dict[Key, tuple[object, Resources]] = attrs.field(factory=dict)
    """With the spec that it was read from."""
    sum: Counter[str] = attrs.field(factory=Counter)

    def put(self, key: Key, pod: RawObject) -> None:
        """A pod uses its node from the moment when the kubelet accepted it until it has ended."""
        known, spec = self.by_pod.get(key), pod["spec"]
        if not (pod.get("status") or {}).get("startTime") or is_finished(pod):
            self.remove(key)
        elif known is None or known[0] is not spec:
            self.remove(key)
            amounts = requested(pod)
            self.by_pod[key] = (spec, amounts)
            self.sum.update(amounts)

    def remove(self, key: Key) -> None:
        known = self.by_pod.pop(key, None)
        if known is not None:
            self.sum.subtract(known[1])


class PodRoom:
    """Counts from the first time on that somebody asks about a node."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._nodes: dict[str, _Taken] = {}

    def take(self, event: WatchEvent) -> None:
        """Whatever happens to pods, if their nodes were asked about. A pod never changes its node."""
        if not self._nodes:
            return
        taken = self._nodes.get(event.object["spec"].get("nodeName", ""))
        if taken is None:
            return
        if event.type is EventType.DELETED:
            taken.remove(key_of(event.object))
        else:
            taken.put(key_of(event.object), event.object)

    def used(self, node: str, but: RawObject) -> Resources:
        """What all pods of a node use but one."""
        taken = self._nodes.get(node)
        if taken is None:
            if len(self._nodes) >= _REMEMBERED:
                self._nodes.clear()
            taken = self._nodes[node] = _Taken()
            for pod in self._cache.pods_on(node):
                taken.put(key_of(pod), pod)
        own = taken.by_pod.get(key_of(but))
        total = Resources(taken.sum)
        return total if own is None else total - own[1]
