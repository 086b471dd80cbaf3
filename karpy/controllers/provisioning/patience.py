"""Pods for which machine after machine came up, and that run on none of them: kube-scheduler sees something that karpy does not.

They wait for longer and longer before the next one is launched for them.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from karpy.state.snapshot import Snapshot

__all__ = ["Patience"]

_FREE = 2
"""So many machines may be in vain without a wait: others may have taken the room."""
_FIRST_S = 30.0
_LONGEST_S = 3600.0


@attrs.define
class _Case:
    """One pod: the claims made for it that are not up yet, how many machines came up in vain, and until when it waits."""

    coming: set[str] = attrs.field(factory=set)
    came: int = 0
    until: float = 0.0


class Patience:
    """Knows pods by uid. What it knows of a pod is forgotten when the pod has a place, or is gone."""

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
        pending = {pod.metadata.uid for pod in snapshot.pending}
        self._cases = {uid: case for uid, case in self._cases.items() if uid in pending}
        for case in self._cases.values():
            for claim in sorted(case.coming):
                view = snapshot.machine(claim)
                if view is None:
                    case.coming.discard(claim)  # it was refused, or did not last: no disappointment
                elif view.is_initialized:
                    case.coming.discard(claim)
                    case.came += 1
                    case.until = now + _wait_s(case.came)

    def came_in_vain(self, uid: str) -> int:
        """How many machines came up for the pod that it does not run on."""
        case = self._cases.get(uid)
        return case.came if case is not None else 0

    def holds(self, uid: str, now: float) -> bool:
        """Whether nothing is launched for the pod now. A clock that jumped back makes nobody wait for longer."""
        case = self._cases.get(uid)
        return case is not None and 0 < case.until - now <= _wait_s(case.came)


def _wait_s(came: int) -> float:
    return float(min(_FIRST_S * 2 ** min(came - _FREE, 20), _LONGEST_S)) if came >= _FREE else 0.0
