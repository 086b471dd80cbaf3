"""The building blocks of CRD schemas: plain types with descriptions, and the parts that several of karpy's kinds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.kube import rules

__all__ = [
    "LABEL_VALUE",
    "Schema",
    "conditions",
    "disruption",
    "flag",
    "free",
    "kubelet",
    "node_spec_fields",
    "number",
    "object_",
    "quantities",
    "requirements",
    "strings",
    "taints",
    "text",
    "whole",
]

Schema = dict[str, Any]


_DURATION = "^([0-9]+(s|m|h))+$"
_DURATION_OR_NEVER = "^(([0-9]+(s|m|h))+|Never)$"
_WINDOW = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"
_SCHEDULE = "^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$"
_NUMBER = "(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))"
_QUANTITY = f"^(\\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?{_NUMBER}))?$"
_QUALIFIED = "^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?\\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
LABEL_VALUE = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"


def text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def number(description: str, *, bits: int = 64, **more: Any) -> Schema:
    return {"type": "integer", "format": f"int{bits}", "description": description, **more}


def flag(description: str, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, **more}


def object_(description: str, properties: Mapping[str, Schema], required: Sequence[str] = (), **more: Any) -> Schema:
    schema: Schema = {"type": "object", "description": description, "properties": dict(properties), **more}
    return {**schema, "required": list(required)} if required else schema


def list_(description: str, items: Schema, **more: Any) -> Schema:
    return {"type": "array", "description": description, "items": items, **more}


def strings(description: str, **more: Any) -> Schema:
    return {"type": "object", "description": description, "additionalProperties": {"type": "string", **more}}


def quantities(description: str) -> Schema:
    quantity = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": _QUANTITY,
        "x-kubernetes-int-or-string": True,
    }
    return {"type": "object", "description": description, "additionalProperties": quantity}


def free(description: str) -> Schema:
    return {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}


def taints(description: str) -> Schema:
    taint = object_(
        "A taint: pods that do not tolerate it stay away.",
        {
            "key": text("The key that a toleration names.", minLength=1, pattern=_QUALIFIED),
            "value": text("The value that goes with the key.", pattern=_QUALIFIED),
            "effect": text(
                "What happens to pods without a toleration.", enum=["NoSchedule", "PreferNoSchedule", "NoExecute"]
            ),
            "timeAdded": text("When the taint was put on.", format="date-time"),
        },
        required=("key", "effect"),
    )
    return list_(description, taint)


def requirements(operators: Sequence[str], *, min_values: bool = True, pool: bool = False) -> Schema:
    """A list of requirements. Without ``operators`` the schema takes any word, and leaves it to the reader to refuse it."""
    ruled = {rules.RULES: rules.REQUIREMENTS} if operators else {}
    key_ruled = {rules.RULES: rules.key_rules(pool=pool)} if operators else {}
    allowed = {"enum": list(operators)} if operators else {}
    properties = {
        "key": text("The label that the requirement is about.", maxLength=316, pattern=_QUALIFIED, **key_ruled),
        "operator": text("How the label's value is compared with the values.", **allowed),
        "values": list_(
            "The values to compare with. In and NotIn take several, Gt and Lt one integer, Exists and DoesNotExist none.",
            {"type": "string", "maxLength": 63, "pattern": LABEL_VALUE},
            **{"x-kubernetes-list-type": "atomic"},
        ),
    }
    if min_values:
        properties["minValues"] = number(
            "How many different values of the label must stay possible among the instance types of a launch.",
            minimum=1,
            maximum=50,
        )
    item = object_("A condition on a label of the node.", properties, required=("key", "operator"))
    return list_(
        "What the instance type, its zone and its other labels must satisfy. All must hold.",
        item,
        maxItems=100,
        **ruled,
    )


_V1_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
_BETA_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def node_class_ref(*, beta: bool, pool: bool) -> Schema:
    named: Schema = {} if beta else {"minLength": 1}
    properties = {
        "group": text("The API group of the node class.", pattern="^[^/]*$", **named),
        "kind": text("The kind of the node class.", **named),
        "name": text("The name of the node class.", minLength=1),
        "apiVersion": text("The group and version of the node class (v1beta1)."),
    }
    required = ("name",) if beta else ("group", "kind", "name")
    fixed = {rules.RULES: rules.POOL_CLASS} if pool and not beta else {}
    return object_(
        "The cloud's settings for the machine: image, network, disks, identity.", properties, required, **fixed
    )


def kubelet() -> Schema:
    return object_(
        "Settings of the kubelet on the node (v1beta1 and earlier).",
        {
            "clusterDNS": list_("Addresses of the cluster's DNS servers.", {"type": "string"}),
            "containerRuntime": text("The container runtime (v1alpha5)."),
            "maxPods": number("The most pods that the node runs.", bits=32, minimum=0),
            "podsPerCore": number("The most pods for each core; maxPods still holds.", bits=32, minimum=0),
            "systemReserved": quantities("Resources set aside for the operating system."),
            "kubeReserved": quantities("Resources set aside for the kubelet and the container runtime."),
            "evictionHard": strings("Signals and the thresholds at which pods are evicted at once."),
            "evictionSoft": strings("Signals and the thresholds at which pods are evicted after a grace period."),
            "evictionSoftGracePeriod": strings("The grace period of each soft signal."),
            "evictionMaxPodGracePeriod": number("The most seconds a pod gets in a soft eviction.", bits=32),
            "imageGCHighThresholdPercent": number(
                "Disk usage that starts image removal.", bits=32, minimum=0, maximum=100
            ),
            "imageGCLowThresholdPercent": number(
                "Disk usage that ends image removal.", bits=32, minimum=0, maximum=100
            ),
            "cpuCFSQuota": flag("Whether CPU limits are enforced by quota."),
        },
    )


def node_spec_fields(*, beta: bool, pool: bool) -> dict[str, Schema]:
    """What a NodePool's template and a NodeClaim have in common."""
    expire = text("How long a node may live before it is replaced, or Never.", pattern=_DURATION_OR_NEVER)
    if not beta:
        expire["default"] = "720h"
    return {
        "taints": taints("Taints that the node keeps."),
        "startupTaints": taints("Taints that the node starts with and that something in the cluster takes off."),
        "requirements": requirements(_BETA_OPERATORS if beta else _V1_OPERATORS, pool=pool),
        "nodeClassRef": node_class_ref(beta=beta, pool=pool),
        "terminationGracePeriod": text(
            "How long a drain may take before the node goes with the pods that are left.", pattern=_DURATION
        ),
        "expireAfter": expire,
        "kubelet": kubelet(),
    }


