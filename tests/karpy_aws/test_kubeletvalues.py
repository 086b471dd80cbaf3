"""A kubelet block on one instance type; and the condition of a class whose block does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy.quantity import Quantity
from karpy_aws import kubeletcheck
from karpy_aws.kubeletcheck import check_kubelet
from karpy_aws.kubeletvalues import ConcreteKubelet, TypeFacts, concrete_kubelet
from karpy_aws.objects import NodeClass, decode_ec2_node_class
from karpy_aws.objects.kubelet import Kubelet
from tests import vectors

LARGE = TypeFacts(instance_type="m5.2xlarge", vcpus=8, memory_mib=32_768, default_enis=4, ips_per_eni=15, max_pods=58)


def concrete(block: dict[str, Any], *, expressions: bool = True) -> ConcreteKubelet:
    return concrete_kubelet(Kubelet.from_dict(block), LARGE, expressions=expressions)


def test_without_a_block_nothing_is_said() -> None:
    found = concrete_kubelet(None, LARGE, expressions=True)
    assert (found.max_pods, found.block.raw, found.problems) == (None, {}, ())


@pytest.mark.aws("AWS-059")
def test_amounts_are_rounded_up_to_steps_in_the_unit_of_their_resource() -> None:
    block = {
        "kubeReserved": {
            "cpu": "vcpus * 7",
            "memory": "255 + 11 * max_pods",
            "ephemeral-storage": "double(vcpus) / 3.0",
            "pid": "max_pods * 10",
        }
    }
    assert concrete(block).block.kube_reserved == {
        "cpu": "60m",
        "memory": "896Mi",
        "ephemeral-storage": "2Gi",
        "pid": "580",
    }


@pytest.mark.aws("AWS-060")
@pytest.mark.parametrize(("max_pods", "memory"), [(42, "48Mi"), ("vcpus * 4", "32Mi"), (None, "64Mi")])
def test_reserved_amounts_see_how_many_pods_there_will_be(max_pods: object, memory: str) -> None:
    block = {"maxPods": max_pods, "systemReserved": {"memory": "max_pods"}}
    assert concrete(block).block.system_reserved == {"memory": memory}


def test_what_needs_no_computing_stays_as_it_is() -> None:
    block = {"maxPods": 30, "kubeReserved": {"cpu": "100m"}, "seccompDefault": True}
    assert concrete(block).block.raw == block


@pytest.mark.aws("AWS-057")
def test_with_the_gate_off_expressions_count_as_not_said() -> None:
    found = concrete({"maxPods": "vcpus", "kubeReserved": {"cpu": "vcpus", "memory": "1Gi"}}, expressions=False)
    assert (found.max_pods, found.block.raw, found.problems) == (None, {"kubeReserved": {"memory": "1Gi"}}, ())


@pytest.mark.aws("AWS-056")
@pytest.mark.parametrize("expression", ["vcpus - 1000", "vcpus / 0", "3000000000", "nope", "vcpus > 2"])
def test_pods_without_a_number_fail(expression: str) -> None:
    with pytest.raises(InvalidObject, match=r"spec\.kubelet\.maxPods: .*m5\.2xlarge.*accepted: an expression"):
        concrete({"maxPods": expression})


@pytest.mark.aws("AWS-056")
def test_a_reserved_amount_without_a_value_is_left_out_and_told() -> None:
    found = concrete({"kubeReserved": {"cpu": "0 - vcpus", "memory": "vcpus * 16 + 1", "pid": "vcpus / 0"}})
    assert found.block.kube_reserved == {"memory": "144Mi"}
    assert found.problems == (
        "spec.kubelet.kubeReserved[cpu]: '0 - vcpus' for m5.2xlarge: it gives -8, which is negative",
        "spec.kubelet.kubeReserved[pid]: 'vcpus / 0' for m5.2xlarge: division by zero",
    )


# Recorded instance types


def facts_of(description: dict[str, Any]) -> TypeFacts:
    network = description["NetworkInfo"]
    interfaces = network["NetworkCards"][network["DefaultNetworkCardIndex"]]["MaximumNetworkInterfaces"]
    addresses = network["Ipv4AddressesPerInterface"]
    return TypeFacts(
        instance_type=description["InstanceType"],
        vcpus=description["VCpuInfo"]["DefaultVCpus"],
        memory_mib=description["MemoryInfo"]["SizeInMiB"],
        default_enis=interfaces,
        ips_per_eni=addresses,
        max_pods=interfaces * (addresses - 1) + 2,
    )


def told_amounts(recorded: dict[str, Any], block: Kubelet) -> bool:
    """Whether every amount of the block is what the recorded overhead has."""
    pairs = (("kubeReserved", block.kube_reserved), ("systemReserved", block.system_reserved))
    return all(
        Quantity.parse(recorded[field][name]).nanos == Quantity.parse(amount).nanos
        for field, amounts in pairs
        for name, amount in (amounts or {}).items()
    )


def told_pods(recorded: dict[str, Any], found: ConcreteKubelet, vcpus: int, family: str) -> bool:
    """Whether the type has as many pods as the block says; Bottlerocket alone does not know podsPerCore."""
    if found.max_pods is None:
        return True
    per_core = 0 if family == "Bottlerocket" else (found.block.pods_per_core or 0) * vcpus
    return int(recorded.get("pods", "0")) == min(found.max_pods, per_core or found.max_pods)


@pytest.mark.aws("AWS-055", "AWS-056", "AWS-057", "AWS-059", "AWS-060")
def test_expressions_come_to_what_was_recorded(shared: Path) -> None:
    catalog = json.loads((shared / "data/vectors/aws/catalog.json").read_text())
    facts = {each["InstanceType"]: facts_of(each) for each in catalog["InstanceTypes"]}
    wrong, checked = [], 0
    for line in vectors.read(shared, "aws/instance_types.jsonl"):
        read, options, expect = decode_ec2_node_class(line["nodeClass"]), line.get("options", {}), line["expect"]
        if read.kubelet is None or options.get("reservedENIs") or read.network_interfaces:
            continue
        gate = options.get("nodeClassCEL", False)
        if "maxPods" in expect.get("error", ""):
            with pytest.raises(InvalidObject):
                [
                    concrete_kubelet(read.kubelet, facts[name], expressions=gate)
                    for name in line["world"]["instanceTypes"]
                ]
        for name, recorded in expect.get("instanceTypes", {}).items():
            found = concrete_kubelet(read.kubelet, facts[name], expressions=gate)
            checked += 1
            pods = told_pods(recorded["capacity"], found, facts[name].vcpus, read.ami_family)
            if not pods or not told_amounts(recorded["overhead"], found.block):
                wrong.append((line["name"], name, found, recorded))
    assert wrong == []
    assert checked > 100


# The condition


def node_class(block: dict[str, Any] | None, family: str = "AL2023") -> NodeClass:
    return decode_ec2_node_class({"metadata": {"name": "default"}, "spec": {"amiFamily": family, "kubelet": block}})


@pytest.mark.parametrize("block", [None, {}, {"maxPods": 10, "seccompDefault": True}])
def test_a_class_whose_block_holds_is_ready(block: dict[str, Any] | None) -> None:
    assert check_kubelet(node_class(block), expressions=False) is None


@pytest.mark.parametrize(
    ("block", "family", "reason"),
    [
        pytest.param({"maxPods": -1}, "AL2023", kubeletcheck.INVALID, marks=pytest.mark.aws("AWS-049", "AWS-036")),
        pytest.param({"nope": 1}, "AL2", kubeletcheck.INVALID, marks=pytest.mark.aws("AWS-051")),
        pytest.param({"seccompDefault": True}, "AL2", kubeletcheck.UNSUPPORTED, marks=pytest.mark.aws("AWS-052")),
        pytest.param({"maxPods": "vcpus +"}, "AL2", kubeletcheck.EXPRESSION_INVALID, marks=pytest.mark.aws("AWS-055")),
        pytest.param({"maxPods": "nope"}, "AL2", kubeletcheck.EXPRESSION_INVALID, marks=pytest.mark.aws("AWS-055")),
        pytest.param({"maxPods": "vcpus > 1"}, "AL2", kubeletcheck.EXPRESSION_INVALID),
        pytest.param({"maxPods": "0 - vcpus"}, "AL2", kubeletcheck.EVALUATION_FAILED, marks=pytest.mark.aws("AWS-056")),
        pytest.param({"kubeReserved": {"cpu": "vcpus / 0"}}, "AL2", kubeletcheck.EVALUATION_FAILED),
    ],
)
def test_a_class_whose_block_does_not_hold_is_not(block: dict[str, Any], family: str, reason: str) -> None:
    finding = check_kubelet(node_class(block, family), expressions=True, types=[LARGE])
    assert finding is not None
    assert (finding.reason, finding.waits) == (reason, False)
    assert "spec.kubelet." in finding.message


@pytest.mark.aws("AWS-057")
def test_expressions_need_the_gate() -> None:
    finding = check_kubelet(node_class({"maxPods": "vcpus"}), expressions=False, types=[LARGE])
    assert finding is not None
    assert finding.reason == kubeletcheck.DISABLED


@pytest.mark.aws("AWS-058")
def test_before_instance_types_are_known_an_expression_waits() -> None:
    finding = check_kubelet(node_class({"maxPods": "vcpus"}), expressions=True)
    assert finding is not None
    assert finding.waits


@pytest.mark.aws("AWS-061")
def test_a_block_that_cannot_be_read_is_no_empty_one() -> None:
    with pytest.raises(InvalidObject, match=r"spec\.kubelet\.clusterDNS: found '10\.0\.0\.10' \(accepted: a list"):
        node_class({"clusterDNS": "10.0.0.10"})
