from __future__ import annotations

from typing import Any

import pytest

from karpy.errors import InvalidObject
from karpy_azure.objects import NodeClass, read_node_class

SUBNET = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/n"


def node_class(**spec: Any) -> NodeClass:
    return read_node_class({"kind": "AKSNodeClass", "metadata": {"name": "default"}, "spec": spec})


def test_an_empty_spec_has_the_documented_defaults() -> None:
    found = node_class()
    assert (found.image_family, found.os_disk_size_gb, found.gpu_mode) == ("Ubuntu", 128, "Driver")
    assert found.image_version == ""
    assert found.max_pods is None


def test_the_pinned_image_of_early_releases_is_kept() -> None:
    assert node_class(imageVersion="202408.21.0").image_version == "202408.21.0"


def test_secure_boot_or_vtpm_is_trusted_launch() -> None:
    assert node_class(security={"trustedLaunch": {"vtpm": True}}).trusted_launch
    assert node_class(security={"trustedLaunch": {"secureBoot": True}}).trusted_launch
    assert not node_class(security={"trustedLaunch": {}}).trusted_launch


def test_a_subnet_may_be_written_in_any_case() -> None:
    assert node_class(vnetSubnetID=SUBNET).vnet_subnet_id == SUBNET
    assert node_class(vnetSubnetID=SUBNET.lower()).vnet_subnet_id == SUBNET.lower()


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"imageFamily": "Debian"}, "spec.imageFamily"),
        ({"osDiskSizeGB": 29}, "spec.osDiskSizeGB"),
        ({"osDiskSizeGB": 2049}, "spec.osDiskSizeGB"),
        ({"osDiskSizeGB": "128"}, "spec.osDiskSizeGB"),
        ({"maxPods": 9}, "spec.maxPods"),
        ({"maxPods": 251}, "spec.maxPods"),
        ({"vnetSubnetID": ""}, "spec.vnetSubnetID"),
        ({"vnetSubnetID": "/subscriptions/s"}, "spec.vnetSubnetID"),
        ({"vnetSubnetID": SUBNET.replace("/rg/", "/rg./")}, "spec.vnetSubnetID"),
        ({"gpu": {"mode": "Off"}}, "spec.gpu.mode"),
        ({"fipsMode": "On"}, "spec.fipsMode"),
        ({"fipsMode": "FIPS", "imageFamily": "Ubuntu2404"}, "spec.imageFamily"),
        ({"fipsMode": "FIPS", "imageFamily": "Ubuntu2204"}, "spec.security.trustedLaunch"),
        (
            {"fipsMode": "FIPS", "imageFamily": "AzureLinux", "security": {"trustedLaunch": {"vtpm": True}}},
            "spec.security.trustedLaunch",
        ),
        ({"tags": {"a<b": "c"}}, "spec.tags"),
        ({"tags": {"": "c"}}, "spec.tags"),
        ({"tags": {"a": "c" * 257}}, "spec.tags.a"),
        ({"kubelet": {"imageGCHighThresholdPercent": 101}}, "spec.kubelet.imageGCHighThresholdPercent"),
        (
            {"kubelet": {"imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 50}},
            "spec.kubelet.imageGCHighThresholdPercent",
        ),
        ({"linuxOSConfig": {"swapFileSize": "1Gi"}}, "spec.kubelet.failSwapOn"),
    ],
)
def test_what_a_node_class_may_not_say(spec: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        node_class(**spec)
    assert caught.value.path == path
    assert caught.value.object_name == "AKSNodeClass/default"


def test_other_kinds_are_refused_by_name() -> None:
    with pytest.raises(InvalidObject, match=r"EC2NodeClass/default: kind: .*accepted: AKSNodeClass"):
        read_node_class({"kind": "EC2NodeClass", "metadata": {"name": "default"}})
