"""What a kubelet block may say, and which image families can apply it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karpy_aws.kubeletrules import (
    EVICTION_SIGNALS,
    expressions_in,
    kubelet_violations,
    unmanaged_fields,
    unsupported_fields,
)
from karpy_aws.objects.kubelet import Kubelet
from tests import vectors


def paths(block: dict[str, Any]) -> list[str]:
    return [violation.path.removeprefix("spec.kubelet.") for violation in kubelet_violations(block)]


CONSEQUENCES = {"grace-number": "a grace period of the wrong type is told once, not also as missing"}


@pytest.mark.aws("AWS-044", "AWS-045", "AWS-046", "AWS-047", "AWS-048", "AWS-049", "AWS-050", "AWS-051")
def test_every_recorded_block_is_judged_as_recorded(shared: Path) -> None:
    wrong = []
    for line in vectors.read(shared, "aws/kubelet_validation.jsonl"):
        block, expect = line["kubelet"], line["expect"]
        found = [violation.path for violation in kubelet_violations(block)]
        # Karpenter names the field in the path, or only in the text behind the path of the block.
        expected = [error.partition(": ")[0] for error in expect["errors"]]
        untold = [path for path in expected if not any(each.startswith(path) for each in found)]
        unmeant = [path for path in found if not any(path.startswith(each) for each in expected)]
        as_many = len(found) == len(expected) or line["name"] in CONSEQUENCES
        same = list(unmanaged_fields(block)) == expect["unmanagedFields"]
        same = same and bool(expressions_in(block)) == expect["hasExpressions"]
        if not (as_many and same) or unmeant or (untold and line["name"] not in CONSEQUENCES):
            wrong.append((line["name"], found, expected))
    assert wrong == []


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param({"evictionHard": {"memory.available": "101%"}}, ["evictionHard[memory.available]"], id="percent"),
        pytest.param({"evictionHard": {"memory.available": "5 %"}}, ["evictionHard[memory.available]"], id="blank"),
        pytest.param({"evictionHard": {"memory.available": "-1"}}, ["evictionHard[memory.available]"], id="negative"),
        pytest.param({"evictionHard": {"disk": "5%"}}, ["evictionHard[disk]"], id="signal"),
        pytest.param({"kubeReserved": {"pods": "1"}}, ["kubeReserved[pods]"], id="resource"),
        pytest.param({"maxPods": 2**31}, ["maxPods"], id="too many pods"),
        pytest.param({"podsPerCore": "2"}, ["podsPerCore"], id="text for a number"),
        pytest.param({"kubeReserved": {"cpu": 1}}, ["kubeReserved[cpu]"], id="number for text"),
        pytest.param({"logging": {"verbosity": 4}}, [], id="open field"),
        pytest.param({"memorySwap": {"swap": "x"}}, ["memorySwap.swap"], id="unknown member"),
        pytest.param({"containerRuntime": "dockerd"}, [], id="a field of Provisioners"),
        pytest.param({"maxPods": None}, [], id="null"),
    ],
)
def test_the_path_leads_to_what_is_wrong(block: dict[str, Any], expected: list[str]) -> None:
    assert paths(block) == expected


@pytest.mark.aws("AWS-046")
def test_a_soft_threshold_and_its_grace_period_come_together() -> None:
    for signal in EVICTION_SIGNALS:
        both = {"evictionSoft": {signal: "5%"}, "evictionSoftGracePeriod": {signal: "1m30s"}}
        assert paths(both) == []
        assert paths({"evictionSoft": {signal: "5%"}}) == [f"evictionSoft[{signal}]"]
        assert paths({"evictionSoftGracePeriod": {signal: "90s"}}) == [f"evictionSoftGracePeriod[{signal}]"]


def unsupported(block: dict[str, Any], family: str) -> list[str]:
    return [each.path.removeprefix("spec.kubelet.") for each in unsupported_fields(Kubelet.from_dict(block), family)]


@pytest.mark.aws("AWS-052")
@pytest.mark.parametrize("family", ["AL2", "Bottlerocket", "Windows2022", "Ubuntu"])
def test_most_families_apply_known_fields_only(family: str) -> None:
    assert unsupported({"maxPods": 10, "seccompDefault": True}, family) == ["seccompDefault"]


@pytest.mark.aws("AWS-052", "AWS-054")
@pytest.mark.parametrize("family", ["AL2023", "Custom"])
def test_a_family_that_takes_a_whole_configuration_applies_everything(family: str) -> None:
    block = {"seccompDefault": True, "clusterDNS": ["10.0.0.10", "10.0.0.11"], "podsPerCore": 2}
    assert unsupported(block, family) == []


@pytest.mark.aws("AWS-053")
def test_bottlerocket_alone_has_no_pods_per_core() -> None:
    assert unsupported({"podsPerCore": 2}, "Bottlerocket") == ["podsPerCore"]
    assert unsupported({"podsPerCore": 2}, "AL2") == []


@pytest.mark.aws("AWS-054")
@pytest.mark.parametrize("family", ["AL2", "Bottlerocket", "Windows2019"])
def test_the_others_take_one_dns_server(family: str) -> None:
    assert unsupported({"clusterDNS": ["10.0.0.10"]}, family) == []
    assert unsupported({"clusterDNS": ["10.0.0.10", "10.0.0.11"]}, family) == ["clusterDNS"]
