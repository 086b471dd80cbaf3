"""What changes the hash of a node class, and what does not; and that it is the digest that Karpenter would compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karpy_aws.objects import decode_ec2_node_class
from karpy_aws.objects.hashing import (
    HASH_ANNOTATION,
    HASH_VERSION,
    HASH_VERSION_ANNOTATION,
    adopted_hash,
    hash_annotations,
    kubelet_json,
    legacy_instance_profile,
    static_hash,
)
from tests import vectors

DISK: dict[str, Any] = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", "volumeType": "gp3"}}
BASE: dict[str, Any] = {
    "role": "nodes",
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "blockDeviceMappings": [DISK],
    "kubelet": {"maxPods": 10},
}


def digest(ca_bundle: str = "", /, **spec: Any) -> str:
    given = {"metadata": {"name": "default"}, "spec": {**BASE, **spec}}
    return static_hash(decode_ec2_node_class(given), ca_bundle)


@pytest.mark.aws("AWS-088")
def test_every_recorded_digest_comes_out(shared: Path) -> None:
    wrong = []
    for line in vectors.read(shared, "aws/nodeclass_hash.jsonl"):
        read, expected = decode_ec2_node_class(line["nodeClass"]), line["expect"]
        found = {
            "hash": static_hash(read, line["caBundle"]),
            "version": HASH_VERSION,
            "amiFamily": read.ami_family,
            "kubeletString": kubelet_json(read),
            "legacyInstanceProfileName": legacy_instance_profile("karpy-test", "us-west-2", read.name),
        }
        if found != expected:
            wrong.append((line["name"], found, expected))
    assert wrong == []


@pytest.mark.aws("AWS-088", "AWS-219")
@pytest.mark.parametrize(
    "changed",
    [
        {"userData": "#!/bin/sh"},
        {"role": "others"},
        {"instanceProfile": "others"},
        {"tags": {"team": "a"}},
        {"kubelet": {"maxPods": 11}},
        {"kubelet": {"maxPods": 10, "maxParallelImagePulls": 2}},
        {"blockDeviceMappings": []},
        {"blockDeviceMappings": [{**DISK, "rootVolume": True}]},
        *(
            {"blockDeviceMappings": [{**DISK, "ebs": {**DISK["ebs"], field: value}}]}
            for field, value in {
                "volumeSize": "21Gi",
                "volumeType": "gp2",
                "snapshotID": "snap-1",
                "volumeInitializationRate": 100,
                "iops": 3000,
                "throughput": 125,
                "encrypted": False,
                "deleteOnTermination": False,
                "kmsKeyID": "key",
            }.items()
        ),
        {"instanceStorePolicy": "RAID0"},
        {"networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}]},
        {"associatePublicIPAddress": False},
        {"detailedMonitoring": False},
        {"metadataOptions": {"httpTokens": "optional"}},
        {"connectionTracking": {"udpTimeout": 30}},
        {"context": "reserved"},
        {"cpuOptions": {"nestedVirtualization": "enabled"}},
        {"placementGroupSelector": {"name": "close"}},
        {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]},
    ],
    ids=str,
)
def test_what_calls_for_new_nodes_changes_it(changed: dict[str, Any]) -> None:
    assert digest(**changed) != digest()


@pytest.mark.aws("AWS-088", "AWS-220")
@pytest.mark.parametrize(
    "changed",
    [
        {"subnetSelectorTerms": [{"id": "subnet-1"}]},
        {"securityGroupSelectorTerms": [{"id": "sg-1"}]},
        {"capacityReservationSelectorTerms": [{"id": "cr-1"}]},
        {"amiSelectorTerms": [{"alias": "al2023@v20260801"}]},
        {"amiFamily": "AL2023"},
        {"ipPrefixCount": 2},
        {"blockDeviceMappings": [{**DISK, "ebs": {"volumeType": "gp3", "volumeSize": "20480Mi"}}]},
    ],
    ids=str,
)
def test_what_is_looked_up_on_the_machines_does_not(changed: dict[str, Any]) -> None:
    assert digest(**changed) == digest()


@pytest.mark.aws("AWS-088")
def test_nodes_that_trust_another_authority_drift() -> None:
    assert digest("one") != digest("another") != digest("")


@pytest.mark.aws("AWS-088")
@given(st.permutations([("a", "1"), ("b", "2"), ("c", "3")]), st.permutations(["/dev/xvda", "/dev/xvdb", "/dev/xvdc"]))
def test_the_order_of_tags_and_disks_does_not_matter(tags: list[tuple[str, str]], disks: list[str]) -> None:
    mappings = [{**DISK, "deviceName": name} for name in disks]
    ordered = digest(tags=dict(sorted(tags)), blockDeviceMappings=sorted(mappings, key=lambda each: each["deviceName"]))
    assert digest(tags=dict(tags), blockDeviceMappings=mappings) == ordered


@pytest.mark.aws("AWS-088")
def test_swapped_kubelet_values_do_not_collide() -> None:
    swapped = [{"kubeReserved": {"cpu": a, "memory": b}} for a, b in (("1", "2"), ("2", "1"))]
    assert digest(kubelet=swapped[0]) != digest(kubelet=swapped[1])


CLASS = hash_annotations(decode_ec2_node_class({"metadata": {"name": "default"}, "spec": BASE}))
OLDER = {HASH_ANNOTATION: "1", HASH_VERSION_ANNOTATION: "v5"}


@pytest.mark.aws("AWS-089")
def test_a_claim_with_a_hash_of_an_older_version_adopts_that_of_its_class() -> None:
    assert {**OLDER, **adopted_hash(OLDER, CLASS, is_drifted=False)} == CLASS


@pytest.mark.aws("AWS-089")
def test_a_drifted_claim_keeps_its_hash() -> None:
    assert adopted_hash(OLDER, CLASS, is_drifted=True) == {HASH_VERSION_ANNOTATION: HASH_VERSION}


@pytest.mark.aws("AWS-089")
def test_a_claim_of_the_same_version_is_left_alone() -> None:
    assert adopted_hash({**CLASS, HASH_ANNOTATION: "1"}, CLASS, is_drifted=False) == {}
    assert adopted_hash({}, {}, is_drifted=False) == {}
