"""Pods for which machine after machine came up, and that run on none of them: kube-scheduler sees something that karpy does not.

They wait for longer and longer before the next one is launched for them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from karpy.objects.pod import Pod
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Patience"]

_FREE = 2
"""From so many machines in vain on there is a wait: one may be an accident."""
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

    Nothing is lost when karpy starts anew: machines that came up and are empty are there to be seen, and a plan that thinks that
    a pod fits on one of them launches no other.
    """

    def __init__(self) -> None:
        self._cases: dict[str, _Case] = {}

    def note_launch(self, claim: str, uids: Iterable[str]) -> None:
        """A claim was made for these pods."""
        for uid in uids:
            self._cases.setdefault(uid, _Case()).coming.add(claim)

    def look(self, snapshot: Snapshot, now: float) -> None:
        """Take in what became of the claims, and of the pods."""
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

    def came_in_vain(self, uid: str) -> int:
        """How many machines came up for the pod that it does not run on, though nobody took its place there."""
        case = self._cases.get(uid)
        return len(case.in_vain) if case is not None else 0

    def holds(self, uid: str, now: float) -> bool:
        """Whether nothing is launched for the pod now. A clock that jumped back makes nobody wait for longer."""
        case = self._cases.get(uid)
        return case is not None and 0 < case.until - now <= _wait_s(len(case.in_vain))


def _is_taken(view: NodeView, pod: Pod) -> bool:
    """Whether the pod would have had room there, and others that kube-scheduler put there have it now."""
    return not pod.requests.fits_in(view.available) and pod.requests.fits_in(view.allocatable - view.daemon_used)


def _wait_s(came: int) -> float:
    return float(min(_FIRST_S * 2 ** min(came - _FREE, 20), _LONGEST_S)) if came >= _FREE else 0.0
