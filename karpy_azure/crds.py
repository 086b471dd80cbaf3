"""CustomResourceDefinition of AKS's node class, with descriptions that ``kubectl explain`` shows.

The schema holds types, enumerations and bounds. Rules between fields are checked by the reader in `karpy_azure.objects`, whose
answer shows in the ``Ready`` condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karpy_azure.objects.aksnodeclass import (
    AKS_NODE_CLASS,
    DISK_SIZES_GB,
    FIPS_MODES,
    GPU_MODES,
    IMAGE_FAMILIES,
    MAX_PODS,
    SUBNET_PATTERN,
)

__all__ = ["crds"]

Schema = Mapping[str, Any]
_LOG_SIZE = r"^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$"
VERSIONS = ("v1beta1", "v1alpha2")


def crds() -> tuple[Mapping[str, Any], ...]:
    """The definition as a JSON object; the caller owns it."""
    kind = AKS_NODE_CLASS
    return (
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": kind.resource},
            "spec": {
                "group": kind.group,
                "names": {
                    "kind": kind.kind,
                    "listKind": f"{kind.kind}List",
                    "plural": kind.plural,
                    "singular": kind.kind.lower(),
                    "shortNames": ["aksnc", "aksncs"],
                    "categories": ["karpenter", "nap"],
                },
                "scope": "Cluster",
                "versions": [_version(name, stored=name == kind.version) for name in VERSIONS],
            },
        },
    )


def _version(name: str, *, stored: bool) -> dict[str, Any]:
    ready = '.status.conditions[?(@.type=="Ready")].status'
    schema = _object({"spec": _spec(), "status": _status()}, "How nodes are set up on AKS.")
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Ready", "type": "string", "jsonPath": ready},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "ImageFamily", "type": "string", "jsonPath": ".spec.imageFamily", "priority": 1},
        ],
        "schema": {"openAPIV3Schema": schema},
    }


# Fields


def _text(description: str = "", **more: Any) -> dict[str, Any]:
    return _with({"type": "string", **more}, description)


def _integer(description: str = "", **more: Any) -> dict[str, Any]:
    return _with({"type": "integer", **more}, description)


def _truth(description: str = "") -> dict[str, Any]:
    return _with({"type": "boolean"}, description)


def _list(items: Schema, description: str = "") -> dict[str, Any]:
    return _with({"type": "array", "items": dict(items)}, description)


def _object(properties: Mapping[str, Schema], description: str = "", required: Sequence[str] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {key: dict(value) for key, value in properties.items()}}
    if required:
        schema["required"] = list(required)
    return _with(schema, description)


def _open_object(description: str) -> dict[str, Any]:
    return {"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": True}


def _with(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description} if description else schema


# Node class


def _spec() -> dict[str, Any]:
    trusted_launch = _object({"vtpm": _truth("Virtual trusted platform module."), "secureBoot": _truth("Secure boot.")})
    security = {
        "encryptionAtHost": _truth("Only sizes that encrypt disks on the host."),
        "trustedLaunch": trusted_launch,
    }
    return _object(
        {
            "imageFamily": _text("Operating system of nodes; Ubuntu when unset.", enum=list(IMAGE_FAMILIES)),
            "imageVersion": _text("Version of the node image; the newest when unset."),
            "osDiskSizeGB": _integer(
                "Size of the OS disk.",
                format="int32",
                default=128,
                minimum=DISK_SIZES_GB[0],
                maximum=DISK_SIZES_GB[1],
            ),
            "vnetSubnetID": _text("Subnet of nodes; the cluster's own when unset.", pattern=SUBNET_PATTERN),
            "fipsMode": _text("Whether images are of the FIPS build.", enum=list(FIPS_MODES)),
            "tags": {
                "type": "object",
                "description": "Tags of machines, network interfaces and disks.",
                "additionalProperties": {"type": "string"},
            },
            "maxPods": _integer("Pods that a node takes.", format="int32", minimum=MAX_PODS[0], maximum=MAX_PODS[1]),
            "security": _object(security, "Protection of machines."),
            "gpu": _object({"mode": _text(enum=list(GPU_MODES))}, "Whether AKS installs the GPU driver."),
            "artifactStreaming": _object({"enabled": _truth()}, "Whether images are streamed while pods start."),
            "kubelet": _kubelet(),
            "localDNS": _open_object("DNS cache on nodes."),
            "linuxOSConfig": _open_object("Settings of the kernel."),
        },
        "What nodes are made of.",
    )


def _kubelet() -> dict[str, Any]:
    percent = {"format": "int32", "minimum": 0, "maximum": 100}
    return _object(
        {
            "cpuManagerPolicy": _text("How exclusive cores are given out.", enum=["none", "static"], default="none"),
            "cpuCFSQuota": {**_truth("Whether CPU limits are enforced."), "default": True},
            "cpuCFSQuotaPeriod": _text("Period of CPU limits.", default="100ms"),
            "topologyManagerPolicy": _text(
                "How devices and cores are kept on one NUMA node.",
                enum=["restricted", "best-effort", "none", "single-numa-node"],
                default="none",
            ),
            "imageGCHighThresholdPercent": _integer("Disk use from which images are removed.", **percent),
            "imageGCLowThresholdPercent": _integer("Disk use down to which images are removed.", **percent),
            "allowedUnsafeSysctls": _list(_text(), "Kernel settings that pods may change."),
            "containerLogMaxSize": _text("Size at which a log is rotated.", default="50Mi", pattern=_LOG_SIZE),
            "containerLogMaxFiles": _integer("Log files kept.", format="int32", minimum=2, default=5),
            "podPidsLimit": _integer("Processes that a pod may have.", format="int64"),
            "failSwapOn": _truth("Whether the kubelet refuses to start with swap."),
        },
        "Settings of the kubelet.",
    )


def _status() -> dict[str, Any]:
    requirement = _object({"key": _text(), "operator": _text(), "values": _list(_text())}, required=("key", "operator"))
    condition = _object(
        {
            "type": _text(),
            "status": _text(enum=["True", "False", "Unknown"]),
            "reason": _text(),
            "message": _text(),
            "lastTransitionTime": _text(format="date-time"),
            "observedGeneration": _integer(format="int64", minimum=0),
        },
        required=("type", "status"),
    )
    return _object(
        {
            "images": _list(_object({"id": _text(), "requirements": _list(requirement)}, required=("id",))),
            "kubernetesVersion": _text(),
            "conditions": _list(condition, "Whether the class is ready to launch from, and why not."),
        },
        "What was found.",
    )
