"""What the simulated cluster's controllers look up: objects by name, pods by node, objects by their controlling owner.

One cache is fed by the loop's reflectors and shared by all of them, as informers are in a real controller manager. It only
reads the API through watches.
"""

from __future__ import annotations

from collections.abc import Collection

from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.sim.crowds import Crowd, Group, Groups, Key
from karpy.sim.loop import Loop

__all__ = ["ClusterCache", "Key", "controller_of", "key_of"]

_OWNED = (kinds.POD, kinds.REPLICA_SET)


def key_of(obj: RawObject) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def controller_of(obj: RawObject) -> RawObject | None:
    """The owner reference of the object's controller."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            owner: RawObject = reference
            return owner
    return None


class ClusterCache:
    """Answers from the last events taken in. The answers are live views: copy before you wait."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._pods_by_node = Groups(Group)
        self._pods_by_namespace = Groups(Group)
        self._by_owner = {kind: Groups(Crowd) for kind in _OWNED}
        loop.subscribe(kinds.POD, self._take_pod)
        loop.subscribe(kinds.REPLICA_SET, self._take_owned)

    def get(self, kind: Kind, name: str, namespace: str = "") -> RawObject | None:
        return self._loop.objects(kind).get((namespace, name))

    def all(self, kind: Kind) -> Collection[RawObject]:
        return self._loop.objects(kind).values()

    def owned(self, kind: Kind, uid: str) -> Collection[RawObject]:
        """Pods or ReplicaSets that the object with this uid controls."""
        return self.crowd(kind, uid).members.values()

    def crowd(self, kind: Kind, uid: str) -> Crowd:
        """The same, counted."""
        return self._by_owner[kind].of(uid)

    def orphans(self, kind: Kind, namespace: str) -> Crowd:
        """Pods or ReplicaSets of a namespace that nobody controls."""
        return self._by_owner[kind].of(_nobody_in(namespace))

    def pods_on(self, node: str) -> Collection[RawObject]:
        """Pods bound to a node."""
        return self._pods_by_node.of(node).members.values()

    def pods_in(self, namespace: str) -> Collection[RawObject]:
        return self._pods_by_namespace.of(namespace).members.values()

    def _take_pod(self, event: WatchEvent) -> None:
        key = key_of(event.object)
        if event.type is EventType.DELETED:
            self._pods_by_node.remove(key)
            self._pods_by_namespace.remove(key)
        else:
            self._pods_by_namespace.put(key, key[0], event.object)
            node = event.object["spec"].get("nodeName")
            if node:
                self._pods_by_node.put(key, node, event.object)
            else:
                self._pods_by_node.remove(key)
        self._take_owned(event)

    def _take_owned(self, event: WatchEvent) -> None:
        index, key = self._by_owner[event.kind], key_of(event.object)
        if event.type is EventType.DELETED:
            index.remove(key)
        else:
            owner = controller_of(event.object)
            index.put(key, _nobody_in(key[0]) if owner is None else owner["uid"], event.object)


def _nobody_in(namespace: str) -> str:
    return f"/{namespace}"
