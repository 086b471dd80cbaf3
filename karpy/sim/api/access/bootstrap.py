"""The roles that every cluster with RBAC starts with, so that administrators, users and discovery work as they do elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["bindings", "cluster_roles"]

Object = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY = (
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    *_PUBLIC[3:],
)
_MARK = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_WORKLOADS = {
    "apps": "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "networking.k8s.io": "ingresses networkpolicies",
    "policy": "poddisruptionbudgets",
}
_SEEN = {
    "": "bindings configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims "
    "persistentvolumeclaims/status pods pods/log pods/status replicationcontrollers replicationcontrollers/scale "
    "replicationcontrollers/status resourcequotas resourcequotas/status serviceaccounts services services/status",
    "apps": f"controllerrevisions {_WORKLOADS['apps']} daemonsets/status deployments/status replicasets/status "
    "statefulsets/status",
    "autoscaling": "horizontalpodautoscalers horizontalpodautoscalers/status",
    "batch": "cronjobs cronjobs/status jobs jobs/status",
    "discovery.k8s.io": "endpointslices",
    "networking.k8s.io": "ingresses ingresses/status networkpolicies",
    "policy": "poddisruptionbudgets poddisruptionbudgets/status",
}
_EDITED = {
    "": "configmaps events persistentvolumeclaims pods replicationcontrollers replicationcontrollers/scale secrets "
    "serviceaccounts services",
    **_WORKLOADS,
}


def _rule(verbs: Sequence[str], group: str, resources: str) -> Object:
    return {"verbs": list(verbs), "apiGroups": [group], "resources": resources.split()}


def _paths(paths: Sequence[str]) -> Object:
    return {"verbs": ["get"], "nonResourceURLs": list(paths)}


def _role(name: str, rules: Sequence[Object], labels: Mapping[str, str] | None = None) -> Object:
    meta = {"name": name, "labels": {**_MARK, **(labels or {})}}
    return {"metadata": meta, "rules": list(rules)}


def _aggregate(name: str, into: Sequence[str]) -> Object:
    labels = {f"{_GROUP}/aggregate-to-{other}": "true" for other in into}
    selector = {"matchLabels": {f"{_GROUP}/aggregate-to-{name}": "true"}}
    return {**_role(name, (), labels), "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _part(name: str, rules: Sequence[Object]) -> Object:
    return _role(f"system:aggregate-to-{name}", rules, {f"{_GROUP}/aggregate-to-{name}": "true"})


def cluster_roles() -> Iterator[Object]:
    """The ClusterRoles, as they are sent to the server."""
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    yield _role("cluster-admin", [everything, {"verbs": ["*"], "nonResourceURLs": ["*"]}])
    yield _role("system:discovery", [_paths(_DISCOVERY)])
    yield _role("system:public-info-viewer", [_paths(_PUBLIC)])
    reviews = "selfsubjectaccessreviews selfsubjectrulesreviews"
    own = [_rule(("create",), "authorization.k8s.io", reviews)]
    yield _role("system:basic-user", [*own, _rule(("create",), "authentication.k8s.io", "selfsubjectreviews")])
    yield _part("view", [_rule(_READ, group, resources) for group, resources in _SEEN.items()])
    edited = [_rule(_WRITE, group, resources) for group, resources in _EDITED.items()]
    tokens = _rule(("create",), "", "pods/eviction serviceaccounts/token")
    leases = _rule((*_READ, *_WRITE), "coordination.k8s.io", "leases")
    yield _part("edit", [_rule(_READ, "", "secrets"), *edited, tokens, leases])
    local = _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews")
    yield _part("admin", [local, _rule((*_READ, *_WRITE), _GROUP, "rolebindings roles")])
    yield _aggregate("view", ("edit",))
    yield _aggregate("edit", ("admin",))
    yield _aggregate("admin", ())


def bindings() -> Iterator[Object]:
    """The ClusterRoleBindings: administrators may do everything, users may look at the API, everyone at its health."""
    users = ("system:authenticated",)
    for role, groups in (
        ("cluster-admin", ("system:masters",)),
        ("system:basic-user", users),
        ("system:discovery", users),
        ("system:public-info-viewer", (*users, "system:unauthenticated")),
    ):
        yield {
            "metadata": {"name": role, "labels": dict(_MARK)},
            "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": group} for group in groups],
        }
