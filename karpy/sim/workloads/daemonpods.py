"""The pods of DaemonSets: what they bear beside what they say, on which nodes they may be, and how each is pinned to its own.

Source: the DaemonSet controller of Kubernetes 1.31.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from karpy.kube.client import RawObject
from karpy.objects.podspec import PodSpec
from karpy.sim.scheduler.selectors import matches_any_term
from karpy.taints import NO_EXECUTE, NO_SCHEDULE, Taint, Toleration

__all__ = ["Site", "may_start", "may_stay", "node_of", "pinned", "with_tolerations"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NODE = "node.kubernetes.io"


def _exists(key: str, effect: str) -> dict[str, str]:
    return {"key": f"{_NODE}/{key}", "operator": "Exists", "effect": effect}


_TOLERATIONS = (
    _exists("not-ready", NO_EXECUTE),
    _exists("unreachable", NO_EXECUTE),
    _exists("disk-pressure", NO_SCHEDULE),
    _exists("memory-pressure", NO_SCHEDULE),
    _exists("pid-pressure", NO_SCHEDULE),
    _exists("unschedulable", NO_SCHEDULE),
)
_ON_HOST_NETWORK = _exists("network-unavailable", NO_SCHEDULE)


@attrs.frozen
class Site:
    """What matters of a node here."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


def with_tolerations(spec: Mapping[str, Any]) -> dict[str, Any]:
    own = list(spec.get("tolerations") or ())
    more = [*_TOLERATIONS, _ON_HOST_NETWORK] if spec.get("hostNetwork") else _TOLERATIONS
    return {**spec, "tolerations": [*own, *(each for each in more if each not in own)]}


def pinned(spec: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The spec with node affinity for this node alone, in the place of whatever its terms were."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = dict(spec.get("affinity") or {})
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), _REQUIRED: {"nodeSelectorTerms": [here]}}
    return {**spec, "affinity": affinity}


def node_of(pod: RawObject) -> str:
    """The node that the pod runs on, or that it is pinned to."""
    bound = pod["spec"].get("nodeName")
    if bound:
        return str(bound)
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name":
                return str(field["values"][0])
    return ""


def may_start(spec: PodSpec, site: Site) -> bool:
    return _fits(spec, site) and _bears(spec.tolerations, site.taints, (NO_SCHEDULE, NO_EXECUTE))


def may_stay(spec: PodSpec, site: Site) -> bool:
    return _fits(spec, site) and _bears(spec.tolerations, site.taints, (NO_EXECUTE,))


def _fits(spec: PodSpec, site: Site) -> bool:
    if any(site.labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    node = spec.affinity.node_affinity if spec.affinity else None
    if node is None or node.required is None:
        return True
    return matches_any_term(node.required.node_selector_terms, site.name, site.labels)


def _bears(tolerations: Sequence[Toleration], taints: Sequence[Taint], effects: Sequence[str]) -> bool:
    return all(taint.effect not in effects or any(each.tolerates(taint) for each in tolerations) for taint in taints)
