"""Which parameters of Systems Manager name the images of a family, and the machines that each image is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import attrs

from karpy import labels as core
from karpy.requirements import Requirement, Requirements
from karpy_aws import labels
from karpy_aws.families import FAMILIES

__all__ = ["ImageParameter", "UnsupportedAlias", "image_parameters"]

LATEST: Final = "latest"

_NO_ACCELERATOR: Final = Requirement.absent(labels.INSTANCE_ACCELERATOR_COUNT)
STANDARD: Final = Requirements([_NO_ACCELERATOR, Requirement.absent(labels.INSTANCE_GPU_COUNT)])
NVIDIA: Final = Requirements([Requirement.exists(labels.INSTANCE_GPU_COUNT)])
NEURON: Final = Requirements([Requirement.exists(labels.INSTANCE_ACCELERATOR_COUNT)])

_AMD64: Final = "amd64"
_ARM64: Final = "arm64"
_EC2_NAMES: Final = {_AMD64: "x86_64", _ARM64: "arm64"}
_AL2_ENDS_BEFORE: Final = 33
_WINDOWS_2025_BEGINS_WITH: Final = 35


class UnsupportedAlias(ValueError):
    """There are no images of that family for the cluster's version of Kubernetes, and there will be none."""


@attrs.frozen
class ImageParameter:
    """A parameter whose value is the id of an image."""

    path: str
    arch: str = ""
    """Of the image that it should name; empty where nothing says."""
    suits: tuple[Requirements, ...] = (Requirements(),)
    """The kinds of machine that the image is for, besides its architecture: any one of them."""
    is_fixed: bool = False
    """Its value never changes, because its path names a version."""
    is_users: bool = False
    """A user named it, rather than an alias: then why it cannot be read is the user's to know."""


def image_parameters(family: str, kubernetes: str, version: str = LATEST) -> tuple[ImageParameter, ...]:
    """The parameters of a family's images for a version of Kubernetes such as ``1.34``; none for custom images.

    Raises:
        UnsupportedAlias: the family has no images for that version.
    """
    _check(family, kubernetes)
    found = _PATHS.get(family, _nothing)(kubernetes, version)
    return tuple(
        ImageParameter(path, arch, suits, is_fixed=version != LATEST and family in _VERSIONED)
        for path, arch, suits in found
    )


def _check(family: str, kubernetes: str) -> None:
    minor = int(kubernetes.split(".")[1])
    if family == "AL2" and minor >= _AL2_ENDS_BEFORE:
        raise UnsupportedAlias(
            f"images of AL2 end with Kubernetes 1.{_AL2_ENDS_BEFORE - 1}, and the cluster runs {kubernetes}: use AL2023"
        )
    if family == "Windows2025" and minor < _WINDOWS_2025_BEGINS_WITH:
        raise UnsupportedAlias(
            f"images of Windows Server 2025 begin with Kubernetes 1.{_WINDOWS_2025_BEGINS_WITH}, "
            f"and the cluster runs {kubernetes}"
        )


_Found = Iterator[tuple[str, str, tuple[Requirements, ...]]]


def _nothing(kubernetes: str, version: str) -> _Found:
    del kubernetes, version
    yield from ()


def _al2(kubernetes: str, version: str) -> _Found:
    kinds = (("", "", _AMD64, (STANDARD,)), ("-arm64", "arm64-", _ARM64, (STANDARD,)))
    for suffix, infix, arch, suits in (*kinds, ("-gpu", "gpu-", _AMD64, (NEURON, NVIDIA))):
        name = "recommended" if version == LATEST else f"amazon-eks-{infix}node-{kubernetes}-{version}"
        yield f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2{suffix}/{name}/image_id", arch, suits


_AL2023_KINDS: Final = (
    (_AMD64, "standard", STANDARD),
    (_AMD64, "nvidia", NVIDIA),
    (_AMD64, "neuron", NEURON),
    (_ARM64, "standard", STANDARD),
    (_ARM64, "nvidia", NVIDIA),
)


def _al2023(kubernetes: str, version: str) -> _Found:
    base = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023"
    for arch, kind, suits in _AL2023_KINDS:
        kinds = f"{_EC2_NAMES[arch]}-{kind}"
        name = "recommended" if version == LATEST else f"amazon-eks-node-al2023-{kinds}-{kubernetes}-{version}"
        yield f"{base}/{_EC2_NAMES[arch]}/{kind}/{name}/image_id", arch, (suits,)


def _bottlerocket(kubernetes: str, version: str) -> _Found:
    base, number = f"/aws/service/bottlerocket/aws-k8s-{kubernetes}", version.removeprefix("v")
    for suffix, arch, suits in (
        ("", _AMD64, (STANDARD, NEURON)),
        ("", _ARM64, (STANDARD,)),
        ("-nvidia", _AMD64, (NVIDIA,)),
        ("-nvidia", _ARM64, (NVIDIA,)),
    ):
        yield f"{base}{suffix}/{_EC2_NAMES[arch]}/{number}/image_id", arch, suits


def _ubuntu(kubernetes: str, version: str) -> _Found:
    del version  # the older generations that have it name none
    base = f"/aws/service/canonical/ubuntu/eks/20.04/{kubernetes}/stable/current"
    for arch in (_AMD64, _ARM64):
        yield f"{base}/{arch}/hvm/ebs-gp2/ami-id", arch, (Requirements(),)


def _windows(year: str) -> Callable[[str, str], _Found]:
    build = FAMILIES[f"Windows{year}"].windows_build
    suits = Requirements([Requirement.in_(core.OS, "windows"), Requirement.in_(core.WINDOWS_BUILD, build)])

    def paths(kubernetes: str, version: str) -> _Found:
        del version  # there is no other than the latest
        name = f"Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}"
        yield f"/aws/service/ami-windows-latest/{name}/image_id", _AMD64, (suits,)

    return paths


_PATHS: Final[Mapping[str, Callable[[str, str], _Found]]] = {
    "AL2": _al2,
    "AL2023": _al2023,
    "Bottlerocket": _bottlerocket,
    "Ubuntu": _ubuntu,
    **{f"Windows{year}": _windows(year) for year in ("2019", "2022", "2025")},
}
_VERSIONED: Final = frozenset({"AL2", "AL2023", "Bottlerocket"})
