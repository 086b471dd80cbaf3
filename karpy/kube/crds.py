"""The definitions of karpy's own kinds: NodePool, NodeClaim, NodeOverlay and Provisioner, with schemas, columns and descriptions.

A NodePool or NodeClaim may be written in v1 or v1beta1. It is stored as v1, and both schemas know the fields of both versions, so
that nothing a user wrote is lost on the way; defaults and required fields are those of the version that is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy.kube import rules
from karpy.kube.buffercrd import capacity_buffer_crd
from karpy.kube.overlay_schema import node_overlay_schema
from karpy.kube.schemas import (
    LABEL_VALUE,
    Schema,
    conditions,
    disruption,
    flag,
    free,
    kubelet,
    node_spec_fields,
    number,
    object_,
    quantities,
    requirements,
    strings,
    taints,
    text,
    whole,
)

__all__ = ["core_crds", "node_claim_crd", "node_overlay_crd", "node_pool_crd", "provisioner_crd"]

GROUP = "karpenter.sh"
CATEGORY = "karpenter"


def _node_pool_schema(*, beta: bool) -> Schema:
    fields = node_spec_fields(beta=beta, pool=True)
    template = object_(
        "What the pool's nodes are like.",
        {
            "metadata": object_(
                "What the nodes carry.",
                {
                    "labels": {
                        **strings("Labels of the nodes.", maxLength=63, pattern=LABEL_VALUE),
                        "maxProperties": 100,
                        rules.RULES: rules.label_rules(),
                    },
                    "annotations": strings("Annotations of the nodes."),
                },
            ),
            "spec": object_(
                "The nodes' taints, requirements and node class.",
                {**fields, "resources": free("Not used in a pool (v1beta1).")},
                required=("nodeClassRef",) if beta else ("nodeClassRef", "requirements"),
            ),
        },
        required=("spec",),
    )
    spec = object_(
        "What the pool may launch, how much of it, and how its nodes may be disrupted.",
        {
            "template": template,
            "disruption": disruption(beta=beta),
            "limits": quantities("The most resources that the pool's nodes may have in all."),
            "weight": number("Pools of higher weight are tried first.", bits=32, minimum=1, maximum=100),
            "replicas": number("A fixed number of nodes, kept whether pods need them or not.", minimum=0),
        },
        required=("template",),
        **{rules.RULES: rules.POOL_SPEC},
    )
    status = object_(
        "What karpy last saw of the pool.",
        {
            "resources": quantities("The resources of the pool's nodes."),
            "nodes": number("How many nodes the pool has.", default=0),
            "nodeClassObservedGeneration": number("The generation of the node class that was looked at."),
            "conditions": conditions(),
        },
    )
    return whole(
        "A NodePool says which nodes may be launched for pods that do not fit, and when nodes may go again.",
        spec,
        status,
    )


def _node_claim_schema(*, beta: bool) -> Schema:
    resources = object_(
        "What the node must at least offer.", {"requests": quantities("The resources that pods on it ask for.")}
    )
    spec = object_(
        "The node that is asked for.",
        {**node_spec_fields(beta=beta, pool=False), "resources": resources},
        required=("nodeClassRef", "requirements"),
        **{rules.RULES: rules.CLAIM_SPEC},
    )
    status = object_(
        "What became of the claim.",
        {
            "nodeName": text("The name of the node."),
            "providerID": text("The cloud's name of the machine."),
            "imageID": text("The machine image that it was started from."),
            "capacity": quantities("What the machine has."),
            "allocatable": quantities("What pods may use of it."),
            "lastPodEventTime": text("When a pod last came or went.", format="date-time"),
            "conditions": conditions(),
        },
    )
    return whole("A NodeClaim is a request for one node, and follows that node until it is gone.", spec, status)


def _provisioner_schema() -> Schema:
    reference = object_(
        "The cloud's settings for the machines, kept in an object of their own.",
        {
            "kind": text("The kind of the object."),
            "name": text("The name of the object."),
            "apiVersion": text("The group and version of the object."),
        },
        required=("name",),
    )
    spec = object_(
        "What may be launched, how much of it, and when nodes go again.",
        {
            "annotations": strings("Annotations of the nodes."),
            "labels": strings("Labels of the nodes."),
            "taints": taints("Taints that the nodes keep."),
            "startupTaints": taints("Taints that the nodes start with and that something in the cluster takes off."),
            "requirements": requirements((), min_values=False),  # in its day a webhook read them, not the schema
            "kubeletConfiguration": kubelet(),
            "provider": free("The cloud's settings for the machines, written in place."),
            "providerRef": reference,
            "ttlSecondsAfterEmpty": number("Seconds after which a node without pods goes. Without it, it stays."),
            "ttlSecondsUntilExpired": number("Seconds after which a node is replaced. Without it, it never is."),
            "limits": object_(
                "How much may be launched.",
                {"resources": quantities("The most resources that the provisioner's nodes may have in all.")},
            ),
            "weight": number("Provisioners of higher weight are tried first.", bits=32, minimum=1, maximum=100),
            "consolidation": object_(
                "Whether nodes are packed more tightly when that saves money.",
                {"enabled": flag("Whether to consolidate.")},
            ),
        },
    )
    status = object_(
        "What karpy last saw of the provisioner.",
        {
            "lastScaleTime": text("When a node was last launched.", format="date-time"),
            "resources": quantities("The resources of the provisioner's nodes."),
            "nodes": number("How many nodes it has."),
            "conditions": conditions(),
        },
    )
    return object_(
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
_OVERLAY_COLUMNS = (_READY, _AGE, _column("Weight", ".spec.weight", "integer", wide=True))
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


def node_overlay_crd() -> dict[str, Any]:
    """NodeOverlay, v1alpha1."""
    version = _version("v1alpha1", node_overlay_schema(), _OVERLAY_COLUMNS, storage=True)
    definition = _definition("NodeOverlay", "nodeoverlays", (version,))
    definition["spec"]["names"]["shortNames"] = ["overlays"]
    return definition


def provisioner_crd() -> dict[str, Any]:
    """Provisioner, v1alpha5."""
    version = _version("v1alpha5", _provisioner_schema(), _PROVISIONER_COLUMNS, storage=True)
    return _definition("Provisioner", "provisioners", (version,))


def core_crds() -> tuple[dict[str, Any], ...]:
    """The definitions that every karpy cluster has, whatever its cloud."""
    return (node_pool_crd(), node_claim_crd(), provisioner_crd(), node_overlay_crd(), capacity_buffer_crd())
