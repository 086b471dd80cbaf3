"""Rules of pods: what a pod's spec must hold, and what of it may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from karpy.sim.api.filling.poddefaults import quality_of_service
from karpy.sim.api.remembered import Remembered
from karpy.sim.api.rules.checks import (
    NODE_OPERATORS,
    Object,
    check_choice,
    check_expressions,
    check_label_selector,
    spec_of,
)
from karpy.sim.api.rules.containerrules import check_containers, check_volumes
from karpy.sim.api.rules.validation import quoted, validate_labels, validate_name, wrong_label_key
from karpy.sim.api.status import Cause

__all__ = ["check_debugging", "check_pod", "check_pod_change", "check_pod_spec", "check_template"]

_RESTARTS = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def check_pod(obj: Object) -> Iterator[Cause]:
    """What is wrong with a pod."""
    yield from check_pod_spec(spec_of(obj), "spec")


def check_template(template: Object, path: str) -> Iterator[Cause]:
    """What is wrong with a template of pods."""
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        yield from validate_labels(labels, f"{path}.labels")
    yield from check_pod_spec(template.get("spec") or {}, f"{path}.spec")


def check_pod_spec(spec: Object, path: str) -> Iterable[Cause]:
    """What is wrong with the spec of a pod."""
    return _checked(spec, path)


def _check_spec(spec: Object, path: str) -> Iterator[Cause]:
    volumes = spec.get("volumes") or ()
    mountable = frozenset(each.get("name", "") for each in volumes)
    if volumes:
        yield from check_volumes(volumes, f"{path}.volumes")
    containers = spec.get("containers") or ()
    if not containers:
        yield Cause.required(f"{path}.containers")
    yield from check_containers(containers, f"{path}.containers", mountable)
    if spec.get("initContainers"):
        taken = frozenset(each.get("name", "") for each in containers)
        yield from check_containers(spec["initContainers"], f"{path}.initContainers", mountable, taken)
    yield from check_choice(spec.get("restartPolicy"), f"{path}.restartPolicy", _RESTARTS, needed=False)
    yield from check_choice(spec.get("dnsPolicy"), f"{path}.dnsPolicy", _DNS, needed=False)
    if spec.get("nodeSelector"):
        yield from validate_labels(spec["nodeSelector"], f"{path}.nodeSelector")
    if spec.get("affinity"):
        yield from _affinity(spec["affinity"], f"{path}.affinity")
    if spec.get("topologySpreadConstraints"):
        yield from _spread(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    yield from _names(spec, path)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        why = "must be between 1 and 2147483647, inclusive"
        yield Cause.bad(f"{path}.activeDeadlineSeconds", str(deadline), why)
    if spec.get("tolerations"):
        yield from _tolerations(spec["tolerations"], f"{path}.tolerations")


_checked = Remembered(lambda spec, path: tuple(_check_spec(spec, path)))


def _names(spec: Object, path: str) -> Iterator[Cause]:
    forms = (
        ("serviceAccountName", "subdomain"),
        ("nodeName", "subdomain"),
        ("hostname", "label"),
        ("subdomain", "label"),
    )
    for field, form in forms:
        name = spec.get(field)
        if name and (wrong := validate_name(name, form)):
            yield Cause.bad(f"{path}.{field}", quoted(name), wrong)
    name = spec.get("priorityClassName")
    if name and (wrong := validate_name(name, "subdomain")):
        yield Cause.bad(f"{path}.priorityClassName", quoted(name), wrong)


def _affinity(affinity: Object, path: str) -> Iterator[Cause]:
    nodes = affinity.get("nodeAffinity") or {}
    if nodes.get(_REQUIRED) is not None:
        terms = nodes[_REQUIRED].get("nodeSelectorTerms") or ()
        where = f"{path}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
        if not terms:
            yield Cause.required(where, "must have at least one node selector term")
        for i, term in enumerate(terms):
            yield from _node_term(term, f"{where}[{i}]")
    for i, preferred in enumerate(nodes.get(_PREFERRED) or ()):
        where = f"{path}.nodeAffinity.{_PREFERRED}[{i}]"
        yield from _weight(preferred, where)
        yield from _node_term(preferred.get("preference") or {}, f"{where}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        for i, term in enumerate(pods.get(_REQUIRED) or ()):
            yield from _pod_term(term, f"{path}.{kind}.{_REQUIRED}[{i}]")
        for i, preferred in enumerate(pods.get(_PREFERRED) or ()):
            where = f"{path}.{kind}.{_PREFERRED}[{i}]"
            yield from _weight(preferred, where)
            yield from _pod_term(preferred.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")


def _weight(preferred: Object, path: str) -> Iterator[Cause]:
    weight = preferred.get("weight", 0)
    if not 1 <= weight <= 100:
        yield Cause.bad(f"{path}.weight", str(weight), "must be in the range 1-100")


def _pod_term(term: Object, path: str) -> Iterator[Cause]:
    yield from check_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from check_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    key = term.get("topologyKey", "")
    if not key:
        yield Cause.required(f"{path}.topologyKey", "can not be empty")
    if wrong := wrong_label_key(key):
        yield Cause.bad(f"{path}.topologyKey", quoted(key), wrong)


def _node_term(term: Object, path: str) -> Iterator[Cause]:
    yield from check_expressions(term, path, NODE_OPERATORS)


def _spread(constraints: Sequence[Object], path: str) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for i, constraint in enumerate(constraints):
        where = f"{path}[{i}]"
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        skew, domains = constraint.get("maxSkew", 0), constraint.get("minDomains")
        if skew <= 0:
            yield Cause.bad(f"{where}.maxSkew", str(skew), "must be greater than zero")
        if not key:
            yield Cause.required(f"{where}.topologyKey", "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield Cause.unsupported(f"{where}.whenUnsatisfiable", quoted(action), ("DoNotSchedule", "ScheduleAnyway"))
        if (key, action) in seen:
            yield Cause.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", quoted(f"{{{key}, {action}}}"))
        seen.add((key, action))
        if domains is not None and domains <= 0:
            yield Cause.bad(f"{where}.minDomains", str(domains), "must be greater than zero")
        elif domains is not None and action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield Cause.bad(f"{where}.minDomains", str(domains), why)
        yield from check_label_selector(constraint.get("labelSelector"), f"{where}.labelSelector")


def _tolerations(tolerations: Sequence[Object], path: str) -> Iterator[Cause]:
    for i, toleration in enumerate(tolerations):
        where = f"{path}[{i}]"
        key, operator = toleration.get("key", ""), toleration.get("operator") or "Equal"
        effect = toleration.get("effect", "")
        if key and (wrong := wrong_label_key(key)):
            yield Cause.bad(f"{where}.key", quoted(key), wrong)
        if not key and operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield Cause.bad(f"{where}.operator", quoted(toleration.get("operator") or ""), why)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield Cause.bad(f"{where}.effect", quoted(effect), why)
        if operator not in ("Equal", "Exists"):
            yield Cause.unsupported(f"{where}.operator", quoted(operator), ("Equal", "Exists"))
        elif operator == "Exists" and toleration.get("value"):
            why = "value must be empty when `operator` is 'Exists'"
            yield Cause.bad(f"{where}.operator", quoted(toleration["value"]), why)
        yield from check_choice(effect, f"{where}.effect", _EFFECTS, needed=False)


_MAY_CHANGE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "schedulingGates", "tolerations")
_FORBIDDEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def check_pod_change(old: Object, new: Object) -> Iterator[Cause]:
    """What a change of a pod may not change."""
    before, after = spec_of(old), spec_of(new)
    if before is after or before == after:
        return
    yield from _gates_change(before, after)
    old_tolerations, tolerations = before.get("tolerations") or [], after.get("tolerations") or []
    if all(each in tolerations for each in old_tolerations) and _fixed(before) == _fixed(after):
        return
    if quality_of_service(before) != quality_of_service(after):
        yield Cause.bad("metadata", quoted(quality_of_service(before)), "Pod QoS is immutable")
    if not (before.get("schedulingGates") and _fixed(before, gated=True) == _fixed(after, gated=True)):
        yield Cause.forbidden("spec", _FORBIDDEN)


def _gates_change(before: Object, after: Object) -> Iterator[Cause]:
    known = {each.get("name") for each in before.get("schedulingGates") or ()}
    for i, gate in enumerate(after.get("schedulingGates") or ()):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield Cause.forbidden(f"spec.schedulingGates[{i}]", why)


def _fixed(spec: Object, *, gated: bool = False) -> Object:
    """The part of a pod's spec that stays as it was created; while it is ``gated``, where it may go can still change."""
    may_change = (*_MAY_CHANGE, "nodeSelector", "affinity") if gated else _MAY_CHANGE
    kept = {key: value for key, value in spec.items() if key not in may_change}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{k: v for k, v in container.items() if k != "image"} for container in kept[key]]
    return kept


def check_debugging(before: Object, after: Object) -> Iterator[Cause]:
    """What is wrong with containers that were added to a pod to debug it."""
    old = {each.get("name"): each for each in before.get("ephemeralContainers") or ()}
    new = after.get("ephemeralContainers") or ()
    mountable = frozenset(each.get("name", "") for each in after.get("volumes") or ())
    taken = frozenset(each.get("name", "") for key in ("containers", "initContainers") for each in after.get(key) or ())
    yield from check_containers(new, "spec.ephemeralContainers", mountable, taken)
    names = {each.get("name") for each in new}
    for i, each in enumerate(new):
        if each.get("name") in old and old[each["name"]] != each:
            yield Cause.forbidden(
                f"spec.ephemeralContainers[{i}]", "existing ephemeral containers may not be changed\n"
            )
    for name in old:
        if name not in names:
            why = f'existing ephemeral containers "{name}" may not be removed\n'
            yield Cause.forbidden("spec.ephemeralContainers", why)
