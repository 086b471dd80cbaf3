"""The kinds of objects that karpy reads or writes, by their API coordinates."""

from __future__ import annotations

import attrs

__all__ = ["Kind"]


@attrs.frozen(cache_hash=True)
class Kind:
    """Where a kind of object lives in the API.

    >>> Kind("apps", "v1", "Deployment", "deployments").api_version
    'apps/v1'
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """``plural.group``, as error messages and RBAC name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


POD = Kind("", "v1", "Pod", "pods")
NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
EVENT = Kind("", "v1", "Event", "events")
SERVICE = Kind("", "v1", "Service", "services")
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")
REPLICATION_CONTROLLER = Kind("", "v1", "ReplicationController", "replicationcontrollers")
PERSISTENT_VOLUME_CLAIM = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PERSISTENT_VOLUME = Kind("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments")
REPLICA_SET = Kind("apps", "v1", "ReplicaSet", "replicasets")
STATEFUL_SET = Kind("apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SET = Kind("apps", "v1", "DaemonSet", "daemonsets")
JOB = Kind("batch", "v1", "Job", "jobs")
POD_TEMPLATE = Kind("", "v1", "PodTemplate", "podtemplates")
POD_DISRUPTION_BUDGET = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
PRIORITY_CLASS = Kind("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
CSI_NODE = Kind("storage.k8s.io", "v1", "CSINode", "csinodes", namespaced=False)
VOLUME_ATTACHMENT = Kind("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False)
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)

NODE_POOL = Kind("karpenter.sh", "v1", "NodePool", "nodepools", namespaced=False)
NODE_CLAIM = Kind("karpenter.sh", "v1", "NodeClaim", "nodeclaims", namespaced=False)
NODE_OVERLAY = Kind("karpenter.sh", "v1alpha1", "NodeOverlay", "nodeoverlays", namespaced=False)
PROVISIONER = Kind("karpenter.sh", "v1alpha5", "Provisioner", "provisioners", namespaced=False)
CAPACITY_BUFFER = Kind("autoscaling.x-k8s.io", "v1beta1", "CapacityBuffer", "capacitybuffers")
