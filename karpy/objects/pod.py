"""Pods as the scheduler sees them: what they ask for, where they run, which of them wait."""

from __future__ import annotations

import functools
from collections.abc import Callable

from karpy import labels
from karpy.errors import InvalidObject
from karpy.objects.meta import ObjectMeta, Wire
from karpy.objects.podresources import misread, pod_limits, pod_requests
from karpy.objects.podspec import PodSpec, PodStatus
from karpy.resources import Resources
from karpy.taints import DISRUPTED, untolerated

__all__ = ["Pod", "PodGroup"]


PodGroup = tuple[str, frozenset[tuple[str, str]]]
"""A namespace and labels."""


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

    @property
    def is_do_not_disrupt(self) -> bool:
        """Whether its own annotation forbids to evict it; the name of the first API generation counts too."""
        annotations = self.metadata.annotations or {}
        return "true" in (annotations.get(labels.DO_NOT_DISRUPT), annotations.get(labels.DO_NOT_EVICT))

    @property
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
