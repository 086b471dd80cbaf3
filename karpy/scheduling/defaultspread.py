"""The cluster's default spread constraints, for pods that name none of their own (core specification 3.8).

A default constraint has no selector. Which pods it counts is deduced for each pod as kube-scheduler does it: those that its
services and the workload that controls it select. A pod that belongs to nothing is not spread.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from karpy.objects.pod import Pod
from karpy.objects.podspec import TopologySpreadConstraint
from karpy.objects.selectors import LabelSelector, SelectorRequirement
from karpy.state.workloads import Workloads

__all__ = ["DefaultSpread", "deduced_selector"]

_NOTHING = LabelSelector()

Spread = tuple[TopologySpreadConstraint, ...]


class DefaultSpread:
    """The constraints of pods by default; pods with the same labels, namespace and controller share theirs."""

    def __init__(self, constraints: Sequence[TopologySpreadConstraint], workloads: Workloads) -> None:
        self._constraints = tuple(constraints)
        self._workloads = workloads
        self._known: dict[Hashable, Spread] = {}

    def __call__(self, pod: Pod) -> Spread:
        """The constraints, each with the pod's selector; none for a pod that belongs to nothing."""
        meta = pod.metadata
        key = (meta.namespace, frozenset((meta.labels or {}).items()), meta.controller)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made_for(pod)
        return found

    def _made_for(self, pod: Pod) -> Spread:
        selector = deduced_selector(pod, self._workloads)
        if selector is None:
            return ()
        return tuple(msgspec.structs.replace(each, label_selector=selector) for each in self._constraints)


def deduced_selector(pod: Pod, workloads: Workloads) -> LabelSelector | None:
    """The pods that a pod belongs together with; None when nothing says so, or when what does is gone.

    What a ReplicationController selects by takes the place of the services' labels; what other controllers select by is asked
    for beside them.
    """
    namespace, owner = pod.metadata.namespace, pod.metadata.controller
    labels = workloads.service_labels(namespace, pod.metadata.labels or {})
    own = (workloads.selector_of(namespace, owner) if owner is not None else None) or _NOTHING
    named = own.match_labels or {}
    expressions = own.match_expressions
    if owner is not None and owner.kind == "ReplicationController":
        labels |= named
    else:
        expressions = (*(SelectorRequirement(key, "In", (value,)) for key, value in named.items()), *expressions)
    return LabelSelector(labels or None, expressions) if labels or expressions else None
