"""The hash by which static drift is found: what of a node class, once changed, calls for new nodes.

Selectors and the number of address prefixes are left out: what they find is compared with the machines themselves. The family
counts as resolved, so that naming it beside an alias of the same family changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from karpy.errors import InvalidObject
from karpy.quantity import Quantity
from karpy_aws.labels import GROUP
from karpy_aws.objects.nodeclass import (
    BlockDeviceMapping,
    ConnectionTracking,
    CpuOptions,
    Ebs,
    MetadataOptions,
    NetworkInterface,
    NodeClass,
    PlacementGroupSelector,
)
from karpy_aws.objects.structhash import int32, int64, pairs, record, text, truth, unordered

__all__ = [
    "HASH_ANNOTATION",
    "HASH_VERSION",
    "HASH_VERSION_ANNOTATION",
    "adopted_hash",
    "hash_annotations",
    "kubelet_json",
    "legacy_instance_profile",
    "static_hash",
]

HASH_ANNOTATION: Final = f"{GROUP}/ec2nodeclass-hash"
HASH_VERSION_ANNOTATION: Final = f"{GROUP}/ec2nodeclass-hash-version"
HASH_VERSION: Final = "v6"
"""Digests of different versions tell nothing about each other."""

T = TypeVar("T")


def static_hash(node_class: NodeClass, ca_bundle: str | None = None) -> str:
    """The digest in decimal; ``ca_bundle`` is the cluster's, since nodes that trust another one must go too."""
    parts = (_spec(node_class), text(node_class.ami_family), text(ca_bundle or ""), text(kubelet_json(node_class)))
    return str(unordered(parts))


def hash_annotations(node_class: NodeClass, ca_bundle: str | None = None) -> dict[str, str]:
    """What a node class, and each claim made from it, is marked with."""
    return {HASH_ANNOTATION: static_hash(node_class, ca_bundle), HASH_VERSION_ANNOTATION: HASH_VERSION}


def adopted_hash(claim: Mapping[str, str], now: Mapping[str, str], *, is_drifted: bool) -> dict[str, str]:
    """The annotations that a claim with a hash of another version gets; empty when it has those of this version.

    A claim that has drifted keeps its old hash: with the new one it would count as up to date. ``claim`` and ``now`` are the
    annotations of the claim and of its node class.
    """
    version = now.get(HASH_VERSION_ANNOTATION)
    if version is None or claim.get(HASH_VERSION_ANNOTATION) == version:
        return {}
    changes = {HASH_VERSION_ANNOTATION: version}
    if not is_drifted:
        changes[HASH_ANNOTATION] = now.get(HASH_ANNOTATION, "")
    return changes


def legacy_instance_profile(cluster: str, region: str, node_class: str) -> str:
    """The name that Karpenter's first releases gave to the profile of a node class; it is removed with the class.

    >>> legacy_instance_profile("prod", "us-west-2", "default")
    'prod_4067990795380418201'
    """
    return f"{cluster}_{text(region + node_class)}"


def kubelet_json(node_class: NodeClass) -> str:
    """The kubelet block as the API server prints it, ``null`` when it says nothing."""
    if node_class.kubelet is None or not node_class.kubelet.raw:
        return "null"
    printed = json.dumps(node_class.kubelet.raw, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for character in "<>&\u2028\u2029":  # Go keeps them out of HTML and JavaScript
        printed = printed.replace(character, f"\\u{ord(character):04x}")
    return printed


def _spec(spec: NodeClass) -> int:
    return record(
        "EC2NodeClassSpec",
        (
            ("PlacementGroupSelector", _said(spec.placement_group_selector, _placement_group)),
            ("AssociatePublicIPAddress", _said(spec.associate_public_ip_address, truth)),
            ("UserData", _said(spec.user_data, text)),
            ("Role", _said(spec.role or None, text)),
            ("InstanceProfile", _said(spec.instance_profile, text)),
            ("Tags", _said(spec.tags, pairs)),
            (
                "BlockDeviceMappings",
                _said(spec.block_device_mappings, lambda devices: unordered(map(_block_device, devices))),
            ),
            ("InstanceStorePolicy", _said(spec.instance_store_policy, text)),
            (
                "NetworkInterfaces",
                _said(spec.network_interfaces, lambda cards: unordered(map(_network_interface, cards))),
            ),
            ("DetailedMonitoring", _said(spec.detailed_monitoring, truth)),
            ("MetadataOptions", _said(spec.metadata_options, _metadata_options)),
            ("ConnectionTracking", _said(spec.connection_tracking, _connection_tracking)),
            ("Context", _said(spec.context, text)),
            ("CPUOptions", _said(spec.cpu_options, _cpu_options)),
        ),
    )


def _placement_group(selector: PlacementGroupSelector) -> int:
    fields = (("Name", _said(selector.name or None, text)), ("ID", _said(selector.id or None, text)))
    return record("PlacementGroupSelector", fields)


def _block_device(device: BlockDeviceMapping) -> int:
    return record(
        "BlockDeviceMapping",
        (
            ("DeviceName", _said(device.device_name, text)),
            ("EBS", _said(device.ebs, _ebs)),
            ("RootVolume", truth(True) if device.root_volume else None),
        ),
    )


def _ebs(ebs: Ebs) -> int:
    return record(
        "BlockDevice",
        (
            ("DeleteOnTermination", _said(ebs.delete_on_termination, truth)),
            ("Encrypted", _said(ebs.encrypted, truth)),
            ("IOPS", _said(ebs.iops, int64)),
            ("KMSKeyID", _said(ebs.kms_key_id, text)),
            ("SnapshotID", _said(ebs.snapshot_id, text)),
            ("Throughput", _said(ebs.throughput, int64)),
            ("VolumeInitializationRate", _said(ebs.volume_initialization_rate, int32)),
            ("VolumeSize", None if ebs.volume_size is None else _quantity(ebs.volume_size)),
            ("VolumeType", _said(ebs.volume_type, text)),
        ),
    )


def _quantity(written: str | int) -> int:
    """By the canonical text: 20480Mi counts as 20Gi."""
    try:
        return text(str(Quantity.parse(written)))
    except InvalidObject as error:
        raise error.at(path="volumeSize") from None


def _network_interface(interface: NetworkInterface) -> int:
    return record(
        "NetworkInterface",
        (
            ("NetworkCardIndex", _said(interface.network_card_index or None, int32)),
            ("DeviceIndex", _said(interface.device_index or None, int32)),
            ("InterfaceType", _said(interface.interface_type or None, text)),
        ),
    )


def _metadata_options(options: MetadataOptions) -> int:
    return record(
        "MetadataOptions",
        (
            ("HTTPEndpoint", _said(options.http_endpoint, text)),
            ("HTTPProtocolIPv6", _said(options.http_protocol_ipv6, text)),
            ("HTTPPutResponseHopLimit", _said(options.http_put_response_hop_limit, int64)),
            ("HTTPTokens", _said(options.http_tokens, text)),
        ),
    )


def _connection_tracking(tracking: ConnectionTracking) -> int:
    return record(
        "ConnectionTracking",
        (
            ("TCPEstablishedTimeout", _said(tracking.tcp_established_timeout, int32)),
            ("UDPStreamTimeout", _said(tracking.udp_stream_timeout, int32)),
            ("UDPTimeout", _said(tracking.udp_timeout, int32)),
        ),
    )


def _cpu_options(options: CpuOptions) -> int:
    return record("CPUOptions", [("NestedVirtualization", _said(options.nested_virtualization, text))])


def _said(value: T | None, digest: Callable[[T], int]) -> int | None:
    return None if value is None else digest(value)
