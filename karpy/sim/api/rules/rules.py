"""Which rules hold for which built-in kind, beyond those of metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from karpy.sim.api.rules import autoscalerrules, objectrules, storagerules, workrules
from karpy.sim.api.rules.checks import Object
from karpy.sim.api.rules.podrules import check_pod
from karpy.sim.api.status import Cause

__all__ = ["validate_object"]

_RBAC = "rbac.authorization.k8s.io"
_RULES: Mapping[tuple[str, str], Callable[[Object], Iterator[Cause]]] = {
    ("", "pods"): check_pod,
    ("", "nodes"): objectrules.check_node,
    ("", "events"): objectrules.check_event,
    ("", "services"): objectrules.check_service,
    ("", "configmaps"): objectrules.check_config,
    ("", "secrets"): objectrules.check_secret,
    ("", "persistentvolumeclaims"): storagerules.check_claim,
    ("", "persistentvolumes"): storagerules.check_volume,
    ("", "limitranges"): objectrules.check_limit_range,
    ("", "resourcequotas"): objectrules.check_quota,
    ("apps", "deployments"): workrules.check_deployment,
    ("apps", "replicasets"): workrules.check_replica_set,
    ("apps", "statefulsets"): workrules.check_stateful_set,
    ("apps", "daemonsets"): workrules.check_daemon_set,
    ("batch", "jobs"): workrules.check_job,
    ("batch", "cronjobs"): workrules.check_cron_job,
    ("policy", "poddisruptionbudgets"): workrules.check_budget,
    ("autoscaling", "horizontalpodautoscalers"): autoscalerrules.check_autoscaler,
    ("scheduling.k8s.io", "priorityclasses"): objectrules.check_priority_class,
    ("storage.k8s.io", "storageclasses"): storagerules.check_storage_class,
    ("coordination.k8s.io", "leases"): objectrules.check_lease,
    ("node.k8s.io", "runtimeclasses"): objectrules.check_runtime_class,
    (_RBAC, "roles"): objectrules.check_role,
    (_RBAC, "clusterroles"): objectrules.check_role,
    (_RBAC, "rolebindings"): objectrules.check_binding,
    (_RBAC, "clusterrolebindings"): objectrules.check_binding,
}


def validate_object(key: tuple[str, str], obj: Object) -> Iterator[Cause]:
    """What is wrong with an object of the built-in resource ``key`` (group, plural)."""
    rule = _RULES.get(key)
    return rule(obj) if rule is not None else iter(())
