"""The definitions of karpy's own kinds: NodePool, NodeClaim and Provisioner, with schemas, columns and descriptions.

A NodePool or NodeClaim may be written in v1 or v1beta1. It is stored as v1, and both schemas know the fields of both versions, so
that nothing a user wrote is lost on the way; defaults and required fields are those of the version that is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["core_crds", "node_claim_crd", "node_pool_crd", "provisioner_crd"]

Schema = dict[str, Any]

GROUP = "karpenter.sh"
CATEGORY = "karpenter"

_DURATION = "^([0-9]+(s|m|h))+$"
_DURATION_OR_NEVER = "^(([0-9]+(s|m|h))+|Never)$"
_WINDOW = "^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"
_SCHEDULE = "^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$"
_NUMBER = "(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))"
_QUANTITY = f"^(\\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?{_NUMBER}))?$"
_QUALIFIED = "^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?\\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
_LABEL_VALUE = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _number(description: str, *, bits: int = 64, **more: Any) -> Schema:
    return {"type": "integer", "format": f"int{bits}", "description": description, **more}


def _flag(description: str, **more: Any) -> Schema:
    return {"type": "boolean", "description": description, **more}


def _object(description: str, properties: Mapping[str, Schema], required: Sequence[str] = (), **more: Any) -> Schema:
    schema: Schema = {"type": "object", "description": description, "properties": dict(properties), **more}
    return {**schema, "required": list(required)} if required else schema


def _list(description: str, items: Schema, **more: Any) -> Schema:
    return {"type": "array", "description": description, "items": items, **more}


def _strings(description: str, **more: Any) -> Schema:
    return {"type": "object", "description": description, "additionalProperties": {"type": "string", **more}}


def _quantities(description: str) -> Schema:
    quantity = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": _QUANTITY,
        "x-kubernetes-int-or-string": True,
    }
    return {"type": "object", "description": description, "additionalProperties": quantity}


def _free(description: str) -> Schema:
    return {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}


def _taints(description: str) -> Schema:
    taint = _object(
        "A taint: pods that do not tolerate it stay away.",
        {
            "key": _text("The key that a toleration names.", minLength=1, pattern=_QUALIFIED),
            "value": _text("The value that goes with the key.", pattern=_QUALIFIED),
            "effect": _text(
                "What happens to pods without a toleration.", enum=["NoSchedule", "PreferNoSchedule", "NoExecute"]
            ),
            "timeAdded": _text("When the taint was put on.", format="date-time"),
        },
        required=("key", "effect"),
    )
    return _list(description, taint)


def _requirements(operators: Sequence[str], *, min_values: bool = True) -> Schema:
    properties = {
        "key": _text("The label that the requirement is about.", maxLength=316, pattern=_QUALIFIED),
        "operator": _text("How the label's value is compared with the values.", enum=list(operators)),
        "values": _list(
            "The values to compare with. In and NotIn take several, Gt and Lt one integer, Exists and DoesNotExist none.",
            {"type": "string", "maxLength": 63, "pattern": _LABEL_VALUE},
            **{"x-kubernetes-list-type": "atomic"},
        ),
    }
    if min_values:
        properties["minValues"] = _number(
            "How many different values of the label must stay possible among the instance types of a launch.",
            minimum=1,
            maximum=50,
        )
    item = _object("A condition on a label of the node.", properties, required=("key", "operator"))
    return _list(
        "What the instance type, its zone and its other labels must satisfy. All must hold.", item, maxItems=100
    )


_V1_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
_BETA_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def _node_class_ref(*, beta: bool) -> Schema:
    properties = {
        "group": _text("The API group of the node class.", pattern="^[^/]*$"),
        "kind": _text("The kind of the node class."),
        "name": _text("The name of the node class.", minLength=1),
        "apiVersion": _text("The group and version of the node class (v1beta1)."),
    }
    required = ("name",) if beta else ("group", "kind", "name")
    return _object("The cloud's settings for the machine: image, network, disks, identity.", properties, required)


def _kubelet() -> Schema:
    return _object(
        "Settings of the kubelet on the node (v1beta1 and earlier).",
        {
            "clusterDNS": _list("Addresses of the cluster's DNS servers.", {"type": "string"}),
            "containerRuntime": _text("The container runtime (v1alpha5)."),
            "maxPods": _number("The most pods that the node runs.", bits=32, minimum=0),
            "podsPerCore": _number("The most pods for each core; maxPods still holds.", bits=32, minimum=0),
            "systemReserved": _quantities("Resources set aside for the operating system."),
            "kubeReserved": _quantities("Resources set aside for the kubelet and the container runtime."),
            "evictionHard": _strings("Signals and the thresholds at which pods are evicted at once."),
            "evictionSoft": _strings("Signals and the thresholds at which pods are evicted after a grace period."),
            "evictionSoftGracePeriod": _strings("The grace period of each soft signal."),
            "evictionMaxPodGracePeriod": _number("The most seconds a pod gets in a soft eviction.", bits=32),
            "imageGCHighThresholdPercent": _number(
                "Disk usage that starts image removal.", bits=32, minimum=0, maximum=100
            ),
            "imageGCLowThresholdPercent": _number(
                "Disk usage that ends image removal.", bits=32, minimum=0, maximum=100
            ),
            "cpuCFSQuota": _flag("Whether CPU limits are enforced by quota."),
        },
    )


def _node_spec_fields(*, beta: bool) -> dict[str, Schema]:
    """What a NodePool's template and a NodeClaim have in common."""
    expire = _text("How long a node may live before it is replaced, or Never.", pattern=_DURATION_OR_NEVER)
    if not beta:
        expire["default"] = "720h"
    return {
        "taints": _taints("Taints that the node keeps."),
        "startupTaints": _taints("Taints that the node starts with and that something in the cluster takes off."),
        "requirements": _requirements(_BETA_OPERATORS if beta else _V1_OPERATORS),
        "nodeClassRef": _node_class_ref(beta=beta),
        "terminationGracePeriod": _text(
            "How long a drain may take before the node goes with the pods that are left.", pattern=_DURATION
        ),
        "expireAfter": expire,
        "kubelet": _kubelet(),
    }


