"""Node classes of AKS, read into one `NodeClass`."""

from __future__ import annotations

from typing import Final

from karpy_azure.objects.aksnodeclass import AKS_NODE_CLASS, NodeClass, read_node_class

__all__ = ["NODE_CLASSES", "NodeClass", "read_node_class"]

NODE_CLASSES: Final = (AKS_NODE_CLASS,)
