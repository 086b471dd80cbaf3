from __future__ import annotations

from typing import Any

import attrs
import pytest
import yaml

from karpy.errors import InvalidObject, NodeClassNotReady
from karpy_aws.bootstrap import NodeBootstrap, user_data
from karpy_aws.bootstrap.mime import SHELL, read_parts
from karpy_aws.clusterfacts import ClusterFacts

NODE = NodeBootstrap(
    cluster=ClusterFacts(name="shop", endpoint="https://shop.example.com", service_cidr="10.100.0.0/16")
)
CONFIG = "application/node.eks.aws"


def parts(node: NodeBootstrap) -> list[tuple[str, str]]:
    return [(dict(part.headers)["Content-Type"], part.body) for part in read_parts(user_data("AL2023", node))]


def kubelet(node: NodeBootstrap) -> Any:
    return yaml.safe_load(parts(node)[-1][1])["spec"]["kubelet"]


@pytest.mark.aws("AWS-167")
def test_the_whole_kubelet_block_is_passed_on() -> None:
    said = {"maxPods": 5, "evictionSoftGracePeriod": {"memory.available": "90s"}, "featureGates": {"X": True}}
    assert kubelet(attrs.evolve(NODE, kubelet=said)) == {"config": said}


@pytest.mark.aws("AWS-170")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("kind: NodeConfig\nspec: {}\n", CONFIG),
        ('{"spec": {}}', CONFIG),
        ("echo hello", SHELL),
        ("made: 2026-02-31\n", CONFIG),
        ("- a\n- b\n", SHELL),
        ("[" * 10_000, SHELL),
        ("[settings\nx = ", SHELL),
        ('#!/bin/bash\ncurl -H "accept: text"\n', SHELL),
        ("#!/bin/bash\n# nothing but: a comment\n", SHELL),
    ],
)
def test_text_is_a_config_where_it_is_a_mapping_and_else_a_script(text: str, kind: str) -> None:
    assert parts(attrs.evolve(NODE, user_data=text))[0] == (kind, text)


@pytest.mark.aws("AWS-170")
def test_karpys_config_is_the_last_so_that_it_holds() -> None:
    mine = "kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 3}}}\n"
    assert [kind for kind, _ in parts(attrs.evolve(NODE, user_data=mine))] == [CONFIG, CONFIG]
    assert kubelet(attrs.evolve(NODE, user_data=mine, kubelet={"maxPods": 58}))["config"]["maxPods"] == 58


def test_an_archive_that_breaks_off_is_refused() -> None:
    with pytest.raises(InvalidObject, match=r"spec\.userData"):
        user_data(
            "AL2023",
            attrs.evolve(NODE, user_data='MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B'),
        )


@pytest.mark.aws("AWS-171")
def test_nodes_cannot_join_while_the_services_addresses_are_not_known() -> None:
    with pytest.raises(NodeClassNotReady, match="eks:DescribeCluster"):
        user_data("AL2023", attrs.evolve(NODE, cluster=ClusterFacts(name="shop", endpoint="https://shop.example.com")))


@pytest.mark.aws("AWS-169")
def test_local_disks_are_joined() -> None:
    (part,) = parts(attrs.evolve(NODE, instance_store_policy="RAID0"))
    assert yaml.safe_load(part[1])["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}
