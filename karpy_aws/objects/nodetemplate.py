"""AWSNodeTemplate (``karpenter.k8s.aws/v1alpha1``): the first node class of its own, selectors as maps of tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta, Wire, decode
from karpy.objects.nodepool import at
from karpy_aws.objects.nodeclass import BlockDeviceMapping, MetadataOptions, NodeClass, SelectorTerm
from karpy_aws.objects.nodetemplateschema import ID_KEYS, NAME_KEY, OWNERS_KEY, node_template_spec
from karpy_aws.objects.schemacheck import violations
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["AWS_NODE_TEMPLATE", "decode_node_template", "read_node_template", "selector_terms"]

AWS_NODE_TEMPLATE: Final = Kind(
    "karpenter.k8s.aws", "v1alpha1", "AWSNodeTemplate", "awsnodetemplates", namespaced=False
)


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
    """Read an AWSNodeTemplate, and check it.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    for violation in violations(data.get("spec") or {}, node_template_spec(), "spec"):
        raise violation.error()
    return decode_node_template(data)


def decode_node_template(data: Mapping[str, Any]) -> NodeClass:
    """The value of an object that the API server let in: its rules are not checked again, only that it can be read.

    Raises:
        InvalidObject: naming the field path, what was found and what is accepted.
    """
    wire = decode(data, _NodeTemplate)
    return build(wire.metadata, AWS_NODE_TEMPLATE, wire.spec, wire.status)


def build(
    metadata: ObjectMeta, origin: Kind, spec: NodeTemplateSpec, status: Mapping[str, Any] | None = None
) -> NodeClass:
    """The internal model of a checked block."""
    return NodeClass(
        name=metadata.name,
        origin=origin,
        metadata=metadata,
        subnet_selector_terms=selector_terms(spec.subnet_selector, splits_values=True),
        security_group_selector_terms=selector_terms(spec.security_group_selector, splits_values=True),
        ami_selector_terms=selector_terms(spec.ami_selector),
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


def selector_terms(selector: Mapping[str, str] | None, *, splits_values: bool = False) -> tuple[SelectorTerm, ...]:
    """One term, since all entries of the map must hold; ids, image names and owners multiply it.

    A comma in a subnet's or security group's tag value separates alternatives; each becomes a term.
    """
    if not selector:
        return ()
    ids = [identifier for key in ID_KEYS for identifier in _commas(selector.get(key, ""))]
    names, owners = _commas(selector.get(NAME_KEY, "")), _commas(selector.get(OWNERS_KEY, ""))
    special = {*ID_KEYS, NAME_KEY, OWNERS_KEY}
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
