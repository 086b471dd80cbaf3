"""Node classes of all generations, read into one `NodeClass`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER
from karpy.objects.meta import describe
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS, decode_ec2_node_class, read_ec2_node_class
from karpy_aws.objects.inlineprovider import read_inline_provider
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.nodetemplate import AWS_NODE_TEMPLATE, read_node_template
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = ["NODE_CLASSES", "Kubelet", "NodeClass", "NodeClassStatusFields", "decode_ec2_node_class", "read_node_class"]

NODE_CLASSES: Final = (EC2_NODE_CLASS, AWS_NODE_TEMPLATE, PROVISIONER)
"""The kinds that a pool may refer to; the first is the default. A Provisioner is one through its inline ``provider``."""

_READERS: Final = {
    EC2_NODE_CLASS.kind: read_ec2_node_class,
    AWS_NODE_TEMPLATE.kind: read_node_template,
    PROVISIONER.kind: read_inline_provider,
}


def read_node_class(data: Mapping[str, Any]) -> NodeClass:
    """Read a node class of any generation.

    Raises:
        InvalidObject: naming the object, the field path, what was found and what is accepted.
    """
    reader = _READERS.get(data.get("kind", ""))
    if reader is None:
        raise InvalidObject(
            f"{data.get('kind')!r} is no node class of EC2",
            path="kind",
            object_name=describe(data),
            accepted=", ".join(kind.kind for kind in NODE_CLASSES),
        )
    try:
        return reader(data)
    except InvalidObject as error:
        raise error.at(object_name=error.object_name or describe(data)) from None
