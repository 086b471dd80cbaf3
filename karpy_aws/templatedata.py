"""What a launch template says: ``LaunchTemplateData`` of one group of instance types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from karpy import labels as core
from karpy.errors import InvalidObject, NodeClassNotReady
from karpy.objects.kinds import PROVISIONER
from karpy.quantity import parse_units
from karpy.resources import Resources
from karpy_aws import labels
from karpy_aws.bootstrap import NodeBootstrap
from karpy_aws.networkinterfaces import network_interfaces
from karpy_aws.objects.ec2nodeclass import EC2_NODE_CLASS
from karpy_aws.objects.nodeclass import BlockDeviceMapping, Ebs, NodeClass
from karpy_aws.templategroups import Reservation, TemplateGroup

__all__ = ["TemplateSettings", "tag_list", "tags_of_machine_parts", "template_data"]

GIB: Final = 2**30
ENCLAVE: Final = "eks.amazonaws.com/nitro-sandbox"
INTERRUPTIBLE: Final = "interruptible-capacity-reservation"

_CLUSTER_TAG: Final = "kubernetes.io/cluster/"
_WITHOUT_IPV6_METADATA: Final = frozenset(
    {"us-iso-east-1", "us-iso-west-1", "us-isob-east-1", "us-isob-west-1", "us-isof-south-1", "us-isof-east-1"}
)
"""Regions whose API does not know the field."""


def _volume(device: str, size: str) -> BlockDeviceMapping:
    return BlockDeviceMapping(device_name=device, ebs=Ebs(volume_size=size, volume_type="gp3", encrypted=True))


_WINDOWS_VOLUMES: Final = (_volume("/dev/sda1", "50Gi"),)
_VOLUMES: Final[Mapping[str, tuple[BlockDeviceMapping, ...]]] = {
    "AL2": (_volume("/dev/xvda", "20Gi"),),
    "AL2023": (_volume("/dev/xvda", "20Gi"),),
    "Bottlerocket": (_volume("/dev/xvda", "4Gi"), _volume("/dev/xvdb", "20Gi")),
    "Ubuntu": (_volume("/dev/sda1", "20Gi"),),
    "Windows2019": _WINDOWS_VOLUMES,
    "Windows2022": _WINDOWS_VOLUMES,
    "Windows2025": _WINDOWS_VOLUMES,
    "Custom": (),
}
"""The volumes of machines whose class names none; a custom image brings its own."""


@attrs.frozen(kw_only=True)
class TemplateSettings:
    """What all templates of one launch have in common. ``bootstrap`` is without what the class says, or the type of a machine."""

    node_class: NodeClass
    region: str
    bootstrap: NodeBootstrap
    capacity_type: str
    tags: Mapping[str, str]
    """All tags that the machines get."""
    requests: Resources = Resources()
    """What the NodeClaim asks for: some of it is switched on in the template."""
    tenancy: str = labels.DEFAULT_TENANCY
    partition: int | None = None
    """Of the placement group, when its partitions are told apart."""
    sells_reserved: bool = True
    """Feature gate ReservedCapacity: machines may only then use reservations that karpy knows of."""

    @property
    def is_older(self) -> bool:
        """Whether the class is of a generation before EC2NodeClass."""
        return self.node_class.origin != EC2_NODE_CLASS


def template_data(group: TemplateGroup, settings: TemplateSettings) -> dict[str, Any]:
    node_class = settings.node_class
    said = {
        "ImageId": group.image.id,
        "IamInstanceProfile": {"Name": _instance_profile(node_class)},
        "BlockDeviceMappings": _block_devices(node_class),
        "Monitoring": {"Enabled": bool(node_class.detailed_monitoring)},
        "MetadataOptions": _metadata_options(settings),
        "Placement": _placement(settings),
        "EnclaveOptions": {"Enabled": ENCLAVE in settings.requests},
        "CpuOptions": _cpu_options(node_class),
        **_network(group, settings),
        **_reserved(group.reservation, settings),
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": tag_list(tags_of_machine_parts(settings))}
            for kind in _tagged_kinds(settings)
        ],
    }
    return {name: value for name, value in said.items() if value}


def _instance_profile(node_class: NodeClass) -> str:
    found = node_class.status.instance_profile or node_class.instance_profile
    if not found:
        raise NodeClassNotReady("the instance profile of the node class is not there yet")
    return found


# Volumes


def _block_devices(node_class: NodeClass) -> list[dict[str, Any]]:
    devices = node_class.block_device_mappings or _VOLUMES[node_class.ami_family]
    return [_block_device(index, device) for index, device in enumerate(devices)]


def _block_device(index: int, device: BlockDeviceMapping) -> dict[str, Any]:
    path = f"spec.blockDeviceMappings[{index}]"
    if not device.device_name:
        raise InvalidObject("no device is named", path=f"{path}.deviceName", accepted="a name such as /dev/xvda")
    if device.ebs is None:
        raise InvalidObject("the volume is not described", path=f"{path}.ebs", accepted="an object")
    ebs = device.ebs
    said = {
        "DeleteOnTermination": ebs.delete_on_termination,
        "Encrypted": ebs.encrypted,
        "VolumeType": ebs.volume_type,
        "Iops": ebs.iops or None,
        "Throughput": ebs.throughput or None,
        "KmsKeyId": ebs.kms_key_id,
        "SnapshotId": ebs.snapshot_id,
        "VolumeInitializationRate": ebs.volume_initialization_rate,
        "VolumeSize": None if ebs.volume_size is None else -(-parse_units(ebs.volume_size) // GIB),
    }
    return {
        "DeviceName": device.device_name,
        "Ebs": {name: value for name, value in said.items() if value is not None},
    }


# Network


def _network(group: TemplateGroup, settings: TemplateSettings) -> dict[str, Any]:
    """Security groups belong to interfaces. Older generations left the one interface to EC2 and named the groups beside it."""
    node_class = settings.node_class
    if settings.is_older and not group.efa_interfaces and node_class.associate_public_ip_address is None:
        return {"SecurityGroupIds": [each.id for each in node_class.status.security_groups]}
    return {
        "NetworkInterfaces": network_interfaces(
            node_class, efa_interfaces=group.efa_interfaces, is_ipv6=settings.bootstrap.cluster.is_ipv6
        )
    }


def _metadata_options(settings: TemplateSettings) -> dict[str, Any]:
    """Where the class says nothing, it is as Karpenter has it; the API server fills the block in, so that only older
    generations come here without one. A member that is left open is EC2's to decide."""
    options = settings.node_class.metadata_options
    if options is None:
        said: dict[str, Any] = {
            "HttpEndpoint": "enabled" if settings.is_older else "disabled",
            "HttpProtocolIpv6": "enabled" if settings.bootstrap.cluster.is_ipv6 else "disabled",
            "HttpPutResponseHopLimit": 2,
            "HttpTokens": "required",
        }
    else:
        said = {
            "HttpEndpoint": options.http_endpoint,
            "HttpProtocolIpv6": options.http_protocol_ipv6,
            "HttpPutResponseHopLimit": options.http_put_response_hop_limit,
            "HttpTokens": options.http_tokens,
        }
    if settings.region in _WITHOUT_IPV6_METADATA:
        said.pop("HttpProtocolIpv6")
    return {"InstanceMetadataTags": "disabled", **{name: value for name, value in said.items() if value is not None}}


