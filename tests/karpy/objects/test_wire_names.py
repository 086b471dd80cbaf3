"""The values' field names must become the API's: a wrong letter would be skipped in silence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from karpy.objects.capacitybuffer import CapacityBufferSpec, CapacityBufferStatus, PodTemplate, ScalableRef
from karpy.objects.meta import ObjectMeta, OwnerReference, to_wire
from karpy.objects.node import NodeSpec, NodeStatus
from karpy.objects.podspec import (
    Affinity,
    ClaimSource,
    ContainerPort,
    ContainerStatus,
    EphemeralSource,
    NodeAffinity,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    TopologySpreadConstraint,
    Volume,
)
from karpy.objects.volumes import (
    AttachedSource,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    StorageClass,
    TopologyTerm,
    VolumeAttachmentSpec,
)
from karpy.objects.workloads import (
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from karpy.taints import Taint, Toleration

NAMES: dict[type[msgspec.Struct], str] = {
    ObjectMeta: "name namespace uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds labels annotations finalizers ownerReferences",
    OwnerReference: "kind name uid apiVersion controller blockOwnerDeletion",
    NodeSpec: "providerID taints unschedulable",
    NodeStatus: "capacity allocatable conditions phase",
    PodSpec: "nodeName nodeSelector affinity tolerations topologySpreadConstraints containers initContainers volumes "
    "resourceClaims resources overhead priority priorityClassName schedulerName schedulingGates "
    "terminationGracePeriodSeconds restartPolicy",
    Volume: "name persistentVolumeClaim ephemeral",
    ClaimSource: "claimName",
    EphemeralSource: "volumeClaimTemplate",
    PersistentVolumeClaimSpec: "volumeName storageClassName",
    PersistentVolumeSpec: "nodeAffinity csi local hostPath awsElasticBlockStore azureDisk gcePersistentDisk",
    StorageClass: "metadata provisioner volumeBindingMode allowedTopologies",
    TopologyTerm: "matchLabelExpressions",
    VolumeAttachmentSpec: "nodeName source",
    AttachedSource: "persistentVolumeName",
    PodStatus: "phase conditions nominatedNodeName startTime containerStatuses initContainerStatuses",
    ContainerStatus: "name resources allocatedResources",
    ContainerPort: "containerPort hostPort hostIP protocol",
    Affinity: "nodeAffinity podAffinity podAntiAffinity",
    NodeAffinity: "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution",
    PodAffinityTerm: "topologyKey labelSelector namespaces namespaceSelector matchLabelKeys mismatchLabelKeys",
    TopologySpreadConstraint: "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains matchLabelKeys "
    "nodeAffinityPolicy nodeTaintsPolicy",
    PodDisruptionBudgetSpec: "selector minAvailable maxUnavailable unhealthyPodEvictionPolicy",
    PodDisruptionBudgetStatus: "disruptionsAllowed desiredHealthy expectedPods",
    ReplicaSet: "metadata spec",
    ReplicationController: "metadata spec",
    Service: "metadata spec",
    StatefulSet: "metadata spec",
    CapacityBufferSpec: "provisioningStrategy podTemplateRef scalableRef replicas percentage limits",
    CapacityBufferStatus: "provisioningStrategy podTemplateRef podTemplateGeneration replicas conditions",
    ScalableRef: "kind name apiGroup",
    PodTemplate: "metadata template",
    Taint: "key value effect",
    Toleration: "key operator value effect tolerationSeconds",
}


@pytest.mark.parametrize("type_", list(NAMES), ids=lambda type_: type_.__name__)
def test_fields_have_the_names_of_the_api(type_: type[msgspec.Struct]) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(type_)} == set(NAMES[type_].split())


@pytest.mark.parametrize(
    "wire",
    [
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "a", "effect": "NoExecute"},
    ],
)
def test_what_was_not_there_is_not_written(wire: dict[str, Any]) -> None:
    assert to_wire(msgspec.convert(wire, Taint)) == wire