def _budgets() -> Schema:
    budget = _object(
        "A limit on how many nodes of the pool may be disrupted at the same time.",
        {
            "nodes": _text(
                "The number of nodes, or their share of the pool.",
                default="10%",
                pattern="^((100|[0-9]{1,2})%|[0-9]+)$",
            ),
            "schedule": _text(
                "When the budget starts to hold, in cron's form, UTC. Needs a duration.", pattern=_SCHEDULE
            ),
            "duration": _text("How long it holds from each start. Needs a schedule.", pattern=_WINDOW),
            "reasons": _list(
                "The reasons for disruption that it limits; without any, all of them.",
                {"type": "string", "enum": ["Underutilized", "Empty", "Drifted"]},
                maxItems=50,
            ),
        },
        required=("nodes",),
    )
    return _list(
        "Limits on disruption; the strictest that holds counts.", budget, maxItems=50, default=[{"nodes": "10%"}]
    )


def _disruption(*, beta: bool) -> Schema:
    policies = ["WhenEmpty", "WhenUnderutilized"] if beta else ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]
    policy = policies[1]
    after = _text(
        "How long a node must have been left alone by pods before it may be consolidated, or Never.",
        pattern=_DURATION_OR_NEVER,
    )
    expire = _text("How long a node may live before it is replaced, or Never (v1beta1).", pattern=_DURATION_OR_NEVER)
    if beta:
        expire["default"] = "720h"
        default = {"consolidationPolicy": policy, "expireAfter": "720h"}
    else:
        after["default"] = "0s"
        default = {"consolidateAfter": "0s"}
    return _object(
        "When and how nodes of the pool may be taken away or replaced.",
        {
            "consolidateAfter": after,
            "consolidationPolicy": _text("Which nodes may be consolidated.", default=policy, enum=policies),
            "budgets": _budgets(),
            "expireAfter": expire,
        },
        required=() if beta else ("consolidateAfter",),
        default=default,
    )


def _conditions() -> Schema:
    condition = _object(
        "One observation about the object.",
        {
            "type": _text("What is observed."),
            "status": _text("Whether it holds.", enum=["True", "False", "Unknown"]),
            "reason": _text("Why, as one word for programs."),
            "message": _text("Why, for people."),
            "observedGeneration": _number("The generation of the spec that was looked at.", minimum=0),
            "lastTransitionTime": _text("When the status last changed.", format="date-time"),
            "severity": _text("How grave it is when it does not hold (v1beta1 and earlier)."),
        },
        required=("type", "status"),
    )
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return _list("What karpy last observed.", condition, **keyed)


