"""Until when a node that is being deleted may take its time (core specification 4.12)."""

from __future__ import annotations

from typing import Final

from karpy import labels
from karpy.clock import format_time, parse_time
from karpy.errors import InvalidObject
from karpy.objects.nodeclaim import NodeClaim

__all__ = ["deadline_note", "termination_deadline"]

_LATEST: Final = parse_time("9999-12-31T23:59:59Z")
"""No later time can be written."""


def termination_deadline(claim: NodeClaim) -> float | None:
    """When the claim's pods must be gone at the latest, or None: they may stay for as long as they like.

    It stands on the claim as soon as anybody wrote it there. Until then, and where it cannot be read, it is worked out.
    """
    noted = _noted(claim)
    if noted is not None:
        return noted
    deleted, grace_s = claim.metadata.deleted, claim.termination_grace_period_s
    if deleted is None or grace_s is None:
        return None
    return min(deleted + max(grace_s, 0.0), _LATEST)


def deadline_note(claim: NodeClaim) -> dict[str, str]:
    """The annotation that a claim that is being deleted lacks, if it lacks it: one that is there stays as it is."""
    deadline = termination_deadline(claim)
    if deadline is None or labels.TERMINATION_TIMESTAMP in (claim.metadata.annotations or {}):
        return {}
    return {labels.TERMINATION_TIMESTAMP: format_time(deadline)}


def _noted(claim: NodeClaim) -> float | None:
    text = (claim.metadata.annotations or {}).get(labels.TERMINATION_TIMESTAMP)
    try:
        return None if text is None else parse_time(text)
    except InvalidObject:
        return None
