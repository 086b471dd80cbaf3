"""Node classes of one API generation as those of another; what cannot be carried over is told, never dropped in silence.

The generations, oldest first: the inline provider of a Provisioner (``v1alpha5``), AWSNodeTemplate (``v1alpha1``), EC2NodeClass
``v1beta1`` and ``v1``. Nothing here talks to a cluster: manifests in, manifests out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER
from karpy.objects.meta import describe
from karpy_aws.conversion.ec2nodeclass import from_unchecked, newer_node_class, older_node_class
from karpy_aws.conversion.nodetemplate import (
    node_class_of_template,
    template_of_provisioner,
    unchecked_node_class,
    without_inline_provider,
)
from karpy_aws.conversion.notes import NO_FACTS, ConversionFacts, Converted, Note
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE

__all__ = [
    "ConversionFacts",
    "Converted",
    "Note",
    "newer_node_class",
    "node_class_of_template",
    "older_node_class",
    "template_of_provisioner",
    "to_v1",
    "without_inline_provider",
]


def to_v1(manifest: Mapping[str, Any], facts: ConversionFacts = NO_FACTS) -> Converted:
    """The EC2NodeClass v1 that says what a node class of any generation says.

    Raises:
        InvalidObject: the manifest is no node class of EC2, or cannot be read.
    """
    kind, version = manifest.get("kind"), str(manifest.get("apiVersion", "")).rpartition("/")[2]
    if kind == PROVISIONER.kind:
        template = template_of_provisioner(manifest, facts)
        kubelet = manifest["spec"].get("kubeletConfiguration")
        return _from_template(template.manifest, facts, kubelet).after(template.notes)
    if kind == AWS_NODE_TEMPLATE.kind:
        return _from_template(manifest, facts, None)
    if kind == EC2_NODE_CLASS.kind:
        return newer_node_class(manifest) if version == "v1beta1" else Converted(manifest=manifest)
    raise InvalidObject(
        f"{kind!r} is no node class of EC2",
        path="kind",
        object_name=describe(manifest),
        accepted=", ".join(known.kind for known in (EC2_NODE_CLASS, AWS_NODE_TEMPLATE, PROVISIONER)),
    )


def _from_template(template: Mapping[str, Any], facts: ConversionFacts, kubelet: Mapping[str, Any] | None) -> Converted:
    beta = unchecked_node_class(template, facts)
    return from_unchecked(beta.manifest, kubelet).after(beta.notes)
