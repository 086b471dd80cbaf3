"""EC2NodeClass (``karpenter.k8s.aws/v1`` and ``v1beta1``): selectors as lists of terms.

Both versions bear one name, so the fields of a manifest decide, not the version that it was served as.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects.kinds import Kind
from karpy.objects.meta import Integer, ObjectMeta, Wire, decode
from karpy.objects.nodepool import at
from karpy_aws.objects.checks import check_block_devices, check_metadata_options, filled_map, matches, one_of
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
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["EC2_NODE_CLASS", "decode_ec2_node_class", "read_ec2_node_class"]

EC2_NODE_CLASS: Final = Kind("karpenter.k8s.aws", "v1", "EC2NodeClass", "ec2nodeclasses", namespaced=False)
FAMILIES: Final = (
    "AL2",
    "AL2023",
    "Bottlerocket",
    "Ubuntu",
    "Windows2019",
    "Windows2022",
    "Windows2025",
    "Custom",
)
_ALIAS_FAMILIES: Final = {name.lower(): name for name in FAMILIES if name not in ("Ubuntu", "Custom")}
_MAX_TERMS: Final = 30
_MAX_TAGS: Final = 20
_OVERRULED: Final = "ssmParameter"
"""Karpenter lets it stand beside an id or an alias, which win."""
_RESTRICTED_TAGS: Final = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
_RESTRICTED_TAG_PREFIX: Final = "kubernetes.io/cluster"


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


def read_ec2_node_class(data: Mapping[str, Any]) -> NodeClass:
    """Read an EC2NodeClass of v1 or v1beta1, and check it.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    spec = decode(data, _EC2NodeClass).spec
    _SUBNETS.check(spec.subnet_selector_terms)
    _GROUPS.check(spec.security_group_selector_terms)
    if spec.ami_selector_terms or spec.ami_family is None:
        _IMAGES.check(spec.ami_selector_terms)
    _check_family(spec)
    _check_identity(spec)
    _check_tags(spec.tags or {})
    check_metadata_options("spec.metadataOptions", spec.metadata_options)
    check_block_devices("spec.blockDeviceMappings", spec.block_device_mappings or ())
    one_of("spec.instanceStorePolicy", spec.instance_store_policy, ("RAID0",))
    return decode_ec2_node_class(data)


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
    return _ALIAS_FAMILIES.get(alias.partition("@")[0].lower(), "Custom")


@attrs.frozen
class _TermRule:
    """What the terms of one selector may say: ``fields`` identify a thing, those in ``alone`` do so without any other."""

    path: str
    fields: tuple[str, ...]
    alone: tuple[str, ...]
    id_pattern: str
    companions: tuple[str, ...] = ()

    def check(self, terms: Sequence[SelectorTerm]) -> None:
        if not 1 <= len(terms) <= _MAX_TERMS:
            raise InvalidObject(f"there are {len(terms)} terms", path=self.path, accepted=f"1 to {_MAX_TERMS} terms")
        for index, term in enumerate(terms):
            self._check_term(f"{self.path}[{index}]", term)
        if len(terms) > 1 and any(term.alias for term in terms):
            raise InvalidObject("an alias stands beside other terms", path=self.path, accepted="the alias alone")

    def _check_term(self, path: str, term: SelectorTerm) -> None:
        said = {field: value for field, value in msgspec.to_builtins(term).items() if value is not None}
        accepted = ", ".join(self.fields)
        for field in said:
            if field not in (*self.fields, *self.companions):
                raise InvalidObject("it has no meaning here", path=f"{path}.{field}", accepted=accepted)
        if term.tags is not None:
            _check_term_tags(f"{path}.tags", term.tags)
        if not any(said.get(field) for field in self.fields):
            raise InvalidObject("the term names nothing", path=path, accepted=f"one of {accepted}")
        for field in self.alone:
            others = sorted(said.keys() - {field, _OVERRULED})
            if field in said and others:
                raise InvalidObject(f"{', '.join(others)} stands beside {field}", path=path, accepted=f"{field} alone")
        if term.id is not None:
            matches(f"{path}.id", term.id, self.id_pattern)


_SUBNETS: Final = _TermRule("spec.subnetSelectorTerms", ("tags", "id"), ("id",), "subnet-[0-9a-z]+")
_GROUPS: Final = _TermRule("spec.securityGroupSelectorTerms", ("tags", "id", "name"), ("id", "name"), "sg-[0-9a-z]+")
_IMAGES: Final = _TermRule(
    "spec.amiSelectorTerms",
    ("alias", "tags", "id", "name", "ssmParameter"),
    ("alias", "id"),
    "ami-[0-9a-z]+",
    companions=("owner",),
)


def _check_term_tags(path: str, tags: Mapping[str, str]) -> None:
    if not tags:
        raise InvalidObject("it is empty, which would match everything", path=path, accepted="tags")
    if len(tags) > _MAX_TAGS:
        raise InvalidObject(f"there are {len(tags)} tags", path=path, accepted=f"at most {_MAX_TAGS}")
    filled_map(path, tags)


def _check_family(spec: _Spec) -> None:
    one_of("spec.amiFamily", spec.ami_family, FAMILIES)
    alias = next((term.alias for term in spec.ami_selector_terms if term.alias), None)
    if alias is None:
        if spec.ami_family is None:
            raise InvalidObject(
                "it is needed when no alias is given", path="spec.amiFamily", accepted=", ".join(FAMILIES)
            )
        if spec.ami_family == "Custom" and not spec.ami_selector_terms:
            raise InvalidObject(
                "family Custom needs an image", path="spec.amiSelectorTerms", accepted="at least one term"
            )
        return
    path = "spec.amiSelectorTerms[0].alias"
    matches(path, alias, "[a-zA-Z0-9]+@[^@]+")
    name, _, version = alias.partition("@")
    family = _ALIAS_FAMILIES.get(name.lower())
    if family is None:
        raise InvalidObject(f"{alias!r} names no family", path=path, accepted=", ".join(_ALIAS_FAMILIES))
    if family.startswith("Windows") and version != "latest":
        raise InvalidObject(f"{alias!r} pins a version", path=path, accepted=f"{name}@latest")
    if spec.ami_family not in (None, family, "Custom"):
        raise InvalidObject(
            f"{spec.ami_family!r} does not match alias {alias!r}", path="spec.amiFamily", accepted=f"{family} or Custom"
        )


def _check_identity(spec: _Spec) -> None:
    for field, value in (("role", spec.role), ("instanceProfile", spec.instance_profile)):
        if value == "":
            raise InvalidObject("it is empty", path=f"spec.{field}", accepted="a name")
    if (spec.role is None) == (spec.instance_profile is None):
        found = "neither is" if spec.role is None else "both are"
        raise InvalidObject(f"role, instanceProfile: {found} set", path="spec", accepted="exactly one of the two")


def _check_tags(tags: Mapping[str, str]) -> None:
    for key in tags:
        if not key:
            raise InvalidObject("a tag has an empty key", path="spec.tags", accepted="non-empty keys")
        if key in _RESTRICTED_TAGS or key.startswith(_RESTRICTED_TAG_PREFIX):
            raise InvalidObject(f"tag {key!r} is set by karpy itself", path="spec.tags", accepted="other keys")
