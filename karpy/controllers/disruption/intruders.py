"""Pods that came to a node while it was on its way to be taken away.

A decision finds places for the pods that it knows. A pod that was bound between the first look and the second, or in the very
moment before the taint, has just started: it is not moved at once. And a pod that must not be disturbed may come at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from karpy import labels
from karpy.controllers.shared import Shared
from karpy.disruption.command import Method
from karpy.errors import InvalidObject
from karpy.objects.kinds import POD
from karpy.objects.meta import decode
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.pod import Pod
from karpy.state.snapshot import Snapshot

__all__ = ["Intruders", "newcomers"]


def newcomers(claims: Iterable[str], before: Snapshot, now: Snapshot) -> dict[str, str]:
    """Those of these claims to whose nodes pods came in between that would have to move, and which pod it was."""
    found = {}
    for name in claims:
        view = now.machine(name)
        known = _pods_on(name, before)
        came = () if view is None else (pod.key for pod in view.reschedulable_pods if pod.metadata.uid not in known)
        pod = next(iter(came), None)
        if pod is not None:
            found[name] = pod
    return found


class Intruders:
    """Knows which pods were there when it was decided, and looks once more before claims are deleted."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._known: dict[str, frozenset[str]] = {}
        """Uids, by claim."""

    def note(self, claims: Iterable[str], picture: Snapshot) -> None:
        """It was decided by this picture that these go."""
        for name in claims:
            self._known[name] = _pods_on(name, picture)

    def forget(self, claims: Iterable[str]) -> None:
        for name in claims:
            self._known.pop(name, None)

    def found(self, claims: Iterable[str], method: Method) -> dict[str, str]:
        """Those of these claims whose nodes must not go now, and why.

        Raises:
            KubeError: nobody could say which pods there are.
        """
        found: dict[str, str] = {}
        for name in claims:
            claim = self._shared.state.claim(name)
            node = None if claim is None else self._shared.state.node_of(claim)
            if claim is None or node is None or claim.metadata.is_deleting:
                continue
            why = next(self._reasons(claim, node, method), None)
            if why is not None:
                found[name] = why
        return found

    def _reasons(self, claim: NodeClaim, node: Node, method: Method) -> Iterator[str]:
        now, known = self._shared.clock.now(), self._known.get(claim.name, frozenset())
        waits_for_pods = method.is_graceful or claim.termination_grace_period_s is None
        for pod in self._pods_now_on(node):
            if method.is_graceful and pod.is_reschedulable and pod.metadata.uid not in known:
                yield f"Pod {pod.key} came to the node"
            if waits_for_pods and pod.is_active and pod.is_protected(now):
                yield f'Pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={pod.key})'

    def _pods_now_on(self, node: Node) -> Iterator[Pod]:
        """As the API server has them at this moment: what was heard may be a little old. What cannot be read is nobody's pod."""
        for raw in self._shared.kube.list(POD, field_selector=f"spec.nodeName={node.name}").items:
            with contextlib.suppress(InvalidObject):
                yield decode(raw, Pod)


def _pods_on(claim: str, picture: Snapshot) -> frozenset[str]:
    view = picture.machine(claim)
    return frozenset() if view is None else frozenset(pod.metadata.uid for pod in view.pods)
