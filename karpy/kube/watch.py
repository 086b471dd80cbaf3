"""Following one kind: list once, then watch, and list again when the watch lost events.

What comes out is a gapless story: every object that appears, changes or vanishes is told, also across a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from karpy.errors import KubeError
from karpy.kube.client import KubeClient, RawObject, Watch
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent

__all__ = ["Reflector"]


class Reflector:
    """Keeps ``objects`` (by namespace and name) equal to the server's and hands every change to ``sink``.

    ``listed`` hears the keys of everything that a list call showed: who took in objects by other ways can drop what is gone.
    """

    def __init__(
        self,
        client: KubeClient,
        kind: Kind,
        sink: Callable[[WatchEvent], None],
        listed: Callable[[Kind, AbstractSet[str]], None] | None = None,
    ) -> None:
        self.kind = kind
        self.objects: dict[tuple[str, str], RawObject] = {}
        self.has_listed = False
        """Whether `objects` has been complete at least once."""
        self._client = client
        self._sink = sink
        self._listed = listed
        self._watch: Watch | None = None

    def poll(self) -> int:
        """Take in what happened since the last call; returns how many events that were. Never blocks on a watch."""
        if self._watch is None:
            return self._list()
        try:
            events = self._watch.poll()
        except KubeError as error:
            self.stop()
            if not error.gone:
                raise
            return self._list()
        for event in events:
            self._take(event)
        return len(events)

    def stop(self) -> None:
        """Close the watch. The next poll lists again."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def _list(self) -> int:
        try:
            listed = self._client.list(self.kind)
        except KubeError as error:
            if error.not_found and not self.objects:
                self._complete(frozenset())  # a kind that is not served has no objects
            raise
        self._watch = self._client.watch(self.kind, listed.resource_version)
        fresh = {_key(obj): obj for obj in listed.items}
        events = [
            WatchEvent(EventType.DELETED, self.kind, self.objects[key]) for key in self.objects if key not in fresh
        ]
        for key, obj in fresh.items():
            known = self.objects.get(key)
            if known is None:
                events.append(WatchEvent(EventType.ADDED, self.kind, obj))
            elif known["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                events.append(WatchEvent(EventType.MODIFIED, self.kind, obj))
        for event in events:
            self._take(event)
        self._complete(self.keys())
        return len(events)

    def keys(self) -> AbstractSet[str]:
        """The objects as ``namespace/name``, or by name alone."""
        return {f"{namespace}/{name}" if namespace else name for namespace, name in self.objects}

    def _complete(self, keys: AbstractSet[str]) -> None:
        self.has_listed = True
        if self._listed is not None:
            self._listed(self.kind, keys)

    def _take(self, event: WatchEvent) -> None:
        key = _key(event.object)
        if event.type is EventType.DELETED:
            self.objects.pop(key, None)
        else:
            self.objects[key] = event.object
        self._sink(event)


def _key(obj: RawObject) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
