"""The built-in resources that are served: what a node autoscaler, its users and kubectl touch."""

from __future__ import annotations

from karpy.sim.api.resources import ALL_VERBS, Resource, ResourceVersion, ScalePaths

__all__ = ["BUILTIN"]

_SCALE = ScalePaths(selector=".status.selector")
_CREATE = ("create",)


def _define(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *,
    scope: str = "ns",
    short: str = "",
    flags: str = "",
    more: str = "",
    also: tuple[str, ...] = (),
) -> Resource:
    """``flags``: status, scale, generation, all (the category), create (no other verb)."""
    marks = flags.split()
    names = (version, *also)
    versions = tuple(
        ResourceVersion(name, status="status" in marks, scale=_SCALE if "scale" in marks else None) for name in names
    )
    subresources = [name for name in ("scale", "status") if name in marks]
    verbs: tuple[str, ...] = ALL_VERBS
    if plural == "namespaces":
        verbs = tuple(verb for verb in ALL_VERBS if verb != "deletecollection")
    return Resource(
        group=group,
        plural=plural,
        singular="endpoints" if plural == "endpoints" else kind.lower(),
        kind=kind,
        list_kind=f"{kind}List",
        namespaced=scope == "ns",
        storage=version,
        versions=versions,
        short_names=tuple(short.split()),
        categories=("all",) if "all" in marks else ("api-extensions",) if plural.startswith("customres") else (),
        counts_generations="generation" in marks,
        verbs=_CREATE if "create" in marks else verbs,
        subresources=tuple(sorted([*subresources, *more.split()])),
    )


_WORKLOAD = "status scale generation all"
_RBAC = "rbac.authorization.k8s.io"
_STORAGE = "storage.k8s.io"
_ACCESS = "authorization.k8s.io"

BUILTIN: tuple[Resource, ...] = (
    _define("", "v1", "Binding", "bindings", flags="create"),
    _define("", "v1", "ConfigMap", "configmaps", short="cm"),
    _define("", "v1", "Endpoints", "endpoints", short="ep"),
    _define("", "v1", "Event", "events", short="ev"),
    _define("", "v1", "LimitRange", "limitranges", short="limits"),
    _define("", "v1", "Namespace", "namespaces", scope="", short="ns", flags="status", more="finalize"),
    _define("", "v1", "Node", "nodes", scope="", short="no", flags="status"),
    _define("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", short="pvc", flags="status"),
    _define("", "v1", "PersistentVolume", "persistentvolumes", scope="", short="pv", flags="status"),
    _define("", "v1", "Pod", "pods", short="po", flags="status all", more="binding ephemeralcontainers eviction log"),
    _define("", "v1", "PodTemplate", "podtemplates", flags="generation"),
    _define("", "v1", "ReplicationController", "replicationcontrollers", short="rc", flags=_WORKLOAD),
    _define("", "v1", "ResourceQuota", "resourcequotas", short="quota", flags="status"),
    _define("", "v1", "Secret", "secrets"),
    _define("", "v1", "ServiceAccount", "serviceaccounts", short="sa", more="token"),
    _define("", "v1", "Service", "services", short="svc", flags="status all"),
    _define("apps", "v1", "ControllerRevision", "controllerrevisions"),
    _define("apps", "v1", "DaemonSet", "daemonsets", short="ds", flags="status generation all"),
    _define("apps", "v1", "Deployment", "deployments", short="deploy", flags=_WORKLOAD),
    _define("apps", "v1", "ReplicaSet", "replicasets", short="rs", flags=_WORKLOAD),
    _define("apps", "v1", "StatefulSet", "statefulsets", short="sts", flags=_WORKLOAD),
    _define("batch", "v1", "CronJob", "cronjobs", short="cj", flags="status generation all"),
    _define("batch", "v1", "Job", "jobs", flags="status generation all"),
    _define(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        short="hpa",
        flags="status all",
        also=("v1",),
    ),
    _define("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", short="pdb", flags="status generation"),
    _define("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", scope="", short="pc", flags="generation"),
    _define(_STORAGE, "v1", "CSIDriver", "csidrivers", scope=""),
    _define(_STORAGE, "v1", "CSINode", "csinodes", scope=""),
    _define(_STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities"),
    _define(_STORAGE, "v1", "StorageClass", "storageclasses", scope="", short="sc"),
    _define(_STORAGE, "v1", "VolumeAttachment", "volumeattachments", scope="", flags="status"),
    _define("coordination.k8s.io", "v1", "Lease", "leases"),
    _define("events.k8s.io", "v1", "Event", "events", short="ev"),
    _define("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
    _define("networking.k8s.io", "v1", "Ingress", "ingresses", short="ing", flags="status generation"),
    _define("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", short="netpol", flags="generation"),
    _define("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", scope=""),
    _define(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", scope=""),
    _define(_RBAC, "v1", "ClusterRole", "clusterroles", scope=""),
    _define(_RBAC, "v1", "RoleBinding", "rolebindings"),
    _define(_RBAC, "v1", "Role", "roles"),
    _define(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        scope="",
        short="crd crds",
        flags="status generation",
    ),
    _define(_ACCESS, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", flags="create"),
    _define(_ACCESS, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", scope="", flags="create"),
    _define(_ACCESS, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", scope="", flags="create"),
    _define(_ACCESS, "v1", "SubjectAccessReview", "subjectaccessreviews", scope="", flags="create"),
    _define("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", scope="", flags="create"),
    _define("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", scope="", flags="create"),
)
