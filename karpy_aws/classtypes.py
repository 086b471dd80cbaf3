"""`ClassTypes`: the instance types as a node class gets them, and what its kubelets are told on each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import attrs

from karpy.cloud.instancetype import InstanceTypes
from karpy_aws.capacity import usual_pods
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.discovery import Problem
from karpy_aws.families import FAMILIES
from karpy_aws.kubeletcheck import KubeletFinding, check_kubelet
from karpy_aws.kubeletconfigs import kubelet_configs
from karpy_aws.kubeletnumbers import type_facts
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.sales import Sales
from karpy_aws.settings import AWSSettings
from karpy_aws.templategroups import KubeletOf

__all__ = ["ClassTypes"]

_MOST: Final = 256


class ClassTypes:
    """``ensure_known`` is called before types are asked for: it raises while EC2 has not told yet what it sells."""

    def __init__(
        self,
        sales: Sales,
        settings: AWSSettings,
        ensure_known: Callable[[], object],
        *,
        reserved_capacity: bool = True,
    ) -> None:
        self._sales = sales
        self._settings = settings
        self._ensure_known = ensure_known
        self._reserved_capacity = reserved_capacity
        self._lock = threading.Lock()
        self._setups: dict[int, tuple[NodeClass, NodeSetup]] = {}

    def types(self, node_class: NodeClass) -> InstanceTypes:
        """The same object while nothing changed.

        Raises:
            NodeClassNotReady: the class has no subnets.
            ProviderError: EC2 has not told yet what it sells.
        """
        self._ensure_known()
        return self._sales.types(self._setup(node_class))

    def kubelet_of(self, node_class: NodeClass, cluster: ClusterFacts) -> KubeletOf:
        """What the kubelets of each type are told. Before EC2NodeClass the image found out how many pods there is room for."""
        return kubelet_configs(
            node_class,
            self._setup(node_class),
            self._sales.described,
            dns_ip=cluster.dns_ip,
            expressions=self._settings.node_class_cel,
            tells_pods=node_class.origin == EC2_NODE_CLASS,
        )

    def kubelet_problem(self, node_class: NodeClass) -> Problem | None:
        """What is wrong with the class's kubelet block. Only one with expressions needs the instance types.

        Raises:
            ProviderError: EC2 has not told yet what it sells.
        """
        finding = self._kubelet_finding(node_class)
        if finding is not None and finding.waits:
            self._ensure_known()
            finding = self._kubelet_finding(node_class)
        return None if finding is None else Problem(finding.reason, finding.message, may_pass=finding.waits)

    def _kubelet_finding(self, node_class: NodeClass) -> KubeletFinding | None:
        family, unusable = FAMILIES[node_class.ami_family], self._settings.reserved_enis
        types = (type_facts(each, usual_pods(each, family, unusable)) for each in self._sales.described.values())
        return check_kubelet(node_class, expressions=self._settings.node_class_cel, types=types)

    def _setup(self, node_class: NodeClass) -> NodeSetup:
        """Made once for each value of a class. Subnets are by id in it: in a status they are by free addresses, so that their order
        changes with every launch, and all types would be built anew."""
        known = self._setups.get(id(node_class))
        if known is not None and known[0] is node_class:
            return known[1]
        made = NodeSetup.of(
            node_class,
            expressions=self._settings.node_class_cel,
            memory_overhead_percent=self._settings.vm_memory_overhead_percent,
            reserved_enis=self._settings.reserved_enis,
            sells_reserved=self._reserved_capacity,
        )
        made = attrs.evolve(made, subnets=tuple(sorted(made.subnets, key=lambda subnet: subnet.id)))
        with self._lock:
            self._setups[id(node_class)] = node_class, made
            if len(self._setups) > _MOST:
                del self._setups[next(iter(self._setups))]
        self._sales.learn_zones(made.zones)
        return made
