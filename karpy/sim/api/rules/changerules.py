"""What a change of an object may not change, kind by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from karpy.sim.api.rules.checks import Object, nanos, spec_of
from karpy.sim.api.rules.podrules import check_pod_change
from karpy.sim.api.rules.validation import quoted
from karpy.sim.api.rules.workrules import shown_selector
from karpy.sim.api.status import Cause

__all__ = ["validate_change"]

ChangeRule = Callable[[Object, Object], Iterator[Cause]]

_SEALED = "field is immutable when `immutable` is set"
_IMMUTABLE = "field is immutable"
_SET_MAY_CHANGE = (
    *("replicas", "ordinals", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
    "revisionHistoryLimit",
)
_SET_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_CLAIM_FORBIDDEN = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)
_VOLUME_MAY_CHANGE = (
    *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy"),
    *("storageClassName", "volumeAttributesClassName", "volumeMode"),
)


def _selector(old: Object, new: Object) -> Iterator[Cause]:
    after = spec_of(new).get("selector")
    if spec_of(old).get("selector") != after:
        yield Cause.bad("spec.selector", shown_selector(after), _IMMUTABLE)


def _job(old: Object, new: Object) -> Iterator[Cause]:
    before, after = spec_of(old), spec_of(new)
    if before.get("completions") != after.get("completions") and after.get("completionMode") != "Indexed":
        completions = after.get("completions")
        yield Cause.bad("spec.completions", "null" if completions is None else str(completions), _IMMUTABLE)
    yield from _selector(old, new)
    if before.get("template") != after.get("template"):
        yield Cause.bad("spec.template", "core.PodTemplateSpec{}", _IMMUTABLE)
    if before.get("completionMode") != after.get("completionMode"):
        yield Cause.bad("spec.completionMode", quoted(after.get("completionMode", "")), _IMMUTABLE)


def _stateful_set(old: Object, new: Object) -> Iterator[Cause]:
    before, after = (
        {key: value for key, value in spec_of(obj).items() if key not in _SET_MAY_CHANGE} for obj in (old, new)
    )
    if before != after:
        yield Cause.forbidden("spec", _SET_FORBIDDEN)


def _node(old: Object, new: Object) -> Iterator[Cause]:
    before, after = spec_of(old), spec_of(new)
    if before.get("podCIDR") and before["podCIDR"] != after.get("podCIDR"):
        yield Cause.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and before["providerID"] != after.get("providerID"):
        yield Cause.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def _config(old: Object, new: Object) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield Cause.forbidden("immutable", _SEALED)
    for field in ("data", "binaryData"):
        if (old.get(field) or {}) != (new.get(field) or {}):
            yield Cause.forbidden(field, _SEALED)


def _secret(old: Object, new: Object) -> Iterator[Cause]:
    if old.get("type") != new.get("type"):
        yield Cause.bad("type", quoted(new.get("type", "")), _IMMUTABLE)
    yield from _config(old, new)


def _service(old: Object, new: Object) -> Iterator[Cause]:
    before, after = spec_of(old), spec_of(new)
    fixed = ("ClusterIP", "NodePort", "LoadBalancer")
    if before.get("type") not in fixed or after.get("type") not in fixed:
        return
    address = before.get("clusterIP")
    if address and after.get("clusterIP") != address:
        shown = f"[]string{{{quoted(after.get('clusterIP', ''))}}}"
        yield Cause.bad("spec.clusterIPs[0]", shown, "may not change once set")


def _claim(old: Object, new: Object) -> Iterator[Cause]:
    before, after = dict(spec_of(old)), dict(spec_of(new))
    asked = [((spec.get("resources") or {}).get("requests") or {}).get("storage") for spec in (before, after)]
    bound = (old.get("status") or {}).get("phase") == "Bound"
    for spec in (before, after):
        spec.pop("volumeAttributesClassName", None)
        if bound:
            spec.pop("resources", None)
        if not spec_of(old).get("volumeName"):
            spec.pop("volumeName", None)
    if before != after:
        yield Cause.forbidden("spec", _CLAIM_FORBIDDEN)
    elif bound and None not in asked and nanos(asked[1]) < nanos(asked[0]):
        yield Cause.forbidden("spec.resources.requests.storage", "field can not be less than previous value")


def _volume(old: Object, new: Object) -> Iterator[Cause]:
    before, after = (
        {key: value for key, value in spec_of(obj).items() if key not in _VOLUME_MAY_CHANGE} for obj in (old, new)
    )
    if before != after:
        why = "spec.persistentvolumesource is immutable after creation\n"
        yield Cause.forbidden("spec.persistentvolumesource", why)
    if spec_of(old).get("volumeMode") != spec_of(new).get("volumeMode"):
        yield Cause.bad("spec.volumeMode", quoted(spec_of(new).get("volumeMode", "")), _IMMUTABLE)


def _storage_class(old: Object, new: Object) -> Iterator[Cause]:
    for field, empty in (("parameters", {}), ("provisioner", ""), ("reclaimPolicy", "")):
        if (old.get(field) or empty) != (new.get(field) or empty):
            yield Cause.forbidden(field, f"updates to {field} are forbidden.")
    for field in ("volumeBindingMode",):
        if old.get(field) != new.get(field):
            yield Cause.bad(field, quoted(new.get(field, "")), _IMMUTABLE)


def _priority_class(old: Object, new: Object) -> Iterator[Cause]:
    if old.get("value", 0) != new.get("value", 0):
        yield Cause.forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield Cause.bad("preemptionPolicy", quoted(new.get("preemptionPolicy", "")), _IMMUTABLE)


def _runtime_class(old: Object, new: Object) -> Iterator[Cause]:
    if old.get("handler") != new.get("handler"):
        yield Cause.bad("handler", quoted(new.get("handler", "")), _IMMUTABLE)


def _binding(old: Object, new: Object) -> Iterator[Cause]:
    after = new.get("roleRef") or {}
    if (old.get("roleRef") or {}) != after:
        shown = ", ".join(f"{name}:{quoted(after.get(key, ''))}" for name, key in _ROLE_REF)
        yield Cause.bad("roleRef", f"rbac.RoleRef{{{shown}}}", "cannot change roleRef")


_ROLE_REF = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
_RULES: Mapping[tuple[str, str], ChangeRule] = {
    ("", "pods"): check_pod_change,
    ("", "nodes"): _node,
    ("", "configmaps"): _config,
    ("", "secrets"): _secret,
    ("", "services"): _service,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("apps", "deployments"): _selector,
    ("apps", "replicasets"): _selector,
    ("apps", "daemonsets"): _selector,
    ("apps", "statefulsets"): _stateful_set,
    ("batch", "jobs"): _job,
    ("scheduling.k8s.io", "priorityclasses"): _priority_class,
    ("storage.k8s.io", "storageclasses"): _storage_class,
    ("node.k8s.io", "runtimeclasses"): _runtime_class,
    ("rbac.authorization.k8s.io", "rolebindings"): _binding,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _binding,
}


def validate_change(key: tuple[str, str], old: Object, new: Object) -> Iterator[Cause]:
    """What a change from ``old`` to ``new`` may not change."""
    rule = _RULES.get(key)
    return rule(old, new) if rule is not None else iter(())
