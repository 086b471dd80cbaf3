"""What a machine is started with, family by family and generation by generation, as files to read and to compare.

``python -m tests.karpy_aws.test_golden`` writes the files anew; the difference is then to be looked at.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.objects.kinds import PROVISIONER
from karpy.requirements import Requirement, Requirements
from karpy.resources import Resources
from karpy.taints import Taint
from karpy_aws.bootstrap import NodeBootstrap, kubelet_config, node_labels, node_taints
from karpy_aws.clusterfacts import ClusterFacts
from karpy_aws.launchtemplates import launch_templates
from karpy_aws.model import AWSModel
from karpy_aws.objects import read_node_class
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.status import AMI, NodeClassStatusFields, PlacementGroup, SecurityGroup
from karpy_aws.templatedata import TemplateSettings
from karpy_aws.testing.models import request_problems
from tests.karpy_aws.launchworld import decoded

GOLDEN = Path(__file__).parent / "golden"
TERMS = {"tags": {"karpenter.sh/discovery": "shop"}}
SELECTORS = {"subnetSelectorTerms": [TERMS], "securityGroupSelectorTerms": [TERMS], "role": "KarpenterNodeRole-shop"}
KUBELET = {"kubeReserved": {"memory": "1Gi", "cpu": "200m"}, "evictionHard": {"memory.available": "5%"}}


def ec2_node_class(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "web"},
        "spec": {**SELECTORS, **spec},
    }


def node_template(**spec: Any) -> dict[str, Any]:
    selectors = {name: {"karpenter.sh/discovery": "shop"} for name in ("subnetSelector", "securityGroupSelector")}
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "web"},
        "spec": {"instanceProfile": "KarpenterNodeInstanceProfile-shop", **selectors, **spec},
    }


def provisioner(**provider: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "web"},
        "spec": {"provider": {"instanceProfile": "KarpenterNodeInstanceProfile-shop", **provider}},
    }


ARCHIVE = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="BOUNDARY"

--BOUNDARY
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
echo before
--BOUNDARY--
"""
EVERYTHING = ec2_node_class(
    amiSelectorTerms=[{"alias": "al2023@latest"}],
    userData="#!/bin/bash\necho before\n",
    tags={"team": "web"},
    kubelet={**KUBELET, "clusterDNS": ["fd00::10"], "maxPods": 20, "podsPerCore": 5, "shutdownGracePeriod": "30s"},
    blockDeviceMappings=[
        {
            "deviceName": "/dev/xvda",
            "rootVolume": True,
            "ebs": {"volumeSize": "100G", "volumeType": "gp3", "iops": 4000},
        },
        {"deviceName": "/dev/xvdb", "ebs": {"snapshotID": "snap-1", "volumeInitializationRate": 200}},
    ],
    instanceStorePolicy="RAID0",
    networkInterfaces=[
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
    ],
    associatePublicIPAddress=False,
    ipPrefixCount=1,
    detailedMonitoring=True,
    metadataOptions={"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"},
    connectionTracking={"udpTimeout": 45},
    cpuOptions={"nestedVirtualization": "enabled"},
    placementGroupSelector={"name": "near"},
)
ALIASES = ("al2", "al2023", "bottlerocket", "windows2022")
CASES: Mapping[str, Mapping[str, Any]] = {
    **{
        f"v1-{alias}": ec2_node_class(amiSelectorTerms=[{"alias": f"{alias}@latest"}], kubelet=KUBELET)
        for alias in ALIASES
    },
    "v1-custom": ec2_node_class(amiFamily="Custom", amiSelectorTerms=[{"id": "ami-1"}], userData="#!/bin/sh\njoin\n"),
    "v1-everything": EVERYTHING,
    "v1alpha1-al2": node_template(userData=ARCHIVE),
    "v1alpha1-bottlerocket": node_template(
        amiFamily="Bottlerocket", userData='[settings.kubernetes.node-labels]\n"mine" = "yes"\n'
    ),
    "v1alpha1-ubuntu": node_template(amiFamily="Ubuntu"),
    "v1alpha5-inline": provisioner(),
}


@functools.cache
def model() -> AWSModel:
    return AWSModel()


def golden(case: str) -> str:
    """The request of CreateLaunchTemplate for an m5.large, user data by lines."""
    node_class = read_node_class(CASES[case])
    named = case == "v1-everything"
    status = NodeClassStatusFields(
        security_groups=(SecurityGroup("sg-1"), SecurityGroup("sg-2")),
        amis=(
            AMI(id="ami-1", name="image", requirements=Requirements([Requirement.in_("kubernetes.io/arch", "amd64")])),
        ),
        instance_profile=node_class.instance_profile or "shop-profile",
        placement_group=PlacementGroup("pg-1", "near", "partition") if named else None,
    )
    # older generations say on the Provisioner what the kubelet is told, and leave the number of pods to the image
    kubelet = node_class.kubelet or Kubelet.from_dict(KUBELET if "v1alpha" in case else {})
    pool = "karpenter.sh/provisioner-name" if "v1alpha" in case else "karpenter.sh/nodepool"
    instance_type = model().instance_types().by_name("m5.large")
    assert instance_type is not None
    cluster = ClusterFacts(
        name="shop",
        endpoint="https://shop.example.com",
        ca_bundle="Y2E=",
        service_cidr="10.100.0.0/16",
        dns_ip="fd00::a" if named else "10.100.0.10",
    )
    settings = TemplateSettings(
        node_class=attrs.evolve(node_class, status=status),
        region="us-west-2",
        bootstrap=NodeBootstrap(
            cluster=cluster,
            labels=node_labels({pool: "web"}, "spot", custom_image=node_class.ami_family == "Custom"),
            taints=node_taints([Taint("team", "web", "NoSchedule")], []),
        ),
        capacity_type="spot",
        tags={"kubernetes.io/cluster/shop": "owned", pool: "web", **(node_class.tags or {})},
        requests=Resources({"cpu": 1_000}),
        tenancy="dedicated" if named else "default",
        partition=2 if named else None,
    )
    config = kubelet_config(kubelet, dns_ip=cluster.dns_ip, pods=None if "v1alpha" in case else instance_type.max_pods)
    (template,) = launch_templates([instance_type], settings, lambda _: config)
    assert template.request is not None
    assert request_problems("ec2", "CreateLaunchTemplate", template.request) == ""
    request = decoded(template.request)
    request["LaunchTemplateData"]["UserData"] = request["LaunchTemplateData"]["UserData"].split("\n")
    return json.dumps(request, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.aws("AWS-156", "AWS-162", "AWS-170", "AWS-184", "AWS-186", "AWS-246")
@pytest.mark.parametrize("case", CASES)
def test_machines_are_started_as_written_down(case: str) -> None:
    assert golden(case) == (GOLDEN / f"{case}.json").read_text()


def test_every_file_has_its_case() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.json")) == sorted(CASES)
    assert CASES["v1alpha5-inline"]["kind"] == PROVISIONER.kind


if __name__ == "__main__":
    for name in CASES:
        (GOLDEN / f"{name}.json").write_text(golden(name))
