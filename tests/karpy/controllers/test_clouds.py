"""Two clouds in one cluster: each pool buys from its own, and labels of one mean nothing to the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import karpy_aws
import karpy_azure
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodeClassRef
from karpy.operator import Operator
from karpy.sim.world import World
from tests.karpy.controllers.stage import Silence
from tests.karpy.sim.manifests import QUICK, bare_pod, event_reasons

EC2 = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "role": "nodes",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}],
    },
}
AKS = {
    "apiVersion": "karpenter.azure.com/v1alpha2",
    "kind": "AKSNodeClass",
    "metadata": {"name": "default"},
    "spec": {"imageFamily": "Ubuntu2204"},
}


def old_pool(name: str, family_key: str, family: str) -> dict[str, Any]:
    """A v1beta1 pool: its node class has a name and nothing else."""
    requirements = [{"key": family_key, "operator": "In", "values": [family]}]
    template = {"spec": {"nodeClassRef": {"name": "default"}, "requirements": requirements}}
    return {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": template},
    }


ON_EC2 = old_pool("on-ec2", "karpenter.k8s.aws/instance-family", "m5")
ON_AKS = old_pool("on-aks", "karpenter.azure.com/sku-family", "D")


def both_clouds(*objects: Mapping[str, Any], aws_first: bool = True) -> tuple[World, Operator]:
    models = (karpy_aws.cloud_model(), karpy_azure.cloud_model())
    world = World(models=models if aws_first else models[::-1], timing=QUICK)
    operator = Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence())
    world.install(operator)
    world.apply([EC2, AKS, *objects])
    world.run(5)
    return world, operator


def names(world: World, kind: Kind) -> list[str]:
    return [obj["metadata"]["name"] for obj in world.api.list(kind).items]


def test_a_pod_that_asks_for_a_label_of_another_cloud_is_refused() -> None:
    world, _ = both_clouds(ON_EC2)
    world.apply(
        [
            bare_pod("other", nodeSelector={"karpenter.azure.com/sku-memory": "16384"}),
            bare_pod("own", nodeSelector={"karpenter.k8s.aws/instance-size": "large"}),
        ]
    )
    world.run(60)
    assert world.api.get(kinds.POD, "other", "default")["status"]["phase"] == "Pending"
    assert "FailedScheduling" in event_reasons(world, "other")
    assert "Nominated" not in event_reasons(world, "other")
    assert world.api.get(kinds.POD, "own", "default")["status"]["phase"] == "Running"
    assert len(names(world, kinds.NODE_CLAIM)) == 1


def test_a_bare_node_class_name_means_the_cloud_whose_labels_the_pool_asks_for() -> None:
    for aws_first in (True, False):
        _, operator = both_clouds(ON_EC2, ON_AKS, aws_first=aws_first)
        found = {pool.name: pool.node_class for pool in operator.state.pools()}
        assert found["on-ec2"] == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
        assert (found["on-aks"].group, found["on-aks"].kind) == ("karpenter.azure.com", "AKSNodeClass")


def test_each_pool_buys_from_its_own_cloud() -> None:
    world, _ = both_clouds(ON_EC2, ON_AKS)
    world.apply([bare_pod(f"p-{name}", nodeSelector={"karpenter.sh/nodepool": name}) for name in ("on-ec2", "on-aks")])
    world.run(60)
    bought = {
        node["metadata"]["labels"]["karpenter.sh/nodepool"]: node["spec"]["providerID"].partition(":")[0]
        for node in world.api.list(kinds.NODE).items
    }
    assert bought == {"on-ec2": "aws", "on-aks": "azure"}
