"""Pods for which machine after machine came up, and that run on none of them: kube-scheduler sees something that karpy does not.

They wait for longer and longer before the next one is launched for them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from karpy.objects.nodeclaim import INITIALIZED
from karpy.objects.pod import Pod
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Patience"]

_FREE = 2
"""From so many machines in vain on there is a wait: one may be an accident."""
_NOTICED_S = 30.0
"""By then kube-scheduler has tried every pod on a new machine."""
_FIRST_S = 30.0
_LONGEST_S = 3600.0


@attrs.define
class _Case:
    """One pod: the claims made for it that are not up yet, and since when which of them are up in vain."""

    coming: set[str] = attrs.field(factory=set)
    in_vain: dict[str, float] = attrs.field(factory=dict)

    @property
    def until(self) -> float:
        """Until when nothing more is launched."""
        return max(self.in_vain.values(), default=0.0) + _wait_s(len(self.in_vain))


class Patience:
    """Knows pods by uid. What it knows of a pod is forgotten when the pod has a place, or is gone.

    When karpy starts anew it knows nothing of what was launched for whom. But machines that stand empty since a pod waits, and were
    to hold such a pod, are there to be seen.
    """

    def __init__(self) -> None:
        self._cases: dict[str, _Case] = {}
        self._has_looked = False

    def note_launch(self, claim: str, uids: Iterable[str]) -> None:
        """A claim was made for these pods."""
        for uid in uids:
            self._cases.setdefault(uid, _Case()).coming.add(claim)

    def look(self, snapshot: Snapshot, now: float) -> None:
        """Take in what became of the claims, and of the pods."""
        if not self._has_looked:
            self._has_looked = True
            self._look_back(snapshot, now)
        if not self._cases:
            return
        pending = {pod.metadata.uid: pod for pod in snapshot.pending}
        self._cases = {uid: case for uid, case in self._cases.items() if uid in pending}
        for uid, case in self._cases.items():
            for claim in sorted(case.coming):
                view = snapshot.machine(claim)
                if view is None:
                    case.coming.discard(claim)  # it was refused, or did not last: no disappointment
                elif view.is_initialized:
                    case.coming.discard(claim)
                    case.in_vain[claim] = now
            for claim in tuple(case.in_vain):
                view = snapshot.machine(claim)
                if view is not None and _is_taken(view, pending[uid]):
                    del case.in_vain[claim]

    def _look_back(self, snapshot: Snapshot, now: float) -> None:
        """What can be told of former lives. That is no more than a first wait: whom the machines were for, nobody knows."""
        empty = [view for view in snapshot.nodes if _stands_empty(view, now)]
        for pod in snapshot.pending if empty else ():
            since = pod.metadata.created
            found = (view.claim for view in empty if view.claim is not None and view.claim.metadata.created >= since)
            names = [claim.name for claim in found if pod.requests.fits_in(claim.requests)][:_FREE]
            if len(names) == _FREE:
                self._cases[pod.metadata.uid] = _Case(in_vain=dict.fromkeys(names, now))

    def came_in_vain(self, uid: str) -> int:
        """How many machines came up for the pod that it does not run on, though nobody took its place there."""
        case = self._cases.get(uid)
        return len(case.in_vain) if case is not None else 0

    def holds(self, uid: str, now: float) -> bool:
        """Whether nothing is launched for the pod now. A clock that jumped back makes nobody wait for longer."""
        case = self._cases.get(uid)
        return case is not None and 0 < case.until - now <= _wait_s(len(case.in_vain))


def _stands_empty(view: NodeView, now: float) -> bool:
    """Whether kube-scheduler had the time to put pods there, and has put none."""
    ready = view.claim.condition(INITIALIZED) if view.claim is not None else None
    if not view.is_initialized or view.is_leaving or ready is None or now < ready.since + _NOTICED_S:
        return False
    return all(pod.is_owned_by_daemon_set for pod in view.pods)


def _is_taken(view: NodeView, pod: Pod) -> bool:
    """Whether the pod would have had room there, and others that kube-scheduler put there have it now."""
    return not pod.requests.fits_in(view.available) and pod.requests.fits_in(view.allocatable - view.daemon_used)


def _wait_s(came: int) -> float:
    return float(min(_FIRST_S * 2 ** min(came - _FREE, 20), _LONGEST_S)) if came >= _FREE else 0.0
