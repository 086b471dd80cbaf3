"""Whether a kubelet takes in a pod that nobody scheduled: one that names its node itself may not fit there.

Source: the kubelet's admission of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.kube.client import RawObject
from karpy.objects.meta import decode
from karpy.objects.podresources import pod_requests
from karpy.objects.podspec import PodSpec
from karpy.resources import PODS, Resources
from karpy.sim.scheduler.selectors import matches_any_term

__all__ = ["Misfit", "misfit", "requested"]

Misfit = tuple[str, str]
"""Reason and message, as the pod's status tells them."""


def misfit(pod: RawObject, node: RawObject, used: Mapping[str, int]) -> Misfit | None:
    """Why ``node``, on which others use so much, does not take the pod; None when it does."""
    spec = decode(pod["spec"], PodSpec)
    lacking = _lacking(spec, node, used)
    if lacking is not None:
        return lacking
    if not _is_wanted(spec, node["metadata"]):
        why = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
        return "NodeAffinity", f"Pod was rejected: {why}"
    return None


def requested(pod: RawObject) -> Resources:
    """What a pod uses of its node."""
    return pod_requests(decode(pod["spec"], PodSpec))


def _lacking(spec: PodSpec, node: RawObject, used: Mapping[str, int]) -> Misfit | None:
    room = Resources.parse((node.get("status") or {}).get("allocatable") or {})
    wanted = pod_requests(spec)
    for name in sorted(wanted, key=lambda name: (name != PODS, name)):
        asked, taken, capacity = wanted[name], used.get(name, 0), room.get(name, 0)
        if asked and asked + taken > capacity:
            amounts = f"requested: {asked}, used: {taken}, capacity: {capacity}"
            return f"OutOf{name}", f"Pod was rejected: Node didn't have enough resource: {name}, {amounts}"
    return None


def _is_wanted(spec: PodSpec, node: Mapping[str, Any]) -> bool:
    labels: Mapping[str, str] = node.get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    return matches_any_term(affinity.required.node_selector_terms, node["name"], labels)
