"""EC2NodeClass (``karpenter.k8s.aws/v1`` and ``v1beta1``): selectors as lists of terms.

Both versions bear one name and are served from one stored object, so what a manifest says decides, not only the version that
it was served as: what v1 would never have let in was written as v1beta1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karpy.objects.kinds import Kind
from karpy.objects.meta import Integer, ObjectMeta, Wire, decode
from karpy.objects.nodepool import at
from karpy_aws.objects.ec2nodeclassschema import ec2_node_class_spec
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.nodeclass import (
    BlockDeviceMapping,
    CapacityReservationTerm,
    ConnectionTracking,
    CpuOptions,
    MetadataOptions,
    NetworkInterface,
    NodeClass,
    PlacementGroupSelector,
    SelectorTerm,
)
from karpy_aws.objects.schema import Schema
from karpy_aws.objects.schemacheck import violations, with_defaults
from karpy_aws.objects.selectorschema import ALIAS_FAMILIES
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["EC2_NODE_CLASS", "decode_ec2_node_class", "read_ec2_node_class", "spec_schema"]

EC2_NODE_CLASS: Final = Kind("karpenter.k8s.aws", "v1", "EC2NodeClass", "ec2nodeclasses", namespaced=False)
_OLDER: Final = "karpenter.k8s.aws/v1beta1"


class _Spec(Wire, frozen=True):
    subnet_selector_terms: tuple[SelectorTerm, ...] = ()
    security_group_selector_terms: tuple[SelectorTerm, ...] = ()
    ami_selector_terms: tuple[SelectorTerm, ...] = ()
    capacity_reservation_selector_terms: tuple[CapacityReservationTerm, ...] = ()
    placement_group_selector: PlacementGroupSelector | None = None
    ami_family: str | None = None
    user_data: str | None = None
    role: str | None = None
    instance_profile: str | None = None
    tags: dict[str, str] | None = None
    kubelet: dict[str, Any] | None = None
    block_device_mappings: tuple[BlockDeviceMapping, ...] | None = None
    instance_store_policy: str | None = None
    network_interfaces: tuple[NetworkInterface, ...] | None = None
    associate_public_ip_address: bool | None = msgspec.field(name="associatePublicIPAddress", default=None)
    ip_prefix_count: Integer | None = None
    detailed_monitoring: bool | None = None
    metadata_options: MetadataOptions | None = None
    connection_tracking: ConnectionTracking | None = None
    context: str | None = None
    cpu_options: CpuOptions | None = None


class _EC2NodeClass(Wire, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()
    status: dict[str, Any] | None = None


def spec_schema(data: Mapping[str, Any]) -> Schema:
    """The schema that the manifest was written for."""
    spec = data.get("spec")
    family_alone = isinstance(spec, Mapping) and spec.get("amiFamily") and spec.get("amiSelectorTerms") is None
    ubuntu = isinstance(spec, Mapping) and spec.get("amiFamily") == "Ubuntu"
    is_older = data.get("apiVersion") == _OLDER or family_alone or ubuntu
    return ec2_node_class_spec("v1beta1" if is_older else "v1")


def read_ec2_node_class(data: Mapping[str, Any]) -> NodeClass:
    """Read an EC2NodeClass of v1 or v1beta1: check it, and fill in what its version does.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    schema, spec = spec_schema(data), data.get("spec") or {}
    for violation in violations(spec, schema, "spec"):
        raise violation.error()
    return decode_ec2_node_class({**data, "spec": with_defaults(spec, schema)})


def decode_ec2_node_class(data: Mapping[str, Any]) -> NodeClass:
    """The value of an object that the API server let in: its rules are not checked again, only that it can be read.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    wire = decode(data, _EC2NodeClass)
    spec = wire.spec
    return NodeClass(
        name=wire.metadata.name,
        origin=EC2_NODE_CLASS,
        metadata=wire.metadata,
        subnet_selector_terms=spec.subnet_selector_terms,
        security_group_selector_terms=spec.security_group_selector_terms,
        ami_selector_terms=spec.ami_selector_terms,
        capacity_reservation_selector_terms=spec.capacity_reservation_selector_terms,
        placement_group_selector=spec.placement_group_selector,
        ami_family=_family(spec),
        user_data=spec.user_data,
        role=spec.role or "",
        instance_profile=spec.instance_profile,
        tags=spec.tags,
        kubelet=None if spec.kubelet is None else at("spec.kubelet", Kubelet.from_dict, spec.kubelet),
        block_device_mappings=spec.block_device_mappings,
        instance_store_policy=spec.instance_store_policy,
        network_interfaces=spec.network_interfaces,
        associate_public_ip_address=spec.associate_public_ip_address,
        ip_prefix_count=spec.ip_prefix_count,
        detailed_monitoring=spec.detailed_monitoring,
        metadata_options=spec.metadata_options,
        connection_tracking=spec.connection_tracking,
        context=spec.context,
        cpu_options=spec.cpu_options,
        status=at("status", NodeClassStatusFields.from_dict, wire.status or {}),
    )


def _family(spec: _Spec) -> str:
    """The image family: as ``amiFamily`` says, or as the alias does."""
    if spec.ami_family:
        return spec.ami_family
    alias = next((term.alias for term in spec.ami_selector_terms if term.alias), "")
    return ALIAS_FAMILIES.get(alias.partition("@")[0], "Custom")
