"""What the families of node images mean for the room on a node: which kubelet settings they take, where pods' files lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

__all__ = ["FAMILIES", "ImageFamily"]

GIB: Final = 2**30


@attrs.frozen(kw_only=True)
class ImageFamily:
    """One operating system image line of EKS, or of the user's own."""

    name: str
    storage_device: str = ""
    """The volume that pods' files lie on; a family of the user's own has no device that is known."""
    storage_bytes: int = 20 * GIB
    """Its size where the node class names none."""
    windows_build: str = ""
    pods_by_addresses: bool = True
    """Each pod takes an address of a network interface, so that these limit how many there can be."""
    takes_pods_per_core: bool = True
    reserves_by_addresses: bool = True
    """Memory for the kubelet grows with the pods that there are addresses for, whatever ``maxPods`` says."""
    refused_prefix: str = ""
    """Instance types whose name begins so cannot run its images."""

    @property
    def is_windows(self) -> bool:
        return bool(self.windows_build)


def _windows(name: str, build: str) -> ImageFamily:
    return ImageFamily(
        name=name,
        storage_device="/dev/sda1",
        storage_bytes=50 * GIB,
        windows_build=build,
        pods_by_addresses=False,
        reserves_by_addresses=False,
    )


FAMILIES: Final[Mapping[str, ImageFamily]] = {
    family.name: family
    for family in (
        ImageFamily(name="AL2", storage_device="/dev/xvda"),
        ImageFamily(name="AL2023", storage_device="/dev/xvda", refused_prefix="a1."),
        ImageFamily(
            name="Bottlerocket", storage_device="/dev/xvdb", takes_pods_per_core=False, reserves_by_addresses=False
        ),
        ImageFamily(name="Ubuntu", storage_device="/dev/sda1"),
        _windows("Windows2019", "10.0.17763"),
        _windows("Windows2022", "10.0.20348"),
        _windows("Windows2025", "10.0.26100"),
        ImageFamily(name="Custom"),
    )
}
