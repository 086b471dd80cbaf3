"""`PoolKubelets`: node classes with the kubelet block of a pool, as pools of the generations before v1 had one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.labels import KUBELET_CONVERSION
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.nodeclass import NodeClass

__all__ = ["PoolKubelets"]

_MOST: Final = 256


class PoolKubelets:
    """Gives the same value again for the same class and block, so that what was made of it is found again. Safe from threads.

    The block of a pool counts instead of its class's, as it does in Karpenter.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[tuple[int, bytes], tuple[NodeClass, NodeClass]] = {}

    def of_pool(self, node_class: NodeClass, pool: NodePool) -> NodeClass:
        """The class for machines of a pool.

        Raises:
            InvalidObject: the pool's block cannot be read.
        """
        return self._with(node_class, pool.kubelet) if pool.kubelet else node_class

    def of_claim(self, node_class: NodeClass, claim: NodeClaim) -> NodeClass:
        """The class for the machine of a claim, which bears the block of its pool.

        Raises:
            InvalidObject: the block cannot be read.
        """
        text = (claim.metadata.annotations or {}).get(KUBELET_CONVERSION, "")
        return self._with(node_class, _block(text)) if text else node_class

    def _with(self, node_class: NodeClass, block: Mapping[str, Any]) -> NodeClass:
        key = id(node_class), msgspec.json.encode(block, order="sorted")
        with self._lock:
            known = self._made.get(key)
        if known is not None and known[0] is node_class:
            return known[1]
        made = attrs.evolve(node_class, kubelet=Kubelet.from_dict(dict(block)))
        with self._lock:
            self._made[key] = node_class, made
            if len(self._made) > _MOST:
                del self._made[next(iter(self._made))]
        return made


def _block(text: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        path = f"metadata.annotations[{KUBELET_CONVERSION}]"
        raise InvalidObject(str(error), path=path, accepted="a kubelet block as JSON") from None
    return found
