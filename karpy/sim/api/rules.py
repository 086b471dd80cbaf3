"""Rules of the built-in kinds beyond metadata: what pods, workloads, budgets and nodes must hold, and what may not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from karpy.quantity import Quantity
from karpy.sim.api.poddefaults import quality_of_service
from karpy.sim.api.selectors import matches_label_selector
from karpy.sim.api.status import Cause
from karpy.sim.api.validation import quoted, validate_labels, validate_name

__all__ = ["validate_change", "validate_object"]

Object = Mapping[str, Any]
Rule = Callable[[Object], Iterator[Cause]]
ChangeRule = Callable[[Object, Object], Iterator[Cause]]

_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _pod(obj: Object) -> Iterator[Cause]:
    yield from _pod_spec(_spec(obj), "spec")


def _pod_spec(spec: Object, path: str) -> Iterator[Cause]:
    containers = spec.get("containers")
    if not containers:
        yield Cause.required(f"{path}.containers")
    yield from _containers(spec.get("initContainers") or (), f"{path}.initContainers")
    yield from _containers(containers or (), f"{path}.containers")
    terms = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if terms is not None:
        where = f"{path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        yield from _node_selector_terms(terms.get("nodeSelectorTerms") or (), where)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        yield from _spread(constraint, f"{path}.topologySpreadConstraints[{i}]")
    yield from _tolerations(spec.get("tolerations") or (), f"{path}.tolerations")


def _containers(containers: Sequence[Object], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for i, container in enumerate(containers):
        where, name = f"{path}[{i}]", container.get("name", "")
        if not name:
            yield Cause.required(f"{where}.name")
        elif wrong := validate_name(name, "label"):
            yield Cause.bad(f"{where}.name", quoted(name), wrong)
        elif name in names:
            yield Cause.duplicate(f"{where}.name", quoted(name))
        names.add(name)
        if not container.get("image"):
            yield Cause.required(f"{where}.image")
        resources = container.get("resources")
        if resources:
            yield from _resources(resources, f"{where}.resources")


def _resources(resources: Object, path: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if amount[:1] == "-":
                yield Cause.bad(f"{path}.{key}[{name}]", quoted(amount), "must be greater than or equal to 0")
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is not None and limit != request and Quantity.parse(request).nanos > Quantity.parse(limit).nanos:
            yield Cause.bad(
                f"{path}.requests", quoted(request), f"must be less than or equal to {name} limit of {limit}"
            )


def _node_selector_terms(terms: Sequence[Object], path: str) -> Iterator[Cause]:
    if not terms:
        yield Cause.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for i, term in enumerate(terms):
        for j, expression in enumerate(term.get("matchExpressions") or ()):
            where = f"{path}.nodeSelectorTerms[{i}].matchExpressions[{j}]"
            operator, values = expression.get("operator", ""), expression.get("values") or ()
            if operator not in _NODE_OPERATORS:
                yield Cause.bad(f"{where}.operator", quoted(operator), "not a valid selector operator")
            elif operator in ("In", "NotIn") and not values:
                yield Cause.required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
            elif operator in ("Gt", "Lt") and len(values) != 1:
                yield Cause.required(
                    f"{where}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
                )


def _spread(constraint: Object, path: str) -> Iterator[Cause]:
    skew = constraint.get("maxSkew", 0)
    if skew <= 0:
        yield Cause.bad(f"{path}.maxSkew", str(skew), "must be greater than zero")
    if not constraint.get("topologyKey"):
        yield Cause.required(f"{path}.topologyKey", "can not be empty")
    action = constraint.get("whenUnsatisfiable", "")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        yield Cause.unsupported(f"{path}.whenUnsatisfiable", quoted(action), ("DoNotSchedule", "ScheduleAnyway"))


def _tolerations(tolerations: Sequence[Object], path: str) -> Iterator[Cause]:
    for i, toleration in enumerate(tolerations):
        operator = toleration.get("operator") or "Equal"
        if not toleration.get("key") and operator != "Exists":
            yield Cause.bad(
                f"{path}[{i}].operator",
                quoted(operator),
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        if operator not in ("Equal", "Exists"):
            yield Cause.unsupported(f"{path}[{i}].operator", quoted(operator), ("Equal", "Exists"))


def _go_map(labels: Mapping[str, str]) -> str:
    return "map[string]string{" + ", ".join(f"{quoted(k)}:{quoted(v)}" for k, v in sorted(labels.items())) + "}"


def _workload(obj: Object) -> Iterator[Cause]:
    spec = _spec(obj)
    selector, template = spec.get("selector"), spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    replicas = spec.get("replicas", 0)
    if isinstance(replicas, int) and replicas < 0:
        yield Cause.bad("spec.replicas", str(replicas), "must be greater than or equal to 0")
    if selector is None:
        yield Cause.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Cause.bad("spec.selector", "{}", "empty selector is invalid for deployment")
    if selector is not None and not matches_label_selector(selector, labels):
        yield Cause.bad("spec.template.metadata.labels", _go_map(labels), "`selector` does not match template `labels`")
    yield from _template(template, ("Always",))


def _template(template: Object, policies: Sequence[str]) -> Iterator[Cause]:
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        yield from validate_labels(labels, "spec.template.labels")
    spec = template.get("spec") or {}
    yield from _pod_spec(spec, "spec.template.spec")
    policy = spec.get("restartPolicy", "Always")
    if policy not in policies:
        yield Cause.unsupported("spec.template.spec.restartPolicy", quoted(policy), policies)


def _job(obj: Object) -> Iterator[Cause]:
    yield from _template(_spec(obj).get("template") or {}, ("OnFailure", "Never"))


def _cron_job(obj: Object) -> Iterator[Cause]:
    schedule = str(_spec(obj).get("schedule", ""))
    fields = schedule.split()
    if not schedule:
        yield Cause.required("spec.schedule")
    elif not schedule.startswith("@") and len(fields) != 5:
        detail = f"expected exactly 5 fields, found {len(fields)}: [{schedule}]"
        yield Cause.bad("spec.schedule", quoted(schedule), detail)


def _budget(obj: Object) -> Iterator[Cause]:
    spec = _spec(obj)
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = "policy.PodDisruptionBudgetSpec{}"
        yield Cause.bad("spec", shown, "minAvailable and maxUnavailable cannot be both set")


def _taints(obj: Object) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(_spec(obj).get("taints") or ()):
        where, effect = f"metadata.taints[{i}]", taint.get("effect", "")
        if not taint.get("key"):
            yield Cause.bad(f"{where}.key", quoted(""), "name part must be non-empty")
        if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            choices = ("NoSchedule", "PreferNoSchedule", "NoExecute")
            yield Cause.unsupported(f"{where}.effect", quoted(effect), choices)
        elif (taint.get("key", ""), effect) in seen:
            yield Cause.duplicate(where, "taints must be unique by key and effect pair")
        seen.add((taint.get("key", ""), effect))


def _event(obj: Object) -> Iterator[Cause]:
    about = (obj.get("involvedObject") or {}).get("namespace") or "default"
    namespace = obj["metadata"].get("namespace", "")
    if namespace != about and not (about == "default" and namespace in ("default", "kube-system")):
        yield Cause.bad("involvedObject.namespace", quoted(about), "does not match event.namespace")


_RULES: Mapping[tuple[str, str], Rule] = {
    ("", "pods"): _pod,
    ("", "nodes"): _taints,
    ("", "events"): _event,
    ("apps", "deployments"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "statefulsets"): _workload,
    ("apps", "daemonsets"): _workload,
    ("batch", "jobs"): _job,
    ("batch", "cronjobs"): _cron_job,
    ("policy", "poddisruptionbudgets"): _budget,
}


def validate_object(key: tuple[str, str], obj: Object) -> Iterator[Cause]:
    """What is wrong with an object of the built-in resource ``key`` (group, plural)."""
    rule = _RULES.get(key)
    return rule(obj) if rule is not None else iter(())


_POD_MAY_CHANGE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "schedulingGates")
_POD_FORBIDDEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def _pod_change(old: Object, new: Object) -> Iterator[Cause]:
    before, after = _spec(old), _spec(new)
    if before is after or before == after:
        return
    old_tolerations, tolerations = before.get("tolerations") or [], after.get("tolerations") or []
    if all(each in tolerations for each in old_tolerations) and _fixed(before) == _fixed(after):
        return
    if quality_of_service(before) != quality_of_service(after):
        yield Cause.bad("metadata", quoted(quality_of_service(before)), "Pod QoS is immutable")
    yield Cause.forbidden("spec", _POD_FORBIDDEN)


def _fixed(spec: Object) -> Object:
    """The part of a pod's spec that stays as it was created."""
    kept = {key: value for key, value in spec.items() if key not in _POD_MAY_CHANGE and key != "tolerations"}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{k: v for k, v in container.items() if k != "image"} for container in kept[key]]
    return kept


def _selector_change(old: Object, new: Object) -> Iterator[Cause]:
    before, after = _spec(old).get("selector"), _spec(new).get("selector")
    if before != after:
        labels = (after or {}).get("matchLabels") or {}
        shown = (
            f"v1.LabelSelector{{MatchLabels:{_go_map(labels)}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}}"
        )
        yield Cause.bad("spec.selector", shown, "field is immutable")


def _node_change(old: Object, new: Object) -> Iterator[Cause]:
    before, after = _spec(old).get("providerID"), _spec(new).get("providerID")
    if before and before != after:
        yield Cause.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


_CHANGE_RULES: Mapping[tuple[str, str], ChangeRule] = {
    ("", "pods"): _pod_change,
    ("", "nodes"): _node_change,
    ("apps", "deployments"): _selector_change,
    ("apps", "replicasets"): _selector_change,
    ("apps", "daemonsets"): _selector_change,
    ("batch", "jobs"): _selector_change,
}


def validate_change(key: tuple[str, str], old: Object, new: Object) -> Iterator[Cause]:
    """What a change from ``old`` to ``new`` may not change."""
    rule = _CHANGE_RULES.get(key)
    return rule(old, new) if rule is not None else iter(())
