"""`AzureModel`: what karpy knows of Azure without talking to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes
from karpy.cloud.provider import NodeClassStatus, RawNodeClass
from karpy.errors import InvalidObject
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodePool
from karpy.requirements import Requirements
from karpy_azure import crds, labels
from karpy_azure.catalog import REGION, build_instance_types, load_catalog
from karpy_azure.labels import AZURE_LABELS
from karpy_azure.objects import NODE_CLASSES, NodeClass, read_node_class

__all__ = ["AzureModel"]

SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"
NODE_RESOURCE_GROUP: Final = f"MC_karpy_karpy_{REGION}"
_IMAGE_VERSION: Final = "202408.21.0"
_GALLERIES: Final = {
    "Ubuntu": "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2",
    "AzureLinux": "AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b",
}
_DEFINITIONS: Final = {
    "Ubuntu": ("2204gen2containerd", "2204containerd", "2204gen2arm64containerd"),
    "Ubuntu2204": ("2204gen2containerd", "2204containerd", "2204gen2arm64containerd"),
    "Ubuntu2404": ("2404gen2containerd", "2404containerd", "2404gen2arm64containerd"),
    "AzureLinux": ("V2gen2", "V2", "V2gen2arm64"),
}
"""Image definitions of each family, for the three kinds of hardware below."""
_HARDWARE: Final = (("amd64", "2"), ("amd64", "1"), ("arm64", "2"))


class AzureModel:
    """Azure as a `karpy.cloud.model.CloudModel`: one region with dated list prices and synthetic spot prices."""

    @property
    def name(self) -> str:
        return "azure"

    @property
    def labels(self) -> LabelSpec:
        return AZURE_LABELS

    @property
    def node_classes(self) -> Sequence[Kind]:
        return NODE_CLASSES

    def crds(self) -> Sequence[Mapping[str, Any]]:
        return crds.crds()

    def instance_types(self) -> InstanceTypes:
        return self._instance_types

    @cached_property
    def _instance_types(self) -> InstanceTypes:
        return build_instance_types(load_catalog(), NODE_RESOURCE_GROUP)

    def default_requirements(self, pool: NodePool) -> Requirements:
        """Nothing: a pool that leaves the capacity type open gets spot machines too, as AKS's own provider has it."""
        del pool
        return Requirements()

    def resolve(self, node_class: RawNodeClass) -> NodeClassStatus:
        """Whether the node class can be read; its status names the images that it stands for."""
        try:
            read = read_node_class(node_class)
        except InvalidObject as error:
            return NodeClassStatus(False, "ValidationFailed", str(error))
        return NodeClassStatus(True, status={"images": _images(read)})

    def provider_id(self, serial: int, zone: str, claim: str = "") -> str:
        """The machine's resource id; machines are named after their claim, or by ``serial`` where that is not given.

        >>> AzureModel().provider_id(1, "eastus-1", "default-abcde").rpartition("/")[2]
        'aks-default-abcde'
        """
        del zone  # resource ids do not tell it
        group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{NODE_RESOURCE_GROUP.lower()}"
        return f"azure://{group}/providers/Microsoft.Compute/virtualMachines/{self.node_name(serial, claim or f'{serial:05d}')}"

    def node_name(self, serial: int, claim: str) -> str:
        """Machine, network interface, disk and node share one name."""
        del serial
        return f"aks-{claim}"


def _images(node_class: NodeClass) -> list[dict[str, Any]]:
    family = node_class.image_family
    gallery = _GALLERIES["AzureLinux" if family == "AzureLinux" else "Ubuntu"]
    version = node_class.image_version or _IMAGE_VERSION
    return [
        {
            "id": f"/CommunityGalleries/{gallery}/images/{definition}/versions/{version}",
            "requirements": [
                {"key": core.ARCH, "operator": "In", "values": [arch]},
                {"key": labels.SKU_HYPERV_GENERATION, "operator": "In", "values": [generation]},
            ],
        }
        for definition, (arch, generation) in zip(_DEFINITIONS[family], _HARDWARE, strict=True)
    ]
