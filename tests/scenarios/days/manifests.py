"""The objects of a cluster in which days pass."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from karpy import labels

__all__ = ["PERCENT_USED", "Service", "autoscaler", "budget", "deployment", "job", "namespace", "node_class", "pool"]

PERCENT_USED = 65
"""Of its request a web pod is to use so much."""
_LONG_S = 1500.0
"""What a job that runs for longer would lose is too much to lose: its pods are not to be disturbed."""


@attrs.frozen(kw_only=True)
class Service:
    """A Deployment; of a web service ``replicas`` is the mean."""

    name: str
    replicas: int
    cpu: float
    gib: float
    capacity_type: str = ""
    """Where its pods must run; empty: anywhere."""

    @property
    def metadata(self) -> dict[str, str]:
        """Of all its objects. Each service lives in a namespace of its own."""
        return {"name": self.name, "namespace": self.name}


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def node_class() -> dict[str, Any]:
    tag = [{"tags": {"karpenter.sh/discovery": "days"}}]
    spec = {
        "role": "node",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": tag,
        "securityGroupSelectorTerms": tag,
    }
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "days"}, "spec": spec}


def pool(disruption: Mapping[str, Any], annotations: Mapping[str, str]) -> dict[str, Any]:
    """Machines of two makers for work of three kinds, from 2 to 8 vCPUs, bought as spot where that is allowed."""
    wanted = {
        labels.CAPACITY_TYPE: [labels.SPOT, labels.ON_DEMAND],
        labels.ARCH: ["amd64"],
        "karpenter.k8s.aws/instance-family": ["c6a", "c7i", "m6a", "m7i", "r6a", "r7i"],
        "karpenter.k8s.aws/instance-cpu": ["2", "4", "8"],
    }
    template = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "days"},
        "requirements": [{"key": key, "operator": "In", "values": values} for key, values in wanted.items()],
        "expireAfter": "Never",
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "days", "annotations": dict(annotations)},
        "spec": {"template": {"spec": template}, "disruption": dict(disruption)},
    }


def deployment(service: Service) -> dict[str, Any]:
    """Rolled out with a quarter more pods for a while, and none less."""
    own = {"app": service.name}
    spread = {
        "maxSkew": 2,
        "topologyKey": labels.ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": own},
    }
    spec: dict[str, Any] = {
        "containers": [_container(service.cpu, service.gib)],
        "topologySpreadConstraints": [spread],
        "nodeSelector": {labels.CAPACITY_TYPE: service.capacity_type} if service.capacity_type else {},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": service.metadata,
        "spec": {
            "replicas": service.replicas,
            "selector": {"matchLabels": own},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": {"metadata": {"labels": own}, "spec": spec},
        },
    }


def budget(service: Service) -> dict[str, Any]:
    spec = {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": service.name}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": service.metadata, "spec": spec}


def autoscaler(service: Service) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": PERCENT_USED}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": service.metadata,
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": service.name},
            "minReplicas": max(2, service.replicas // 5),
            "maxReplicas": 3 * service.replicas,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }


def job(name: str, pods: int, cpu: float, runs_s: float, dice: random.Random) -> dict[str, Any]:
    """Pods that run side by side, each to its end, which is not quite the same for all: by thirds."""
    annotations = {"sim.karpy.dev/run-seconds": str(round(runs_s))}
    if runs_s > _LONG_S:
        annotations[labels.DO_NOT_DISRUPT] = "true"
    spec = {"restartPolicy": "Never", "containers": [_container(cpu, cpu * dice.choice((2, 4)))]}
    template = {"metadata": {"labels": {"job": name}, "annotations": annotations}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 10 * pods,
            "ttlSecondsAfterFinished": 300,
            "template": template,
        },
    }


def _container(cpu: float, gib: float) -> dict[str, Any]:
    requests = {"cpu": f"{round(cpu * 1000)}m", "memory": f"{round(gib * 1024)}Mi"}
    return {"name": "main", "image": "app:1", "resources": {"requests": requests}}
