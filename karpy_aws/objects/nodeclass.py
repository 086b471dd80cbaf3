"""`NodeClass`: how a machine is set up, whatever generation of the API said so.

Fields are named after the API's newest version. None means that nothing was said, which differs from an empty value: the hash
that finds drift tells the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
import msgspec

from karpy.objects.kinds import Kind
from karpy.objects.meta import Integer, ObjectMeta, Wire
from karpy_aws.objects.kubelet import Kubelet
from karpy_aws.objects.status import NodeClassStatusFields

__all__ = [
    "BlockDeviceMapping",
    "CapacityReservationTerm",
    "ConnectionTracking",
    "CpuOptions",
    "Ebs",
    "MetadataOptions",
    "NetworkInterface",
    "NodeClass",
    "PlacementGroupSelector",
    "SelectorTerm",
]

EFA_ONLY: Final = "efa-only"


class SelectorTerm(Wire, frozen=True):
    """Things in the account for which all of this holds: they bear ``tags`` (value ``*``: any), have the id, the name.

    ``owner``, ``alias`` and ``ssm_parameter`` are for images only.
    """

    tags: dict[str, str] | None = None
    id: str | None = None
    name: str | None = None
    owner: str | None = None
    alias: str | None = None
    ssm_parameter: str | None = None


class CapacityReservationTerm(Wire, frozen=True):
    """Reservations of capacity that nodes may use."""

    tags: dict[str, str] | None = None
    id: str | None = None
    owner_id: str | None = msgspec.field(name="ownerID", default=None)
    instance_match_criteria: str | None = None


class PlacementGroupSelector(Wire, frozen=True):
    """The placement group of nodes, by its name or by its id."""

    name: str | None = None
    id: str | None = None


class Ebs(Wire, frozen=True):
    """A volume; sizes are quantities as they were written."""

    volume_size: str | int | None = None
    volume_type: str | None = None
    snapshot_id: str | None = msgspec.field(name="snapshotID", default=None)
    volume_initialization_rate: Integer | None = None
    iops: Integer | None = None
    throughput: Integer | None = None
    encrypted: bool | None = None
    delete_on_termination: bool | None = None
    kms_key_id: str | None = msgspec.field(name="kmsKeyID", default=None)


class BlockDeviceMapping(Wire, frozen=True):
    """One entry of ``blockDeviceMappings``; readers that check refuse one without a name or a volume."""

    device_name: str | None = None
    ebs: Ebs | None = None
    root_volume: bool = False


class MetadataOptions(Wire, frozen=True):
    """How instances may read their own metadata; None is left to the generation's default."""

    http_endpoint: str | None = None
    http_protocol_ipv6: str | None = msgspec.field(name="httpProtocolIPv6", default=None)
    http_put_response_hop_limit: Integer | None = None
    http_tokens: str | None = None


class NetworkInterface(Wire, frozen=True):
    network_card_index: Integer = 0
    device_index: Integer = 0
    interface_type: str = "interface"

    @property
    def is_efa_only(self) -> bool:
        return self.interface_type == EFA_ONLY


class ConnectionTracking(Wire, frozen=True):
    """Seconds for which idle connections are remembered."""

    tcp_established_timeout: Integer | None = None
    udp_stream_timeout: Integer | None = None
    udp_timeout: Integer | None = None


class CpuOptions(Wire, frozen=True):
    nested_virtualization: str | None = None


@attrs.frozen(kw_only=True)
class NodeClass:
    """A node class in the internal model. ``origin`` is the kind that the user wrote.

    ``ami_family`` is what the class comes to: the one it names, else that of its alias, else ``Custom`` (``AL2`` in v1alpha1).
    ``launch_template`` names a template of the user's own (generations before v1beta1); nothing else is generated then.
    """

    name: str
    origin: Kind
    metadata: ObjectMeta = ObjectMeta()
    subnet_selector_terms: tuple[SelectorTerm, ...] = ()
    security_group_selector_terms: tuple[SelectorTerm, ...] = ()
    ami_selector_terms: tuple[SelectorTerm, ...] = ()
    capacity_reservation_selector_terms: tuple[CapacityReservationTerm, ...] = ()
    placement_group_selector: PlacementGroupSelector | None = None
    ami_family: str = "AL2"
    user_data: str | None = None
    role: str = ""
    instance_profile: str | None = None
    launch_template: str = ""
    tags: Mapping[str, str] | None = None
    kubelet: Kubelet | None = None
    block_device_mappings: tuple[BlockDeviceMapping, ...] | None = None
    instance_store_policy: str | None = None
    network_interfaces: tuple[NetworkInterface, ...] | None = None
    associate_public_ip_address: bool | None = None
    ip_prefix_count: int | None = None
    detailed_monitoring: bool | None = None
    metadata_options: MetadataOptions | None = None
    connection_tracking: ConnectionTracking | None = None
    context: str | None = None
    cpu_options: CpuOptions | None = None
    status: NodeClassStatusFields = NodeClassStatusFields()

    @property
    def alias(self) -> str | None:
        """``family@version``, when images are found by an alias."""
        return next((term.alias for term in self.ami_selector_terms if term.alias), None)

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.metadata.annotations or {}
