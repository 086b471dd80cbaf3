"""The tags of what a launch makes: the user's own, and those by which karpy finds its machines again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karpy import labels as core
from karpy.errors import NodeClassNotReady
from karpy.objects.kinds import PROVISIONER
from karpy_aws import labels
from karpy_aws.machines import CLUSTER_NAME_TAG, NAME_TAG, NODE_CLAIM_TAG
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.ec2nodeclassschema import is_restricted_tag
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.templatedata import tag_list

__all__ = ["launch_tags", "tag_specifications"]

_OWNED: Final = "owned"
_TAGGED: Final = ("instance", "volume", "fleet")


def launch_tags(
    node_class: NodeClass, *, cluster: str, pool: str, everywhere: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What machines, their volumes, interfaces and fleets are tagged with.

    ``everywhere`` are the tags that settings of 0.25 want on everything. Machines of older generations bear the tags of their day
    beside those that all machines are found by.

    Raises:
        NodeClassNotReady: the class names a tag that only karpy may set.
    """
    found_by = {
        f"kubernetes.io/cluster/{cluster}": _OWNED,
        core.NODEPOOL: pool,
        CLUSTER_NAME_TAG: cluster,
        labels.NODE_CLASS: node_class.name,
    }
    own = node_class.tags or {}
    if node_class.origin == EC2_NODE_CLASS:
        restricted = sorted(filter(is_restricted_tag, own))
        if restricted:
            raise NodeClassNotReady(f"spec.tags: only karpy may set {', '.join(restricted)}")
        return {**own, **found_by}
    return {**_older_tags(node_class, cluster, pool), **(everywhere or {}), **own, **found_by}


def _older_tags(node_class: NodeClass, cluster: str, pool: str) -> dict[str, str]:
    if node_class.origin == PROVISIONER:
        return {
            NAME_TAG: f"karpenter.sh/cluster/{cluster}/provisioner/{pool}",
            f"karpenter.sh/cluster/{cluster}": _OWNED,
        }
    return {NAME_TAG: f"{core.PROVISIONER_NAME}/{pool}", core.PROVISIONER_NAME: pool}


def tag_specifications(tags: Mapping[str, str], claim: str) -> list[dict[str, Any]]:
    """The tags as a fleet hands them on. The machine alone bears its claim's name, so that it is known from its first moment."""
    return [
        {"ResourceType": kind, "Tags": tag_list({**tags, NODE_CLAIM_TAG: claim} if kind == "instance" else tags)}
        for kind in _TAGGED
    ]
