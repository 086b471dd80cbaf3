"""How pods are, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from karpy import labels
from karpy.gauges import PODS_STATE
from karpy.metrics import Reading
from karpy.objects.pod import Pod
from karpy.state.snapshot import NodeView

__all__ = ["read_pods"]

_OF_NODE = (
    ("nodepool", labels.NODEPOOL),
    ("zone", labels.ZONE),
    ("arch", labels.ARCH),
    ("capacity_type", labels.CAPACITY_TYPE),
    ("instance_type", labels.INSTANCE_TYPE),
)


def read_pods(pods: Iterable[Pod], nodes: Iterable[NodeView]) -> Iterator[Reading]:
    """One reading for each pod."""
    of_nodes = {
        view.node.name: {
            **{name: view.node.labels.get(key, "") for name, key in _OF_NODE},
            "managed": "true" if view.is_managed else "false",
        }
        for view in nodes
        if view.node is not None
    }
    nowhere: Mapping[str, str] = {"managed": "false"}
    for pod in pods:
        metadata, node = pod.metadata, pod.spec.node_name
        said = {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "owner": _owner(pod),
            "node": node,
            "scheduled": "true" if node else "false",
            "phase": pod.status.phase,
            "ready": "true" if pod.is_ready else "false",
        }
        yield Reading(PODS_STATE, 1.0, {**said, **of_nodes.get(node, nowhere)})


def _owner(pod: Pod) -> str:
    """Where the API has the first of its owners."""
    if not pod.metadata.owner_references:
        return ""
    owner, namespace = pod.metadata.owner_references[0], pod.metadata.namespace
    return f"/apis/{owner.api_version}/namespaces/{namespace}/{owner.kind.lower()}s/{owner.name}"
