"""`LaunchOrder`: one launch as it was decided on, before anything is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from karpy.cloud.instancetype import InstanceType
from karpy.errors import CreateFailed, NodeClassNotReady
from karpy.objects.meta import find_condition
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws.bootstrap import NodeBootstrap, node_labels, node_taints
from karpy_aws.choice import Choice, choose
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.tags import launch_tags
from karpy_aws.templatedata import TemplateSettings
from karpy_aws.templategroups import KubeletOf

__all__ = ["LaunchOrder", "check_ready", "order_launch"]

_READY: Final = "Ready"
_CUSTOM: Final = "Custom"


@attrs.frozen(kw_only=True)
class LaunchOrder:
    """What is launched, and all that its templates have in common."""

    claim: NodeClaim
    node_class: NodeClass
    choice: Choice
    settings: TemplateSettings
    kubelet_of: KubeletOf

    @property
    def tags(self) -> Mapping[str, str]:
        return self.settings.tags


def order_launch(
    claim: NodeClaim,
    node_class: NodeClass,
    types: Sequence[InstanceType],
    *,
    cluster: ClusterFacts,
    kubelet_of: KubeletOf,
    region: str,
    everywhere: Mapping[str, str] | None = None,
    sells_reserved: bool = True,
    strict_min_values: bool = True,
) -> LaunchOrder:
    """Decide on the launch of one of ``types`` for ``claim``; ``everywhere`` are tags of everything that is made.

    Raises:
        InsufficientCapacity: nothing will do.
        NodeClassNotReady: the class is not, or names a tag that only karpy may set.
        CreateFailed: the class may be ready soon.
    """
    check_ready(node_class)
    tags = launch_tags(node_class, cluster=cluster.name, pool=claim.pool, everywhere=everywhere)
    choice = choose(types, claim.requirements, claim.requests, strict_min_values=strict_min_values)
    is_custom = node_class.ami_family == _CUSTOM
    settings = TemplateSettings(
        node_class=node_class,
        region=region,
        bootstrap=NodeBootstrap(
            cluster=cluster,
            labels=node_labels(claim.labels, choice.capacity_type, custom_image=is_custom),
            taints=node_taints(claim.taints, claim.startup_taints),
        ),
        capacity_type=choice.capacity_type,
        tags=tags,
        requests=claim.requests,
        tenancy=choice.tenancy,
        partition=choice.partition,
        sells_reserved=sells_reserved,
    )
    return LaunchOrder(claim=claim, node_class=node_class, choice=choice, settings=settings, kubelet_of=kubelet_of)


def check_ready(node_class: NodeClass) -> None:
    """Nothing is launched from a class that was looked up and is not ready; one that was never looked up has nothing to say yet.

    Raises:
        NodeClassNotReady: it is not ready, or has changed since it was looked up.
        CreateFailed: it may be ready soon.
    """
    ready = find_condition(node_class.status.conditions, _READY)
    if ready is None or (ready.is_true and ready.observed_generation in (None, node_class.metadata.generation)):
        return
    if ready.is_true:
        raise NodeClassNotReady("nodeclass status has not been reconciled against the latest spec")
    if ready.status == "False":
        raise NodeClassNotReady(ready.message or ready.reason or f"nodeclass {node_class.name} is not ready")
    told = f"NodeClass is in Ready={ready.status or 'Unknown'}"
    raise CreateFailed(f"{told}: {ready.message}" if ready.message else told, "NodeClassReadinessUnknown")
