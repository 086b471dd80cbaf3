"""The differences between karpy and the recordings, each with its reason.

In a pattern an ellipsis stands for any text (see `tests.scenarios.lifecycle.comparing.Listed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.scenarios.lifecycle.comparing import Listed

__all__ = ["DELIBERATE", "EXPECTED_LATER", "LISTED", "NEXT", "NOT_COMPARABLE"]


def _listed(reason: str, *patterns: str, only: str = "") -> Iterator[Listed]:
    """Patterns for one reason; ``only``: the numbers of the scenarios that show them, each of them."""
    return (Listed(pattern, reason, frozenset(only.split())) for pattern in patterns)


DELIBERATE: Sequence[Listed] = (
    *_listed(
        "a condition that did not change stays: Ready and NodeRegistrationHealthy do not flip when a pool's spec changes",
        "- NodePool …: Ready went Unknown > True > Unknown…",
        "- Event NodePool …: Normal Ready: Status condition transitioned, Type: Ready, Status: True -> Unknown…",
        "- NodePool …: NodeRegistrationHealthy went Unknown > True > Unknown…",
        "- Event NodePool …: Normal NodeRegistrationHealthy: …, Status: True -> Unknown…",
        "+ NodePool …: Ready went Unknown > True",
        "+ NodePool …: NodeRegistrationHealthy went Unknown > True",
    ),
    *_listed(
        "events name the object that they are about",
        "- Event Node: Normal Finalized…",
        "- Event NodeClaim: Normal Finalized…",
        "+ Event Node …: Normal Finalized…",
        "+ Event NodeClaim …: Normal Finalized…",
    ),
    *_listed(
        "that repair is blocked is told on all that it is about",
        "+ Event NodeClaim …: Warning NodeRepairBlocked…",
        "+ Event NodePool …: Warning NodeRepairBlocked…",
        only="12",
    ),
    *_listed(
        "a claim has the capacity of its machine, and a pool what its machines have; kwok's have what pods asked for",
        "- End: NodePool …: status.resources = …",
        "+ End: NodePool …: status.resources = …",
    ),
    *_listed(
        "the text names for each pool what excludes how many of its instance types",
        "- Event Pod …: Warning FailedScheduling: Failed to schedule pod, did not tolerate taint…",
        "- Event Pod …: Warning FailedScheduling: Failed to schedule pod, no instance type …",
        "+ Event Pod …: Warning FailedScheduling: Failed to schedule pod, incompatible with nodepool …",
    ),
    *_listed(
        "a conflict names the other overlay and what both set",
        "- NodeOverlay conflict-a: ValidationSucceeded is False, Conflict: conflict with another overlay",
        "+ NodeOverlay conflict-a: ValidationSucceeded is False, Conflict: conflict with another overlay: …",
        only="11b",
    ),
    *_listed(
        "a provisioning strategy that is not karpy's belongs to another autoscaler, and its buffer is left alone",
        "- CapacityBuffer t/strategy: …",
        "- Event CapacityBuffer t/strategy: …",
        only="11b",
    ),
)
"""What karpy does otherwise on purpose."""

NOT_COMPARABLE: Sequence[Listed] = (
    *_listed(
        "the world's kubelets register nodes that are not ready yet, and its node controller taints them; the script did not",
        '+ NodeClaim …: Initialized is Unknown, KnownEphemeralTaintsExist: KnownEphemeralTaint "node.kubernetes.io/not-ready…',
        "+ NodeClaim …: Initialized is Unknown, NodeNotReady: Node status is NotReady",
    ),
)
"""What is otherwise around karpy than it was around Karpenter."""

NEXT: Sequence[Listed] = ()
"""What comes with the disruption methods."""

EXPECTED_LATER: Sequence[Listed] = (Listed("…", "the life cycle is being built"),)
"""What is being built."""

LISTED: Sequence[Listed] = (*DELIBERATE, *NOT_COMPARABLE, *NEXT, *EXPECTED_LATER)