def _node_pool_schema(*, beta: bool) -> Schema:
    fields = _node_spec_fields(beta=beta)
    template = _object(
        "What the pool's nodes are like.",
        {
            "metadata": _object(
                "What the nodes carry.",
                {
                    "labels": _strings("Labels of the nodes.", maxLength=63, pattern=_LABEL_VALUE),
                    "annotations": _strings("Annotations of the nodes."),
                },
            ),
            "spec": _object(
                "The nodes' taints, requirements and node class.",
                {**fields, "resources": _free("Not used in a pool (v1beta1).")},
                required=("nodeClassRef",) if beta else ("nodeClassRef", "requirements"),
            ),
        },
        required=("spec",),
    )
    spec = _object(
        "What the pool may launch, how much of it, and how its nodes may be disrupted.",
        {
            "template": template,
            "disruption": _disruption(beta=beta),
            "limits": _quantities("The most resources that the pool's nodes may have in all."),
            "weight": _number("Pools of higher weight are tried first.", bits=32, minimum=1, maximum=100),
            "replicas": _number("A fixed number of nodes, kept whether pods need them or not.", minimum=0),
        },
        required=("template",),
    )
    status = _object(
        "What karpy last saw of the pool.",
        {
            "resources": _quantities("The resources of the pool's nodes."),
            "nodes": _number("How many nodes the pool has.", default=0),
            "nodeClassObservedGeneration": _number("The generation of the node class that was looked at."),
            "conditions": _conditions(),
        },
    )
    return _object(
        "A NodePool says which nodes may be launched for pods that do not fit, and when nodes may go again.",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        required=("spec",),
    )


def _node_claim_schema(*, beta: bool) -> Schema:
    resources = _object(
        "What the node must at least offer.", {"requests": _quantities("The resources that pods on it ask for.")}
    )
    spec = _object(
        "The node that is asked for.",
        {**_node_spec_fields(beta=beta), "resources": resources},
        required=("nodeClassRef", "requirements"),
    )
    status = _object(
        "What became of the claim.",
        {
            "nodeName": _text("The name of the node."),
            "providerID": _text("The cloud's name of the machine."),
            "imageID": _text("The machine image that it was started from."),
            "capacity": _quantities("What the machine has."),
            "allocatable": _quantities("What pods may use of it."),
            "lastPodEventTime": _text("When a pod last came or went.", format="date-time"),
            "conditions": _conditions(),
        },
    )
    return _object(
        "A NodeClaim is a request for one node, and follows that node until it is gone.",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        required=("spec",),
    )


def _provisioner_schema() -> Schema:
    reference = _object(
        "The cloud's settings for the machines, kept in an object of their own.",
        {
            "kind": _text("The kind of the object."),
            "name": _text("The name of the object."),
            "apiVersion": _text("The group and version of the object."),
        },
        required=("name",),
    )
    spec = _object(
        "What may be launched, how much of it, and when nodes go again.",
        {
            "annotations": _strings("Annotations of the nodes."),
            "labels": _strings("Labels of the nodes."),
            "taints": _taints("Taints that the nodes keep."),
            "startupTaints": _taints("Taints that the nodes start with and that something in the cluster takes off."),
            "requirements": _requirements(_BETA_OPERATORS, min_values=False),
            "kubeletConfiguration": _kubelet(),
            "provider": _free("The cloud's settings for the machines, written in place."),
            "providerRef": reference,
            "ttlSecondsAfterEmpty": _number("Seconds after which a node without pods goes. Without it, it stays."),
            "ttlSecondsUntilExpired": _number("Seconds after which a node is replaced. Without it, it never is."),
            "limits": _object(
                "How much may be launched.",
                {"resources": _quantities("The most resources that the provisioner's nodes may have in all.")},
            ),
            "weight": _number("Provisioners of higher weight are tried first.", bits=32, minimum=1, maximum=100),
            "consolidation": _object(
                "Whether nodes are packed more tightly when that saves money.",
                {"enabled": _flag("Whether to consolidate.")},
            ),
        },
    )
    status = _object(
        "What karpy last saw of the provisioner.",
        {
            "lastScaleTime": _text("When a node was last launched.", format="date-time"),
            "resources": _quantities("The resources of the provisioner's nodes."),
            "nodes": _number("How many nodes it has."),
            "conditions": _conditions(),
        },
    )
    return _object(
        "A Provisioner says which nodes may be launched for pods that do not fit (the form before NodePool).",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    )


