"""Of each DaemonSet the newest pod: the next one will be like it, whatever webhooks and autoscalers have made of the template."""

from __future__ import annotations

from collections.abc import Mapping

from karpy.objects.pod import Pod
from karpy.state.stores import Store

__all__ = ["DaemonPods"]


class DaemonPods:
    """The pods of DaemonSets, kept current pod by pod. All of a set are looked at only when its newest one goes."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}
        self._newest: Store[str, Pod] = Store()

    def put(self, key: str, old: Pod | None, pod: Pod | None) -> None:
        """The pod of this key, known as ``old`` before, is so now; None: it is gone. Pods of others are left aside."""
        before, after = _set_of(old), _set_of(pod)
        if before and before != after:
            self._drop(before, key)
        if after and pod is not None:
            self._pods.setdefault(after, {})[key] = pod
            newest = self._newest.get(after)
            if newest is None or newest.key == key or _age(newest) < _age(pod):
                self._newest.put(after, pod)

    def _drop(self, owner: str, key: str) -> None:
        pods = self._pods[owner]
        del pods[key]
        if not pods:
            del self._pods[owner]
        newest = self._newest.get(owner)
        if newest is not None and newest.key == key:
            self._newest.put(owner, max(pods.values(), key=_age, default=None))

    def picture(self) -> Mapping[str, Pod]:
        """The newest pods as they are now, by the uid of their DaemonSet."""
        return self._newest.picture()


def _set_of(pod: Pod | None) -> str:
    """The uid of the DaemonSet whose pod it is; empty for the pods of others and for those that ended."""
    if pod is None or pod.is_terminal:
        return ""
    for owner in pod.metadata.owner_references:
        if owner.kind == "DaemonSet" and owner.controller and owner.api_version == "apps/v1":
            return owner.uid
    return ""


def _age(pod: Pod) -> tuple[float, str]:
    return pod.metadata.created, pod.key
