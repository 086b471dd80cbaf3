"""When a solve need not go on: what it has found is enough for those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from karpy.objects.pod import Pod
from karpy.scheduling.claims import PlannedClaim

__all__ = ["Stop", "for_real_pods"]


@attrs.frozen
class Stop:
    """As soon as a pod with one of these uids has no place for certain, or there are more new machines than so many, but for those
    that hold ``virtual`` pods alone."""

    uids: frozenset[str]
    machines: int
    virtual: frozenset[str] = frozenset()

    def is_about(self, pods: Iterable[Pod]) -> bool:
        return any(pod.metadata.uid in self.uids for pod in pods)

    def is_exceeded(self, claims: Sequence[PlannedClaim]) -> bool:
        return len(claims) > self.machines and len(for_real_pods(claims, self.virtual)) > self.machines


def for_real_pods(claims: Sequence[PlannedClaim], virtual: frozenset[str]) -> Sequence[PlannedClaim]:
    """The planned machines that are not for ``virtual`` pods alone."""
    if not virtual:
        return claims
    return [claim for claim in claims if any(pod.metadata.uid not in virtual for pod in claim.pods)]
