"""AWSNodeTemplate (``karpenter.k8s.aws/v1alpha1``): the first node class of its own, selectors as maps of tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karpy.errors import InvalidObject
from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta, Wire, decode
from karpy.objects.nodepool import at
from karpy_aws.objects.checks import check_block_devices, check_metadata_options, filled_map, matches, one_of
from karpy_aws.objects.nodeclass import BlockDeviceMapping, MetadataOptions, NodeClass, SelectorTerm
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["AWS_NODE_TEMPLATE", "read_node_template"]

AWS_NODE_TEMPLATE: Final = Kind(
    "karpenter.k8s.aws", "v1alpha1", "AWSNodeTemplate", "awsnodetemplates", namespaced=False
)
FAMILIES: Final = ("AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Custom")
_ID_KEYS: Final = ("aws-ids", "aws::ids")
_NAME_KEY: Final = "aws::name"
_OWNERS_KEY: Final = "aws::owners"


class NodeTemplateSpec(Wire, frozen=True):
    """The AWS block, as a template's ``spec`` or inline in a Provisioner."""

    ami_family: str | None = None
    ami_selector: dict[str, str] | None = None
    subnet_selector: dict[str, str] | None = None
    security_group_selector: dict[str, str] | None = None
    instance_profile: str | None = None
    launch_template: str | None = None
    metadata_options: MetadataOptions | None = None
    block_device_mappings: tuple[BlockDeviceMapping, ...] | None = None
    user_data: str | None = None
    tags: dict[str, str] | None = None
    context: str | None = None
    detailed_monitoring: bool | None = None


class _NodeTemplate(Wire, frozen=True):
    metadata: ObjectMeta
    spec: NodeTemplateSpec = NodeTemplateSpec()
    status: dict[str, Any] | None = None


def read_node_template(data: Mapping[str, Any]) -> NodeClass:
    """Read an AWSNodeTemplate.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    wire = decode(data, _NodeTemplate)
    _check(wire.spec)
    return build(wire.metadata, AWS_NODE_TEMPLATE, wire.spec, wire.status)


def build(
    metadata: ObjectMeta, origin: Kind, spec: NodeTemplateSpec, status: Mapping[str, Any] | None = None
) -> NodeClass:
    """The internal model of a checked block."""
    return NodeClass(
        name=metadata.name,
        origin=origin,
        metadata=metadata,
        subnet_selector_terms=_terms(spec.subnet_selector, splits_values=True),
        security_group_selector_terms=_terms(spec.security_group_selector, splits_values=True),
        ami_selector_terms=_terms(spec.ami_selector),
        ami_family=spec.ami_family or "AL2",
        user_data=spec.user_data,
        instance_profile=spec.instance_profile,
        launch_template=spec.launch_template or "",
        tags=spec.tags,
        block_device_mappings=spec.block_device_mappings,
        detailed_monitoring=spec.detailed_monitoring,
        metadata_options=spec.metadata_options,
        context=spec.context,
        status=at("status", NodeClassStatusFields.from_dict, status or {}),
    )


def check_block(spec: NodeTemplateSpec, path: str) -> None:
    """The rules for every field that a template and an inline provider share."""
    one_of(f"{path}.amiFamily", spec.ami_family, FAMILIES)
    if spec.ami_family == "Custom" and not spec.ami_selector:
        raise InvalidObject("family Custom needs an image", path=f"{path}.amiSelector", accepted="tags or aws-ids")
    _check_selector(f"{path}.amiSelector", spec.ami_selector, "ami-[0-9a-z]+")
    _check_selector(f"{path}.subnetSelector", spec.subnet_selector, "subnet-[0-9a-z]+")
    _check_selector(f"{path}.securityGroupSelector", spec.security_group_selector, "sg-[0-9a-z]+")
    if any(not key for key in spec.tags or ()):
        raise InvalidObject("a tag has an empty key", path=f"{path}.tags", accepted="non-empty keys")
    check_metadata_options(f"{path}.metadataOptions", spec.metadata_options)
    check_block_devices(f"{path}.blockDeviceMappings", spec.block_device_mappings or ())
    if spec.launch_template:
        _check_alone(spec, path)


def _check(spec: NodeTemplateSpec) -> None:
    if not spec.subnet_selector:
        raise InvalidObject("no subnets are selected", path="spec.subnetSelector", accepted="tags or aws-ids")
    if not spec.security_group_selector and not spec.launch_template:
        raise InvalidObject(
            "no security groups are selected", path="spec.securityGroupSelector", accepted="tags or aws-ids"
        )
    check_block(spec, "spec")


def _check_alone(spec: NodeTemplateSpec, path: str) -> None:
    """A launch template of the user's own says all that these fields would."""
    beside = {
        "securityGroupSelector": spec.security_group_selector,
        "metadataOptions": spec.metadata_options,
        "amiFamily": spec.ami_family,
        "instanceProfile": spec.instance_profile,
        "blockDeviceMappings": spec.block_device_mappings,
        "userData": spec.user_data,
        "amiSelector": spec.ami_selector,
    }
    for field, value in beside.items():
        if value is not None:
            raise InvalidObject(
                "launchTemplate is set beside it",
                path=f"{path}.{field}",
                accepted="either launchTemplate or this field",
            )


def _check_selector(path: str, selector: Mapping[str, str] | None, id_pattern: str) -> None:
    if selector is None:
        return
    filled_map(path, selector)
    for key in _ID_KEYS:
        for identifier in _commas(selector.get(key, "")):
            matches(f"{path}.{key}", identifier, id_pattern)


def _terms(selector: Mapping[str, str] | None, *, splits_values: bool = False) -> tuple[SelectorTerm, ...]:
    """One term, since all entries of the map must hold; ids, image names and owners multiply it.

    A comma in a subnet's or security group's tag value separates alternatives; each becomes a term.
    """
    if not selector:
        return ()
    ids = [identifier for key in _ID_KEYS for identifier in _commas(selector.get(key, ""))]
    names, owners = _commas(selector.get(_NAME_KEY, "")), _commas(selector.get(_OWNERS_KEY, ""))
    special = {*_ID_KEYS, _NAME_KEY, _OWNERS_KEY}
    tag_sets: list[dict[str, str]] = [{}]
    for key, value in selector.items():
        if key not in special:
            choices = _commas(value) if splits_values else [value]
            tag_sets = [{**tags, key: choice} for tags in tag_sets for choice in choices]
    return tuple(
        SelectorTerm(tags or None, identifier or None, name or None, owner or None)
        for tags in tag_sets
        for identifier in ids or [""]
        for name in names or [""]
        for owner in owners or [""]
    )


def _commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
