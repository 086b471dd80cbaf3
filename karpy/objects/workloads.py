"""What surrounds pods: namespaces, the workloads and services that select them, DaemonSets, and budgets for their disruption."""

from __future__ import annotations

from karpy.objects.meta import Integer, ObjectMeta, Wire
from karpy.objects.pod import Pod
from karpy.objects.podresources import with_default_requests
from karpy.objects.podspec import PodSpec
from karpy.objects.selectors import LabelSelector

__all__ = [
    "DaemonSet",
    "Namespace",
    "PodDisruptionBudget",
    "PodTemplateSpec",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
]


class Namespace(Wire, frozen=True):
    """A namespace, of which only the labels matter."""

    metadata: ObjectMeta


class _TemplateMeta(Wire, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PodTemplateSpec(Wire, frozen=True):
    """What the pods of a workload are like, as it stands in the workload's own spec."""

    metadata: _TemplateMeta = _TemplateMeta()
    spec: PodSpec = PodSpec()


class DaemonSetSpec(Wire, frozen=True):
    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Wire, frozen=True):
    """One pod on every node that fits it."""

    metadata: ObjectMeta
    spec: DaemonSetSpec = DaemonSetSpec()

    def to_pod(self) -> Pod:
        """The pod that it would put on a node, as the API server would store it."""
        meta = self.spec.template.metadata
        return Pod(
            ObjectMeta(name=self.metadata.name, namespace=self.metadata.namespace, labels=meta.labels),
            with_default_requests(self.spec.template.spec),
        )


class PodDisruptionBudgetSpec(Wire, frozen=True):
    selector: LabelSelector | None = None
    min_available: Integer | str | None = None
    max_unavailable: Integer | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    disruptions_allowed: Integer = 0
    desired_healthy: Integer = 0
    expected_pods: Integer = 0


class PodDisruptionBudget(Wire, frozen=True):
    """How many pods of a set may be missing on purpose."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()

    def selects(self, pod: Pod) -> bool:
        """Whether it is about this pod. An empty selector means every pod of the namespace, no selector none."""
        if self.metadata.namespace != pod.metadata.namespace or self.spec.selector is None:
            return False
        return self.spec.selector.matches(pod.metadata.labels or {})

    def forbids_now(self, pod: Pod) -> bool:
        """Whether the API server would refuse to evict the pod now, because of how many others are healthy."""
        return self.status.disruptions_allowed == 0 and not self._gives_up(pod)

    def never_lets_go(self, pod: Pod) -> bool:
        """Whether it forbids the pod's eviction however many others are healthy: it allows none to be missing at all."""
        return bool(self.closed_by) and not self._gives_up(pod)

    @property
    def closed_by(self) -> str:
        """What of it makes that none of its pods may ever be missing, as it is written; nothing if some may."""
        if self.spec.max_unavailable in (0, "0%"):
            return f"maxUnavailable: {self.spec.max_unavailable}"
        least, expected = self.spec.min_available, self.status.expected_pods
        if least == "100%":
            return f"minAvailable: {least}"
        if least is not None and 0 < expected <= self.status.desired_healthy:
            return f"minAvailable: {least}, of {expected} pods"
        return ""

    def _gives_up(self, pod: Pod) -> bool:
        return self.spec.unhealthy_pod_eviction_policy == "AlwaysAllow" and not pod.is_ready


class _LabelsSpec(Wire, frozen=True):
    selector: dict[str, str] | None = None


class Service(Wire, frozen=True):
    """As far as it says which pods it is for."""

    metadata: ObjectMeta
    spec: _LabelsSpec = _LabelsSpec()


class ReplicationController(Wire, frozen=True):
    """As far as it says which pods are its own."""

    metadata: ObjectMeta
    spec: _LabelsSpec = _LabelsSpec()


class _SelectorSpec(Wire, frozen=True):
    selector: LabelSelector | None = None


class ReplicaSet(Wire, frozen=True):
    """As far as it says which pods are its own."""

    metadata: ObjectMeta
    spec: _SelectorSpec = _SelectorSpec()


class StatefulSet(Wire, frozen=True):
    """As far as it says which pods are its own."""

    metadata: ObjectMeta
    spec: _SelectorSpec = _SelectorSpec()
