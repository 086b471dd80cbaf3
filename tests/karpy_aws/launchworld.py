"""What a machine of an EC2 conformance vector is started with, and launch data as the vectors write them."""

from __future__ import annotations

import base64
import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import yaml

from karpy import labels as core
from karpy.cloud.instancetype import InstanceTypes
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws import labels
from karpy_aws.bootstrap import NodeBootstrap, node_labels, node_taints
from karpy_aws.bootstrap.mime import is_archive, read_parts
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.descriptions import TypeDescription, read_description
from karpy_aws.kubeletconfigs import kubelet_configs
from karpy_aws.kubeletnumbers import type_facts
from karpy_aws.kubeletrules import is_expression
from karpy_aws.kubeletvalues import concrete_kubelet
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.objects import Kubelet, NodeClass, decode_ec2_node_class
from karpy_aws.placementgroups import placement_group_request, read_placement_group
from karpy_aws.templatedata import TemplateSettings
from karpy_aws.templategroups import KubeletOf
from tests.karpy_aws.vectorworld import catalog, instance_types, setup

HEAD = "# Karpenter Generated NodeConfig"
"""A NodeConfig of Karpenter's, rather than one of the user's."""


@attrs.frozen
class Launch:
    """One vector's launch, up to its launch templates."""

    node_class: NodeClass
    claim: NodeClaim
    options: Mapping[str, Any]
    world: Mapping[str, Any]
    shared: Path

    @classmethod
    def of(cls, line: Mapping[str, Any], shared: Path) -> Launch:
        node_class = decode_ec2_node_class(line["nodeClass"])
        world = line["world"]
        if node_class.placement_group_selector is not None:
            request = placement_group_request(node_class.placement_group_selector)
            names, ids = request.get("GroupNames", ()), request.get("GroupIds", ())
            named = [
                each
                for each in world.get("placementGroups", ())
                if each["GroupName"] in names or each["GroupId"] in ids
            ]
            group = read_placement_group([{"PlacementGroups": named}])
            node_class = attrs.evolve(node_class, status=attrs.evolve(node_class.status, placement_group=group))
        return cls(node_class, NodeClaim.from_dict(line["nodeClaim"]), line["options"], world, shared)

    @property
    def cluster(self) -> ClusterFacts:
        options = self.options
        dns_ip = options.get("kubeDNSIP", "10.100.0.10")
        return ClusterFacts(
            name=options.get("clusterName", "karpy-test"),
            endpoint=options.get("clusterEndpoint", "https://ABCDEF.gr7.us-west-2.eks.amazonaws.com"),
            ca_bundle=options.get("caBundle", "Y2EtYnVuZGxl"),
            service_cidr=options.get("clusterCIDR", "10.100.0.0/16"),
            dns_ip="" if dns_ip == "none" else dns_ip,
        )

    def bootstrap(self, capacity_type: str) -> NodeBootstrap:
        custom = self.node_class.ami_family == "Custom"
        return NodeBootstrap(
            cluster=self.cluster,
            labels=node_labels(self.claim.labels, capacity_type, custom_image=custom),
            taints=node_taints(self.claim.taints, self.claim.startup_taints),
        )

    def settings(self, capacity_type: str) -> TemplateSettings:
        tenancy = self.claim.requirements.get(labels.INSTANCE_TENANCY)
        partition = self.claim.requirements.get(labels.PLACEMENT_GROUP_PARTITION)
        return TemplateSettings(
            node_class=self.node_class,
            region=self.options.get("region", "us-west-2"),
            bootstrap=self.bootstrap(capacity_type),
            capacity_type=capacity_type,
            tags={
                **(self.node_class.tags or {}),
                "kubernetes.io/cluster/karpy-test": "owned",
                "karpenter.sh/nodepool": self.claim.pool,
                "eks:eks-cluster-name": "karpy-test",
                labels.NODE_CLASS: self.node_class.name,
            },
            requests=self.claim.requests,
            tenancy="dedicated" if tenancy is not None and not tenancy.has("default") else "default",
            partition=min(map(int, partition.values)) if partition is not None else None,
            sells_reserved=self.options.get("reservedCapacity", True),
        )

    @property
    def setup(self) -> NodeSetup:
        return setup(self.node_class, self.options)

    def types(self) -> InstanceTypes:
        return instance_types(self.shared, self.world, self.setup, region=self.options.get("region", ""))

    @property
    def kubelet_of(self) -> KubeletOf:
        return kubelet_configs(
            self.node_class,
            self.setup,
            descriptions(self.shared),
            dns_ip=self.cluster.dns_ip,
            expressions=self.options.get("nodeClassCEL", False),
        )

    @property
    def tells_expressions(self) -> bool:
        """Whether Karpenter hands the kubelet expressions that have no value, and which it would not start with.

        Such a class is not ready, so that nothing is launched from it; karpy leaves them out all the same.
        """
        kubelet, described = self.node_class.kubelet, descriptions(self.shared)
        if kubelet is None or self.node_class.ami_family == "Custom":
            return False
        if not self.options.get("nodeClassCEL"):
            return has_reserved_expressions(kubelet)
        facts = [type_facts(described[name], 0) for name in self.world["instanceTypes"]]
        return any(concrete_kubelet(kubelet, each, expressions=True).problems for each in facts)


