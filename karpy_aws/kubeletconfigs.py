"""What the kubelet is told on machines of each instance type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.cloud.instancetype import InstanceType
from karpy_aws.bootstrap import kubelet_config
from karpy_aws.capacity import usual_pods
from karpy_aws.descriptions import TypeDescription
from karpy_aws.kubeletnumbers import type_facts
from karpy_aws.kubeletvalues import concrete_kubelet
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.templategroups import KubeletOf

__all__ = ["kubelet_configs"]


def kubelet_configs(
    node_class: NodeClass,
    setup: NodeSetup,
    descriptions: Mapping[str, TypeDescription],
    *,
    dns_ip: str = "",
    expressions: bool = False,
    tells_pods: bool = True,
) -> KubeletOf:
    """Says for a type what `karpy_aws.launchtemplates.launch_templates` groups types by: the same numbers that ``setup`` gave it.

    ``expressions`` is the feature gate NodeClassCEL. Without ``tells_pods`` the image finds out how many pods there is room for,
    unless the user names a number: so it was before EC2NodeClass.
    """
    family, unusable = setup.family, setup.reserved_enis + setup.efa_interfaces_on_first_card

    def config(instance_type: InstanceType) -> Mapping[str, Any]:
        """
        Raises:
            InvalidObject: an expression for the number of pods has no value on the type.
        """
        description = descriptions[instance_type.name]
        facts = type_facts(description, usual_pods(description, family, unusable))
        block = concrete_kubelet(node_class.kubelet, facts, expressions=expressions).block
        return kubelet_config(block, dns_ip=dns_ip, pods=instance_type.max_pods if tells_pods else None)

    return config
