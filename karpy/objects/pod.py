"""Pods as the scheduler sees them: what they ask for, where they run, which of them wait."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Final

from karpy import labels
from karpy.clock import parse_time
from karpy.errors import InvalidObject
from karpy.objects.duration import parse_duration
from karpy.objects.meta import ObjectMeta, Wire
from karpy.objects.podresources import misread, pod_limits, pod_requests
from karpy.objects.podspec import PodSpec, PodStatus
from karpy.resources import Resources
from karpy.taints import DISRUPTED, untolerated

__all__ = ["DrainRank", "Pod", "PodGroup"]

STUCK_S: Final = 60.0
"""A pod that is still there so long after its last moment has to be done without."""

_CRITICAL = frozenset({"system-cluster-critical", "system-node-critical"})

PodGroup = tuple[str, frozenset[tuple[str, str]]]
"""A namespace and labels."""

DrainRank = tuple[bool, bool]
"""Whether a pod is critical, and whether it is a daemon."""


class Pod(Wire, frozen=True, gc=True, dict=True):
    """A pod: what it asks for, where it runs, how it is. What is worked out from it is remembered on it."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        return self.metadata.key

    @functools.cached_property
    def requests(self) -> Resources:
        """What it reserves on its node (see `pod_requests`)."""
        return self._read(lambda: pod_requests(self.spec, self.status))

    @property
    def limits(self) -> Resources:
        """The most that it may use of its node (see `pod_limits`)."""
        return self._read(lambda: pod_limits(self.spec))

    @functools.cached_property
    def group(self) -> PodGroup:
        """All that selectors see of it: pods that are alike in this are told apart by none."""
        return self.metadata.namespace, frozenset((self.metadata.labels or {}).items())

    @property
    def is_terminal(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions)

    @property
    def is_active(self) -> bool:
        """Neither finished nor being deleted."""
        return not self.is_terminal and not self.metadata.is_deleting

    @property
    def is_owned_by_daemon_set(self) -> bool:
        return any(
            owner.kind == "DaemonSet" and owner.api_version == "apps/v1" for owner in self.metadata.owner_references
        )

    @property
    def is_static(self) -> bool:
        """A mirror of a pod that the kubelet read from its own disk."""
        return any(owner.kind == "Node" and owner.api_version == "v1" for owner in self.metadata.owner_references)

    @functools.cached_property
    def protected_s(self) -> float | None:
        """For how long after its start its own annotation forbids to evict it: None if not at all, or if the annotation says
        nothing that could be understood. The name of the first API generation counts too."""
        annotations = self.metadata.annotations or {}
        wish = annotations.get(labels.DO_NOT_DISRUPT)
        if "true" in (wish, annotations.get(labels.DO_NOT_EVICT)):
            return math.inf
        try:
            seconds = parse_duration(wish) if wish else 0.0
        except InvalidObject:
            return None
        return seconds if seconds > 0 else None

    @property
    def misread_protection(self) -> str:
        """What its annotation says, where that is neither true nor false nor a duration; else nothing."""
        wish = (self.metadata.annotations or {}).get(labels.DO_NOT_DISRUPT)
        return wish if wish and wish != "false" and self.protected_s is None else ""

    @property
    def protected_until(self) -> float:
        """When its annotation ceases to forbid its eviction: minus infinity if it does not, infinity if it always does.

        The time of a pod that has not started does not run.
        """
        if self.protected_s is None:
            return -math.inf
        try:
            return parse_time(self.status.start_time) + self.protected_s if self.status.start_time else math.inf
        except InvalidObject:
            return math.inf

    def is_protected(self, now: float) -> bool:
        """Whether its own annotation forbids to evict it now."""
        return self.protected_s is not None and now < self.protected_until

    def is_stuck(self, now: float) -> bool:
        """Whether it should have ended some time ago: its kubelet does not answer, or a finalizer holds it."""
        deleted = self.metadata.deleted
        return deleted is not None and now - deleted > STUCK_S

    @functools.cached_property
    def drain_rank(self) -> DrainRank | None:
        """When it leaves a node that goes, those that compare least first: ordinary pods, daemons, critical ones, critical daemons
        (core specification 4.12). None if it is not made to leave."""
        if self.is_terminal or self.is_static or self.tolerates_disruption:
            return None
        return self.spec.priority_class_name in _CRITICAL, self.is_owned_by_daemon_set

    @functools.cached_property
    def tolerates_disruption(self) -> bool:
        """Whether it stays on a node that is being disrupted, so that nobody evicts it."""
        return untolerated((DISRUPTED,), self.spec.tolerations) is None

    @property
    def is_provisionable(self) -> bool:
        """Whether kube-scheduler gave the pod up and a new node could help (core specification 3.1)."""
        if self.spec.node_name or self.status.nominated_node_name or self.is_terminal or self.metadata.is_deleting:
            return False
        if not any(each.type == "PodScheduled" and each.reason == "Unschedulable" for each in self.status.conditions):
            return False
        return not self.is_owned_by_daemon_set and not self.is_static

    @property
    def is_reschedulable(self) -> bool:
        """Whether the pod would want another place if its node went away (core specification 3.1)."""
        waits = self.metadata.is_deleting and any(
            owner.kind == "StatefulSet" for owner in self.metadata.owner_references
        )
        return (self.is_active or waits) and not self.is_owned_by_daemon_set and not self.is_static

    def _read(self, amounts: Callable[[], Resources]) -> Resources:
        try:
            return amounts()
        except InvalidObject as error:
            raise (misread(self.spec, self.status) or error).at(object_name=f"Pod/{self.key}") from None