def _column(name: str, path: str, type_: str = "string", *, wide: bool = False) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": type_, "jsonPath": path}
    return {**column, "priority": 1} if wide else column


def _condition(name: str, type_: str, *, wide: bool = False) -> dict[str, Any]:
    return _column(name, f'.status.conditions[?(@.type=="{type_}")].status', wide=wide)


_AGE = _column("Age", ".metadata.creationTimestamp", "date")
_CLASS_OF_POOL = ".spec.template.spec.nodeClassRef.name"
_SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.nodes"}


def _label(name: str, key: str, *, wide: bool = False) -> dict[str, Any]:
    return _column(name, ".metadata.labels." + key.replace(".", "\\."), wide=wide)


_POOL_COLUMNS = (
    _column("NodeClass", _CLASS_OF_POOL),
    _column("Nodes", ".status.nodes"),
    _condition("Ready", "Ready"),
    _AGE,
    _column("Weight", ".spec.weight", "integer", wide=True),
    _column("CPU", ".status.resources.cpu", wide=True),
    _column("Memory", ".status.resources.memory", wide=True),
)
_BETA_POOL_COLUMNS = (_column("NodeClass", _CLASS_OF_POOL), _column("Weight", ".spec.weight", wide=True))
_TYPE = _label("Type", "node.kubernetes.io/instance-type")
_ZONE = _label("Zone", "topology.kubernetes.io/zone")
_NODE = _column("Node", ".status.nodeName")
_READY = _condition("Ready", "Ready")
_CLAIM_COLUMNS = (
    _TYPE,
    _label("Capacity", "karpenter.sh/capacity-type"),
    _ZONE,
    _NODE,
    _READY,
    _AGE,
    _column("ImageID", ".status.imageID", wide=True),
    _column("ID", ".status.providerID", wide=True),
    _label("NodePool", "karpenter.sh/nodepool", wide=True),
    _column("NodeClass", ".spec.nodeClassRef.name", wide=True),
    _condition("Drifted", "Drifted", wide=True),
)
_BETA_CLAIM_COLUMNS = (
    _TYPE,
    _ZONE,
    _NODE,
    _READY,
    _AGE,
    _label("Capacity", "karpenter.sh/capacity-type", wide=True),
    _label("NodePool", "karpenter.sh/nodepool", wide=True),
    _column("NodeClass", ".spec.nodeClassRef.name", wide=True),
)
_PROVISIONER_COLUMNS = (
    _column("Template", ".spec.providerRef.name"),
    _column("Weight", ".spec.weight", wide=True),
)


def _version(
    name: str,
    schema: Schema,
    columns: Sequence[Mapping[str, Any]],
    *,
    storage: bool,
    scale: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}}
    if scale is not None:
        subresources["scale"] = dict(scale)
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "subresources": subresources,
        "additionalPrinterColumns": [dict(column) for column in columns],
        "schema": {"openAPIV3Schema": schema},
    }


def _definition(kind: str, plural: str, versions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "categories": [CATEGORY],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": list(versions)},
    }


def node_pool_crd() -> dict[str, Any]:
    """NodePool, v1 (stored) and v1beta1."""
    return _definition(
        "NodePool",
        "nodepools",
        (
            _version("v1", _node_pool_schema(beta=False), _POOL_COLUMNS, storage=True, scale=_SCALE),
            _version("v1beta1", _node_pool_schema(beta=True), _BETA_POOL_COLUMNS, storage=False),
        ),
    )


def node_claim_crd() -> dict[str, Any]:
    """NodeClaim, v1 (stored) and v1beta1."""
    return _definition(
        "NodeClaim",
        "nodeclaims",
        (
            _version("v1", _node_claim_schema(beta=False), _CLAIM_COLUMNS, storage=True),
            _version("v1beta1", _node_claim_schema(beta=True), _BETA_CLAIM_COLUMNS, storage=False),
        ),
    )


def provisioner_crd() -> dict[str, Any]:
    """Provisioner, v1alpha5."""
    version = _version("v1alpha5", _provisioner_schema(), _PROVISIONER_COLUMNS, storage=True)
    return _definition("Provisioner", "provisioners", (version,))


def core_crds() -> tuple[dict[str, Any], ...]:
    """The definitions that every karpy cluster has, whatever its cloud."""
    return (node_pool_crd(), node_claim_crd(), provisioner_crd())