# Where it runs


def _placement(settings: TemplateSettings) -> dict[str, Any]:
    group = settings.node_class.status.placement_group
    said = {
        "Tenancy": settings.tenancy,
        "GroupId": group.id if group else None,
        "PartitionNumber": settings.partition if group else None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _cpu_options(node_class: NodeClass) -> dict[str, Any]:
    nested = node_class.cpu_options.nested_virtualization if node_class.cpu_options else None
    return {"NestedVirtualization": nested} if nested else {}


def _reserved(reservation: Reservation | None, settings: TemplateSettings) -> dict[str, Any]:
    """A machine that was not bought as reserved must not use up a reservation by chance."""
    if settings.is_older or not settings.sells_reserved:
        return {}
    if reservation is None:
        return {"CapacityReservationSpecification": {"CapacityReservationPreference": "none"}}
    said: dict[str, Any] = {
        "CapacityReservationSpecification": {
            "CapacityReservationPreference": "capacity-reservations-only",
            "CapacityReservationTarget": {"CapacityReservationId": reservation.id},
        }
    }
    market = INTERRUPTIBLE if reservation.interruptible else reservation.kind
    return said if market == "default" else {**said, "InstanceMarketOptions": {"MarketType": market}}


# Tags


def _tagged_kinds(settings: TemplateSettings) -> Sequence[str]:
    """What EC2 makes beside the machine, and tags with it."""
    if settings.node_class.origin == PROVISIONER:
        return ()
    kinds = ["network-interface"]
    if settings.capacity_type == core.SPOT and not settings.is_older:
        kinds.append("spot-instances-request")
    return kinds


def tags_of_machine_parts(settings: TemplateSettings) -> Mapping[str, str]:
    """The network of older generations' machines is not marked as the cluster's."""
    if not settings.is_older:
        return settings.tags
    return {key: value for key, value in settings.tags.items() if not key.startswith(_CLUSTER_TAG)}


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as EC2 takes them."""
    return [{"Key": key, "Value": tags[key]} for key in sorted(tags)]