def budgets() -> Schema:
    budget = object_(
        "A limit on how many nodes of the pool may be disrupted at the same time.",
        {
            "nodes": text(
                "The number of nodes, or their share of the pool.",
                default="10%",
                pattern="^((100|[0-9]{1,2})%|[0-9]+)$",
            ),
            "schedule": text(
                "When the budget starts to hold, in cron's form, in UTC or the time zone that the pool names. Needs a duration.",
                pattern=_SCHEDULE,
            ),
            "duration": text("How long it holds from each start. Needs a schedule.", pattern=_WINDOW),
            "reasons": list_(
                "The reasons for disruption that it limits; without any, all of them.",
                {"type": "string", "enum": ["Underutilized", "Empty", "Drifted"]},
                maxItems=50,
            ),
        },
        required=("nodes",),
    )
    return list_(
        "Limits on disruption; the strictest that holds counts.",
        budget,
        maxItems=50,
        default=[{"nodes": "10%"}],
        **{rules.RULES: rules.BUDGETS},
    )


def disruption(*, beta: bool) -> Schema:
    policies = ["WhenEmpty", "WhenUnderutilized"] if beta else ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]
    policy = policies[1]
    after = text(
        "How long a node must have been left alone by pods before it may be consolidated, or Never.",
        pattern=_DURATION_OR_NEVER,
    )
    expire = text("How long a node may live before it is replaced, or Never (v1beta1).", pattern=_DURATION_OR_NEVER)
    if beta:
        expire["default"] = "720h"
        default = {"consolidationPolicy": policy, "expireAfter": "720h"}
    else:
        after["default"] = "0s"
        default = {"consolidateAfter": "0s"}
    return object_(
        "When and how nodes of the pool may be taken away or replaced.",
        {
            "consolidateAfter": after,
            "consolidationPolicy": text("Which nodes may be consolidated.", default=policy, enum=policies),
            "budgets": budgets(),
            "expireAfter": expire,
        },
        required=() if beta else ("consolidateAfter",),
        default=default,
    )


def conditions() -> Schema:
    condition = object_(
        "One observation about the object.",
        {
            "type": text("What is observed."),
            "status": text("Whether it holds.", enum=["True", "False", "Unknown"]),
            "reason": text("Why, as one word for programs."),
            "message": text("Why, for people."),
            "observedGeneration": number("The generation of the spec that was looked at.", minimum=0),
            "lastTransitionTime": text("When the status last changed.", format="date-time"),
            "severity": text("How grave it is when it does not hold (v1beta1 and earlier)."),
        },
        required=("type", "status"),
    )
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return list_("What karpy last observed.", condition, **keyed)


def whole(description: str, spec: Schema, status: Schema) -> Schema:
    """The schema of a kind of object: its spec, which is required, and its status."""
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": spec,
        "status": status,
    }
    return object_(description, properties, required=("spec",))
