"""Why a node will not do, in kube-scheduler's words, and the message that sums up all nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import attrs

__all__ = ["Refusal", "no_nodes_message", "summary"]


@attrs.frozen
class Refusal:
    """What one node lacks. ``is_final``: no preemption on it could help. ``plugin`` is kube-scheduler's name of the rule."""

    plugin: str
    reasons: tuple[str, ...]
    is_final: bool = False


UNSCHEDULABLE = Refusal("NodeUnschedulable", ("node(s) were unschedulable",), is_final=True)
NODE_AFFINITY = Refusal("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), is_final=True)
NOT_NAMED = Refusal("NodeAffinity", ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_final=True)
PORTS = Refusal("NodePorts", ("node(s) didn't have free ports for the requested pod ports",))
SPREAD = Refusal("PodTopologySpread", ("node(s) didn't match pod topology spread constraints",))
SPREAD_LABEL = Refusal(
    "PodTopologySpread",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    is_final=True,
)
AFFINITY = Refusal("InterPodAffinity", ("node(s) didn't match pod affinity rules",), is_final=True)
ANTI_AFFINITY = Refusal("InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",))
OTHERS_ANTI_AFFINITY = Refusal("InterPodAffinity", ("node(s) didn't satisfy existing pods anti-affinity rules",))

DISK_IN_USE = Refusal("VolumeRestrictions", ("node(s) had no available disk",))
CLAIM_IN_USE = Refusal(
    "VolumeRestrictions",
    ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",),
)
TOO_MANY_VOLUMES = Refusal("NodeVolumeLimits", ("node(s) exceed max volume count",))
VOLUME_ZONE = Refusal("VolumeZone", ("node(s) had no available volume zone",), is_final=True)
NAMES_CONFLICT = Refusal("NodeAffinity", ("pod affinity terms conflict",), is_final=True)

NODE_CONFLICT = "node(s) had volume node affinity conflict"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NEVER = "not eligible due to preemptionPolicy=Never."
IN_PROGRESS = "not eligible due to a terminating pod on the nominated node."

_LONGEST = 1024
"""What fits into the note of an event; longer ones are cut."""


def untolerated(key: str, value: str) -> Refusal:
    return Refusal("TaintToleration", (f"node(s) had untolerated taint {{{key}: {value}}}",), is_final=True)


def insufficient(too_many_pods: bool, resources: tuple[str, ...]) -> Refusal:
    lacking = tuple(f"Insufficient {name}" for name in resources)
    return Refusal("NodeResourcesFit", ("Too many pods", *lacking) if too_many_pods else lacking)


def unbindable(*reasons: str) -> Refusal:
    return Refusal("VolumeBinding", reasons, is_final=True)


def no_nodes_message() -> str:
    return "no nodes available to schedule pods"


def summary(refusals: Mapping[str, Refusal]) -> str:
    """Why every node refused, counted.

    >>> summary({"a": UNSCHEDULABLE})
    '0/1 nodes are available: 1 node(s) were unschedulable.'
    """
    return f"{_head(len(refusals))}: {_histogram(refusals.values())}."


def summary_of_all(refusal: Refusal, count: int) -> str:
    """Why no node was looked at at all.

    >>> summary_of_all(NAMES_CONFLICT, 3)
    '0/3 nodes are available: pod affinity terms conflict.'
    """
    return f"{_head(count)}: {', '.join(refusal.reasons)}."


def shortened(message: str) -> str:
    """As much of a message as an event holds."""
    return message if len(message) <= _LONGEST else message[: _LONGEST - 4] + " ..."


def _head(count: int) -> str:
    return f"0/{count} nodes are available"


def _histogram(refusals: Iterable[Refusal]) -> str:
    counts = Counter(reason for refusal in refusals for reason in refusal.reasons)
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
