"""Node classes of all generations, read into one `NodeClass`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from karpy.errors import InvalidObject, shown
from karpy.objects.kinds import PROVISIONER
from karpy.objects.meta import describe
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS, decode_ec2_node_class, read_ec2_node_class, spec_schema
from karpy_aws.objects.inlineprovider import read_inline_provider
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE, read_node_template
from karpy_aws.objects.nodetemplateschema import inline_provider_spec, node_template_spec
from karpy_aws.objects.schema import Schema
from karpy_aws.objects.schemacheck import Violation, unknown_fields, violations
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = [
    "NODE_CLASSES",
    "Kubelet",
    "NodeClass",
    "NodeClassStatusFields",
    "decode_ec2_node_class",
    "node_class_unknown_fields",
    "node_class_violations",
    "read_node_class",
]

T = TypeVar("T")

NODE_CLASSES: Final = (EC2_NODE_CLASS, AWS_NODE_TEMPLATE, PROVISIONER)
"""The kinds that a pool may refer to; the first is the default. A Provisioner is one through its inline ``provider``."""

_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], NodeClass]]] = {
    EC2_NODE_CLASS.kind: read_ec2_node_class,
    AWS_NODE_TEMPLATE.kind: read_node_template,
    PROVISIONER.kind: read_inline_provider,
}


def read_node_class(data: Mapping[str, Any]) -> NodeClass:
    """Read a node class of any generation, and check it.

    Raises:
        InvalidObject: naming the object, the field path, what was found and what is accepted.
    """
    try:
        return _of_kind(data, _READERS)(data)
    except InvalidObject as error:
        raise error.at(object_name=error.object_name or describe(data)) from None


def node_class_violations(data: Mapping[str, Any]) -> tuple[Violation, ...]:
    """All that is wrong with the fields of a node class, its kubelet block apart; reading tells the first of them only.

    Raises:
        InvalidObject: the object is no node class at all.
    """
    path, spec, schema = _of_kind(data, _SCHEMAS)(data)
    return violations(spec, schema, path)


def node_class_unknown_fields(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of fields that an API server would drop without a word.

    Raises:
        InvalidObject: the object is no node class at all.
    """
    path, spec, schema = _of_kind(data, _SCHEMAS)(data)
    return unknown_fields(spec, schema, path)


_Judged = tuple[str, Any, Schema]


def _judged_inline(data: Mapping[str, Any]) -> _Judged:
    spec = data.get("spec")
    provider = spec.get("provider") if isinstance(spec, Mapping) else None
    return "spec.provider", provider or {}, inline_provider_spec()


_SCHEMAS: Final[Mapping[str, Callable[[Mapping[str, Any]], _Judged]]] = {
    EC2_NODE_CLASS.kind: lambda data: ("spec", data.get("spec") or {}, spec_schema(data)),
    AWS_NODE_TEMPLATE.kind: lambda data: ("spec", data.get("spec") or {}, node_template_spec()),
    PROVISIONER.kind: _judged_inline,
}


def _of_kind(data: Mapping[str, Any], by_kind: Mapping[str, T]) -> T:
    kind = data.get("kind")
    found = by_kind.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise InvalidObject(
            f"{shown(kind)} is no node class of EC2",
            path="kind",
            object_name=describe(data),
            accepted=", ".join(known.kind for known in NODE_CLASSES),
        )
    return found