def has_reserved_expressions(kubelet: Kubelet) -> bool:
    reserved = (("kubeReserved", kubelet.kube_reserved), ("systemReserved", kubelet.system_reserved))
    return any(is_expression(field, text) for field, entries in reserved for text in (entries or {}).values())


@functools.cache
def descriptions(shared: Path) -> Mapping[str, TypeDescription]:
    """The catalog's types by name."""
    return {name: read_description(entry) for name, entry in catalog(shared)["described"].items()}


def meaning(family: str, text: str) -> Any:
    """User data by its meaning: YAML and TOML as values, archives part by part, scripts as they are."""
    if family == "Bottlerocket":
        return tomllib.loads(text)
    if family == "AL2023" and is_archive(text):
        return [_part(headers.headers, headers.body) for headers in read_parts(text)]
    return text


def _part(headers: Any, body: str) -> Any:
    is_own = body.startswith((HEAD, "# Generated by karpy"))
    return headers, yaml.safe_load(body) if is_own else body


def decoded(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request of CreateLaunchTemplate as the vectors write it: user data as text."""
    data = request["LaunchTemplateData"]
    return {**request, "LaunchTemplateData": {**data, "UserData": base64.b64decode(data.get("UserData", "")).decode()}}


def content(family: str, request: Mapping[str, Any]) -> Any:
    """What a request makes, by its meaning and whatever its name."""
    data = request["LaunchTemplateData"]
    by_meaning = {**data, "UserData": meaning(family, data.get("UserData", ""))}
    return without_empty({**request, "LaunchTemplateData": by_meaning, "LaunchTemplateName": None})


def without_empty(value: Any) -> Any:
    """Without nulls, empty texts, lists and maps, with tags sorted."""
    if isinstance(value, Mapping):
        kept = {key: without_empty(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in (None, "", [], {}) or each is False or each == 0}
    if isinstance(value, list):
        items = [without_empty(each) for each in value]
        if items and all(isinstance(each, dict) and "Key" in each for each in items):
            return sorted(items, key=lambda tag: str(tag["Key"]))
        return items
    return value


def capacity_type_of(line: Mapping[str, Any]) -> str:
    """The capacity type that Karpenter launched as: its fleets say so."""
    fleets = line["expect"]["fleets"]
    kinds = {"spot": core.SPOT, "on-demand": core.ON_DEMAND}
    said = fleets[0]["TargetCapacitySpecification"]["DefaultTargetCapacityType"] if fleets else "on-demand"
    return kinds.get(said, core.RESERVED)
