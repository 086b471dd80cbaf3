"""`NodeBootstrap`: all that a machine is told so that it becomes a node, whatever its image family makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.objects.kinds import Kind
from karpy.taints import UNREGISTERED, Taint, merge_taints
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.kubelet import Kubelet

__all__ = ["NodeBootstrap", "kubelet_config", "node_labels", "node_taints"]

RAID0: Final = "RAID0"
_KEPT_BY_ADMISSION: Final = ("kubernetes.io", "k8s.io", "node-restriction.kubernetes.io")
"""A kubelet may not give its own node labels of these domains, nor of those below them."""


@attrs.frozen(kw_only=True)
class NodeBootstrap:
    """What user data is made of. ``kubelet`` is the block of the API with all that was left open filled in."""

    cluster: ClusterFacts
    labels: Mapping[str, str] = attrs.field(factory=dict)
    taints: tuple[Taint, ...] = ()
    kubelet: Mapping[str, Any] = attrs.field(factory=dict)
    instance_store_policy: str | None = None
    user_data: str = ""
    """The user's own, in the form that the family takes."""
    origin: Kind = EC2_NODE_CLASS
    """The kind of the node class: older generations say some things in other words."""
    container_runtime: str = ""
    """Older generations only; empty leaves it to the image."""
    image_version: str = ""
    """As the alias or the image's name tells it (``latest``, ``v1.46.0``); empty where nothing does."""

    @property
    def joins_local_disks(self) -> bool:
        return self.instance_store_policy == RAID0

    @property
    def dns_ips(self) -> tuple[str, ...]:
        return tuple(self.kubelet.get("clusterDNS") or ())


def node_labels(claim_labels: Mapping[str, str], capacity_type: str, *, custom_image: bool = False) -> dict[str, str]:
    """The labels that a node registers with; karpy adds the others once it is there.

    A node of a custom image may register without karpy's taint, so that its taints are still to be added.
    """
    wanted = {**claim_labels, core.CAPACITY_TYPE: capacity_type}
    if not custom_image:
        wanted[core.DO_NOT_SYNC_TAINTS] = "true"
    return {key: wanted[key] for key in sorted(wanted) if not _is_kept_by_admission(key)}


def _is_kept_by_admission(key: str) -> bool:
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and any(domain == kept or domain.endswith(f".{kept}") for kept in _KEPT_BY_ADMISSION)


def node_taints(taints: Iterable[Taint], startup_taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """The taints that a node registers with: the claim's, and the one that keeps pods off until karpy has seen it."""
    return merge_taints([*taints, *startup_taints], [UNREGISTERED])


def kubelet_config(kubelet: Kubelet | None, *, dns_ip: str = "", pods: int | None = None) -> dict[str, Any]:
    """The kubelet block as a machine gets it: what the user wrote, expressions worked out, and what they left open filled in.

    ``kubelet`` is the block made concrete for the machine (`karpy_aws.kubeletvalues`). ``pods`` is how many there is room for:
    the limit where the user names none; None, in older generations, leaves it to the image.
    """
    config = dict(kubelet.raw) if kubelet else {}
    if not config.get("clusterDNS") and dns_ip:
        config["clusterDNS"] = [dns_ip]
    if config.get("maxPods") is None and pods is not None:
        config["maxPods"] = pods
    return {name: value for name, value in config.items() if value not in ({}, None)}
