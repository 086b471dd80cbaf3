"""The instance types that Karpenter's own code makes of node classes, settings and EC2's descriptions, compared exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karpy.cloud.instancetype import InstanceType
from karpy.errors import KarpyError
from karpy_aws import labels
from karpy_aws.objects.ec2nodeclass import decode_ec2_node_class
from tests.karpy_aws.vectorworld import amounts, instance_types, lines, setup, told, whole_bytes

DIFFERENCES = {
    "zones-no-zone-ids": "subnets whose zone id is not known are in the zones that they say, not all in the first one's",
}
ONLY_HERE = {labels.INSTANCE_PODS, labels.PLACEMENT_GROUP_ID, labels.PLACEMENT_GROUP_PARTITION}
"""Labels that Karpenter leaves undefined, so that a claim for them would be launched and never get them."""


def differences(found: InstanceType, wanted: dict[str, Any]) -> dict[str, Any]:
    overhead = found.overhead
    amounts_found = {
        "capacity": found.capacity,
        "allocatable": found.allocatable,
        "kubeReserved": overhead.kube_reserved,
        "systemReserved": overhead.system_reserved,
        "evictionThreshold": overhead.eviction_threshold,
    }
    amounts_wanted = {**wanted, **wanted.get("overhead", {})}
    if "allocatable" in wanted:
        amounts_wanted["allocatable"] = whole_bytes(wanted["allocatable"])
    unlike: dict[str, Any] = {
        field: (amounts(value), amounts(amounts_wanted[field]))
        for field, value in amounts_found.items()
        if field in amounts_wanted and amounts(value) != amounts(amounts_wanted[field])
    }
    if "requirements" in wanted:
        keys = (found.requirements.keys() | wanted["requirements"].keys()) - ONLY_HERE
        for key in keys - {labels.INSTANCE_NETWORK_BANDWIDTH}:  # Karpenter has a table of its own for it
            mine = told(found.requirements[key]) if key in found.requirements else None
            if mine != wanted["requirements"].get(key):
                unlike[key] = mine, wanted["requirements"].get(key)
    return unlike


@pytest.mark.aws(
    "AWS-059",
    "AWS-060",
    "AWS-104",
    "AWS-106",
    "AWS-113",
    "AWS-114",
    "AWS-115",
    "AWS-116",
    "AWS-117",
    "AWS-120",
    "AWS-132",
)
def test_types_are_as_karpenter_makes_them(shared: Path) -> None:
    unlike: dict[str, Any] = {}
    compared = 0
    for line in lines(shared, "instance_types.jsonl"):
        if line["name"] in DIFFERENCES:
            continue
        wanted = line["expect"]
        try:
            read = setup(decode_ec2_node_class(line["nodeClass"]), line.get("options", {}))
            found = instance_types(shared, line["world"], read)
        except KarpyError as error:
            if "instanceTypes" in wanted:
                unlike[line["name"]] = error
            continue
        if "instanceTypes" not in wanted:
            unlike[line["name"]] = f"no error, where Karpenter has {wanted}"
            continue
        for name, type_ in wanted["instanceTypes"].items():
            built = found.by_name(name)
            assert built is not None
            compared += 1
            if differences(built, type_):
                unlike[f"{line['name']} {name}"] = differences(built, type_)
    assert not unlike
    assert compared
