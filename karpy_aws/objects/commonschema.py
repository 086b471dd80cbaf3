"""The parts of the schema that node classes of all generations share, and their status."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from karpy.errors import InvalidObject
from karpy.quantity import parse_units
from karpy_aws.objects.schema import ACCEPTED, Rule, Schema, integer, listing, mapping, record, text, truth, with_rules

__all__ = ["HOP_LIMITS", "VOLUME_TYPES", "common_fields", "has_class_size", "status_schema"]

HOP_LIMITS: Final = {"v1": 1, "v1beta1": 2}
"""How many network hops metadata may travel by default; v1 shut pods out."""
VOLUME_TYPES: Final = ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")
_VOLUME_BYTES: Final = (10**9, 64 * 10**12)
_SIZE: Final = (
    r"^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G"
    r"|([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$"
)
_SIZE_WORDS: Final = "1Gi to 59000Gi, 1G to 64000G, 1Ti to 58Ti or 1T to 64T"


def common_fields(*, hop_limit: int | None, any_size: bool, tag_rules: tuple[Rule, ...] = ()) -> dict[str, Schema]:
    """Fields of all generations.

    ``hop_limit`` is None before v1beta1, whose metadata options had no defaults. Before v1 disks took ``any_size`` in bounds.
    """
    return {
        "userData": text("Start-up script or settings, in the form that the image family takes."),
        "tags": with_rules(mapping("Tags of instances, volumes and network interfaces."), _NO_EMPTY_KEY, *tag_rules),
        "context": text("Passed on with each request for instances."),
        "detailedMonitoring": truth("Whether CloudWatch gets figures each minute."),
        "metadataOptions": _metadata_options(hop_limit),
        "blockDeviceMappings": with_rules(
            listing(_block_device(_any_size() if any_size else _size()), "Volumes of nodes.", maxItems=50),
            Rule(
                "self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1",
                "at most one entry with rootVolume",
                lambda devices: _more_than_one_root(devices),
            ),
        ),
    }


_NO_EMPTY_KEY: Final = Rule(
    "self.all(k, k != '')", "non-empty keys", lambda tags: "a tag has an empty key" if "" in tags else ""
)


def _more_than_one_root(devices: list[Mapping[str, Any]]) -> str:
    roots = sum(bool(device.get("rootVolume")) for device in devices)
    return f"{roots} entries are rootVolume" if roots > 1 else ""


def _metadata_options(hop_limit: int | None) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": hop_limit,
        "httpTokens": "required",
    }
    fields = {
        "httpEndpoint": text("Whether instances may read their metadata at all.", enum=["enabled", "disabled"]),
        "httpProtocolIPv6": text("Whether they may over IPv6.", enum=["enabled", "disabled"]),
        "httpPutResponseHopLimit": integer("Network hops that answers may travel.", minimum=1, maximum=64),
        "httpTokens": text("Whether a session token is needed.", enum=["required", "optional"]),
    }
    described = record(fields, "How pods and nodes may reach the instance's metadata.")
    if hop_limit is None:
        return described
    members = {name: {**field, "default": defaults[name]} for name, field in fields.items()}
    return {**described, "properties": members, "default": defaults}


def _size() -> dict[str, Any]:
    return text("Such as 100Gi.", pattern=_SIZE, **{ACCEPTED: _SIZE_WORDS})


def has_class_size(size: str | int) -> bool:
    """Whether a size is written as EC2NodeClass demands it."""
    return isinstance(size, str) and re.fullmatch(_SIZE, size) is not None


def _any_size() -> dict[str, Any]:
    """Any quantity between the bounds of EC2, a bare number of bytes too.

    An API server takes no rule for this: by its reckoning, quantities in a list of texts without bound cost too much.
    """
    size = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    return with_rules({**size, "description": "Such as 100Gi."}, Rule("", "1G to 64T", _size_problem))


def _size_problem(size: str | int) -> str:
    low, high = _VOLUME_BYTES
    try:
        return "" if low <= parse_units(size) <= high else f"{size!r} is out of range"
    except InvalidObject as error:
        return error.problem


def _block_device(size: Schema) -> dict[str, Any]:
    ebs = {
        "volumeSize": size,
        "volumeType": text(enum=list(VOLUME_TYPES)),
        "snapshotID": text("The snapshot that the volume starts from."),
        "volumeInitializationRate": integer("MiB per second; with a snapshot only.", minimum=100, maximum=300),
        "iops": integer(format="int64"),
        "throughput": integer("MiB per second.", format="int64"),
        "encrypted": truth(),
        "deleteOnTermination": truth(),
        "kmsKeyID": text("Key that the volume is encrypted with."),
    }
    volume = with_rules(
        record(ebs, "The volume."),
        Rule(
            "has(self.snapshotID) || has(self.volumeSize)",
            "volumeSize or snapshotID or both",
            lambda volume: "" if _has(volume, "volumeSize", "snapshotID") else "no size and no snapshot is given",
        ),
        Rule(
            "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
            "volumeInitializationRate beside a snapshotID only",
            lambda volume: (
                "volumeInitializationRate stands without a snapshotID"
                if _has(volume, "volumeInitializationRate") and not volume.get("snapshotID")
                else ""
            ),
        ),
    )
    return record(
        {
            "deviceName": text("Such as /dev/xvda.", minLength=1),
            "ebs": volume,
            "rootVolume": truth("Whether kubelet's files lie on it."),
        },
        required=("deviceName", "ebs"),
    )


def _has(value: Mapping[str, Any], *fields: str) -> bool:
    return any(value.get(field) is not None for field in fields)


# Status


def status_schema() -> dict[str, Any]:
    requirement = record(
        {"key": text(), "operator": text(), "values": listing(text()), "minValues": integer()},
        required=("key", "operator"),
    )
    image = {
        "id": text(),
        "name": text(),
        "deprecated": truth("Whether its owner takes it out of use."),
        "requirements": listing(requirement, "Instance types that it fits."),
    }
    return record(
        {
            "subnets": listing(record({"id": text(), "zone": text(), "zoneID": text()}, required=("id", "zone"))),
            "securityGroups": listing(record({"id": text(), "name": text()}, required=("id",))),
            "amis": listing(record(image, required=("id",))),
            "capacityReservations": listing(_reservation()),
            "instanceProfile": text(),
            "conditions": _conditions(),
        },
        "What was found.",
    )


def _reservation() -> dict[str, Any]:
    fields = {
        "id": text(),
        "instanceType": text(),
        "availabilityZone": text(),
        "ownerID": text(),
        "instanceMatchCriteria": text(enum=["open", "targeted"]),
        "reservationType": text(enum=["default", "capacity-block"], default="default"),
        "interruptible": truth("Whether its owner may take instances back."),
        "state": text(enum=["active", "expiring"], default="active"),
        "endTime": text(format="date-time"),
    }
    needed = ("id", "instanceType", "availabilityZone", "ownerID", "instanceMatchCriteria")
    return record(fields, required=needed)


def _conditions() -> dict[str, Any]:
    condition = record(
        {
            "type": text(),
            "status": text(enum=["True", "False", "Unknown"]),
            "reason": text(),
            "message": text(),
            "lastTransitionTime": text(format="date-time"),
            "observedGeneration": integer(format="int64", minimum=0),
        },
        required=("type", "status"),
    )
    return listing(condition, "Whether the class is ready to launch from, and why not.")
