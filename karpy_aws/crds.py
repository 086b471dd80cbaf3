"""CustomResourceDefinitions of EC2's node classes, with descriptions that ``kubectl explain`` shows.

The schemas hold types, enumerations and bounds. Rules between fields are checked by the readers in `karpy_aws.objects`, whose
answer shows in the ``Ready`` condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from karpy.objects.kinds import Kind
from karpy_aws.objects.checks import VOLUME_TYPES
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.ec2nodeclass import FAMILIES as CLASS_FAMILIES
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE
from karpy_aws.objects.nodetemplate import FAMILIES as TEMPLATE_FAMILIES

__all__ = ["crds"]

Schema = Mapping[str, Any]

_HOP_LIMITS: Final = {"v1": 1, "v1beta1": 2}
"""How many network hops metadata may travel by default; v1 shut pods out."""


def crds() -> tuple[Mapping[str, Any], ...]:
    """The definitions as JSON objects; the caller owns them."""
    node_class = {version: _ec2_node_class_spec(hops) for version, hops in _HOP_LIMITS.items()}
    return (
        _definition(EC2_NODE_CLASS, ("ec2nc", "ec2ncs"), node_class),
        _definition(AWS_NODE_TEMPLATE, (), {"v1alpha1": _node_template_spec()}),
    )


def _definition(kind: Kind, short_names: Sequence[str], specs: Mapping[str, Schema]) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "categories": ["karpenter"],
    }
    if short_names:
        names["shortNames"] = list(short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Cluster",
            "versions": [_version(name, spec, stored=name == kind.version) for name, spec in specs.items()],
        },
    }


def _version(name: str, spec: Schema, *, stored: bool) -> dict[str, Any]:
    ready = '.status.conditions[?(@.type=="Ready")].status'
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Ready", "type": "string", "jsonPath": ready},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "Role", "type": "string", "jsonPath": ".spec.role", "priority": 1},
        ],
        "schema": {
            "openAPIV3Schema": _object({"spec": spec, "status": _status()}, "How nodes are set up on EC2."),
        },
    }


# Fields


def _text(description: str = "", **more: Any) -> dict[str, Any]:
    return _with({"type": "string", **more}, description)


def _integer(description: str = "", **more: Any) -> dict[str, Any]:
    return _with({"type": "integer", **more}, description)


def _truth(description: str = "") -> dict[str, Any]:
    return _with({"type": "boolean"}, description)


def _map(description: str = "") -> dict[str, Any]:
    return _with({"type": "object", "additionalProperties": {"type": "string"}}, description)


def _list(items: Schema, description: str = "", **more: Any) -> dict[str, Any]:
    return _with({"type": "array", "items": dict(items), **more}, description)


def _object(properties: Mapping[str, Schema], description: str = "", required: Sequence[str] = ()) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {key: dict(value) for key, value in properties.items()}}
    if required:
        schema["required"] = list(required)
    return _with(schema, description)


def _with(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description} if description else schema


# Node classes


def _ec2_node_class_spec(hop_limit: int) -> dict[str, Any]:
    subnet_term = _object({"tags": _map("All must match."), "id": _text(pattern="^subnet-[0-9a-z]+$")})
    group_term = _object({"tags": _map("All must match."), "id": _text(pattern="^sg-[0-9a-z]+$"), "name": _text()})
    image_term = _object(
        {
            "alias": _text("family@version, such as al2023@latest.", maxLength=30),
            "tags": _map("All must match."),
            "id": _text(pattern="^ami-[0-9a-z]+$"),
            "name": _text("Name of the image; wildcards are allowed."),
            "owner": _text("Account that owns the image, self or amazon."),
            "ssmParameter": _text("Systems Manager parameter that holds the image's id."),
        }
    )
    own = {
        "subnetSelectorTerms": _list(subnet_term, "Subnets for nodes; any term may match.", minItems=1, maxItems=30),
        "securityGroupSelectorTerms": _list(group_term, "Security groups of nodes.", minItems=1, maxItems=30),
        "amiSelectorTerms": _list(image_term, "Images for nodes; any term may match.", maxItems=30),
        "amiFamily": _text("Operating system of the images; not needed beside an alias.", enum=list(CLASS_FAMILIES)),
        "role": _text("IAM role of nodes; an instance profile is made for it."),
        "associatePublicIPAddress": _truth("Whether nodes get a public address; unset: as the subnet says."),
        "instanceStorePolicy": _text("RAID0 makes one disk of the local ones.", enum=["RAID0"]),
        "kubelet": {
            "type": "object",
            "description": "Settings of the kubelet.",
            "x-kubernetes-preserve-unknown-fields": True,
        },
        **_placement(),
        **_networking(),
    }
    required = ("subnetSelectorTerms", "securityGroupSelectorTerms")
    return _object({**own, **_common(hop_limit=hop_limit)}, "What nodes are made of.", required)


def _placement() -> dict[str, Any]:
    reservation_term = _object(
        {
            "tags": _map("All must match."),
            "id": _text(pattern="^cr-[0-9a-z]+$"),
            "ownerID": _text(pattern="^[0-9]{12}$"),
            "instanceMatchCriteria": _text(enum=["open", "targeted"]),
        }
    )
    group = {"name": _text(minLength=1), "id": _text(pattern="^pg-[0-9a-z]+$")}
    return {
        "capacityReservationSelectorTerms": _list(reservation_term, "Reservations that nodes may use.", maxItems=30),
        "placementGroupSelector": _object(group, "Placement group of nodes: its name or its id."),
        "cpuOptions": _object({"nestedVirtualization": _text(enum=["enabled", "disabled"])}, "Features of the CPU."),
    }


def _networking() -> dict[str, Any]:
    interface = _object(
        {
            "networkCardIndex": _integer(minimum=0),
            "deviceIndex": _integer(minimum=0),
            "interfaceType": _text(enum=["interface", "efa-only"]),
        },
        required=("networkCardIndex", "deviceIndex", "interfaceType"),
    )
    seconds = {"tcpEstablishedTimeout": (60, 432_000), "udpStreamTimeout": (60, 180), "udpTimeout": (30, 60)}
    tracking = {name: _integer("Seconds.", minimum=low, maximum=high) for name, (low, high) in seconds.items()}
    return {
        "networkInterfaces": _list(interface, "Network interfaces of nodes; one when unset.", maxItems=150),
        "ipPrefixCount": _integer("Address prefixes on each interface.", minimum=0),
        "connectionTracking": _object(tracking, "How long idle connections are remembered."),
    }


def _node_template_spec() -> dict[str, Any]:
    own = {
        "subnetSelector": _map("Tags of the subnets for nodes, or aws-ids."),
        "securityGroupSelector": _map("Tags of the security groups of nodes, or aws-ids."),
        "amiSelector": _map("Tags of the images for nodes, or aws-ids."),
        "amiFamily": _text("Operating system of the images; AL2 when unset.", enum=list(TEMPLATE_FAMILIES)),
        "launchTemplate": _text("Launch template of your own, by name; it excludes most other fields."),
    }
    return _object({**own, **_common(hop_limit=None)}, "What nodes are made of.")


def _common(*, hop_limit: int | None) -> dict[str, Any]:
    """Fields of all generations; with ``hop_limit`` the metadata options have defaults."""
    return {
        "instanceProfile": _text("IAM instance profile of nodes."),
        "userData": _text("Start-up script or settings, in the form that the image family takes."),
        "tags": _map("Tags of instances, volumes and network interfaces."),
        "context": _text("Passed on with each request for instances."),
        "detailedMonitoring": _truth("Whether CloudWatch gets figures each minute."),
        "metadataOptions": _metadata_options(hop_limit),
        "blockDeviceMappings": _list(_block_device(), "Volumes of nodes.", maxItems=50),
    }


def _metadata_options(hop_limit: int | None) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": hop_limit,
        "httpTokens": "required",
    }
    fields = {
        "httpEndpoint": _text(enum=["enabled", "disabled"]),
        "httpProtocolIPv6": _text(enum=["enabled", "disabled"]),
        "httpPutResponseHopLimit": _integer(minimum=1, maximum=64),
        "httpTokens": _text(enum=["required", "optional"]),
    }
    described = _object(fields, "How pods and nodes may reach the instance's metadata.")
    if hop_limit is None:
        return described
    members = {name: {**field, "default": defaults[name]} for name, field in fields.items()}
    return {**described, "properties": members, "default": defaults}


def _block_device() -> dict[str, Any]:
    size = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    ebs = {
        "volumeSize": {**size, "description": "Such as 100Gi."},
        "volumeType": _text(enum=list(VOLUME_TYPES)),
        "snapshotID": _text(),
        "volumeInitializationRate": _integer("MiB per second; with a snapshot only.", minimum=100, maximum=300),
        "iops": _integer(),
        "throughput": _integer("MiB per second."),
        "encrypted": _truth(),
        "deleteOnTermination": _truth(),
        "kmsKeyID": _text(),
    }
    return _object(
        {
            "deviceName": _text("Such as /dev/xvda."),
            "ebs": _object(ebs, "The volume."),
            "rootVolume": _truth("Whether kubelet's files lie on it."),
        }
    )


def _status() -> dict[str, Any]:
    requirement = _object({"key": _text(), "operator": _text(), "values": _list(_text())}, required=("key", "operator"))
    return _object(
        {
            "subnets": _list(_object({"id": _text(), "zone": _text(), "zoneID": _text()}, required=("id", "zone"))),
            "securityGroups": _list(_object({"id": _text(), "name": _text()}, required=("id",))),
            "amis": _list(
                _object(
                    {"id": _text(), "name": _text(), "deprecated": _truth(), "requirements": _list(requirement)},
                    required=("id",),
                )
            ),
            "instanceProfile": _text(),
            "conditions": _conditions(),
        },
        "What was found.",
    )


def _conditions() -> dict[str, Any]:
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
    return _list(condition, "Whether the class is ready to launch from, and why not.")
