from __future__ import annotations

import pytest

from karpy_aws.imageparameters import NVIDIA, UnsupportedAlias, image_parameters


def paths(family: str, kubernetes: str, version: str = "latest") -> list[str]:
    return [parameter.path for parameter in image_parameters(family, kubernetes, version)]


@pytest.mark.aws("AWS-093")
def test_each_kind_of_machine_has_its_parameter() -> None:
    base = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023"
    assert paths("AL2023", "1.34") == [
        f"{base}/x86_64/standard/recommended/image_id",
        f"{base}/x86_64/nvidia/recommended/image_id",
        f"{base}/x86_64/neuron/recommended/image_id",
        f"{base}/arm64/standard/recommended/image_id",
        f"{base}/arm64/nvidia/recommended/image_id",
    ]
    assert paths("Bottlerocket", "1.34", "v1.46.0")[2:] == [
        "/aws/service/bottlerocket/aws-k8s-1.34-nvidia/x86_64/1.46.0/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.34-nvidia/arm64/1.46.0/image_id",
    ]
    assert paths("Ubuntu", "1.24") == [
        "/aws/service/canonical/ubuntu/eks/20.04/1.24/stable/current/amd64/hvm/ebs-gp2/ami-id",
        "/aws/service/canonical/ubuntu/eks/20.04/1.24/stable/current/arm64/hvm/ebs-gp2/ami-id",
    ]
    assert paths("Custom", "1.34") == []


def test_a_pinned_version_names_images_that_never_change() -> None:
    (gpu,) = [each for each in image_parameters("AL2", "1.32", "v20240807") if NVIDIA in each.suits]
    assert gpu.path == (
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20240807/image_id"
    )
    assert gpu.is_fixed
    assert not any(each.is_fixed for each in image_parameters("AL2", "1.32"))


@pytest.mark.aws("AWS-091", "AWS-092")
@pytest.mark.parametrize(
    ("family", "kubernetes", "exists"),
    [
        ("AL2", "1.32", True),
        ("AL2", "1.33", False),
        ("AL2023", "1.33", True),
        ("Windows2025", "1.34", False),
        ("Windows2025", "1.35", True),
        ("Windows2022", "1.34", True),
    ],
)
def test_families_come_and_go_with_versions_of_kubernetes(family: str, kubernetes: str, exists: bool) -> None:
    if exists:
        assert paths(family, kubernetes)
    else:
        with pytest.raises(UnsupportedAlias, match=f"the cluster runs {kubernetes}"):
            paths(family, kubernetes)
