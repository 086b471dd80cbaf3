"""The offerings that Karpenter's own code makes, with marks of what ran out, shifts, groups and reservations, compared exactly."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy import labels as core
from karpy.cloud.instancetype import Offering
from karpy_aws import labels
from karpy_aws.objects.ec2nodeclass import decode_ec2_node_class
from karpy_aws.objects.nodeclass import CapacityReservationTerm, NodeClass
from karpy_aws.placementgroups import placement_group_request, read_placement_group
from karpy_aws.reservations import available_counts, reservation_request, resolve_reservations
from tests.karpy_aws.vectorworld import NOW, instance_types, lines, setup, told

DIFFERENCES = {
    "zones-no-ids": "subnets whose zone id is not known are in the zones that they say, not all in the first one's",
    "zones-no-zone-ids": "the same",
    "group-partition-marked": "what ran out of one partition of a group is out there, and not forgotten",
    "zones-no-ids-one": "a zone whose id is not known has no id, rather than an empty one",
}
WHEN_FREE = 1e-9
"""A reservation whose type has no price must still be preferred, so that it costs next to nothing, not nothing."""


def offering(found: Offering) -> dict[str, Any]:
    """An offering as the vectors write it, but for its price."""
    said = {key: told(requirement) for key, requirement in found.requirements.items()}
    written: dict[str, Any] = {"zone": found.zone, "capacityType": found.capacity_type, "available": found.available}
    if labels.ZONE_ID in said:
        written["zoneID"] = said[labels.ZONE_ID][1]
    if labels.PLACEMENT_GROUP_PARTITION in said:
        written["partition"] = said[labels.PLACEMENT_GROUP_PARTITION]
    if found.reservation_id is not None:
        written |= {
            "reservationID": found.reservation_id,
            "reservationCapacity": found.reservation_capacity,
            "reservationType": said[labels.CAPACITY_RESERVATION_TYPE][1],
            "interruptible": said[labels.CAPACITY_RESERVATION_INTERRUPTIBLE][1],
        }
    return written


def order(each: Mapping[str, Any]) -> tuple[str, ...]:
    return (each["zone"], each["capacityType"], each.get("reservationID", ""), str(each.get("partition", "")))


def unlike(found: tuple[Offering, ...], wanted: list[dict[str, Any]]) -> list[Any]:
    mine = sorted(((offering(each), each.price) for each in found), key=lambda pair: order(pair[0]))
    theirs = sorted(wanted, key=order)
    if len(mine) != len(theirs):
        return [f"{len(mine)} offerings, not {len(theirs)}"]
    pairs = zip(mine, theirs, strict=True)
    return [
        (one, price, other)
        for (one, price), other in pairs
        if one != {key: value for key, value in other.items() if key != "price"}
        or not math.isclose(0.0 if math.isnan(price) else price, other["price"], rel_tol=1e-9, abs_tol=WHEN_FREE)
    ]


def ec2_answers(term: CapacityReservationTerm, reservations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What EC2 answers to the request of a term."""
    request = reservation_request(term)
    ids = request.get("CapacityReservationIds")
    return [
        each
        for each in reservations
        if (ids is None or each["CapacityReservationId"] in ids)
        and all(_passes(each, one["Name"], one["Values"]) for one in request["Filters"])
    ]


def _passes(entry: dict[str, Any], name: str, values: list[str]) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in entry["Tags"]}
    if name == "tag-key":
        return not tags.keys().isdisjoint(values)
    fields = {"state": "State", "owner-id": "OwnerId", "instance-match-criteria": "InstanceMatchCriteria"}
    found = tags.get(name[4:]) if name.startswith("tag:") else entry[fields[name]]
    return found is not None and any(fnmatch.fnmatchcase(found, value) for value in values)


def resolved(node_class: NodeClass, world: dict[str, Any], *, reserved: bool) -> tuple[NodeClass, dict[str, int]]:
    """The class with what lookups in the world find, and the machines left in what they found."""
    status, counts = node_class.status, dict(world.get("reservationCounts") or {})
    terms = node_class.capacity_reservation_selector_terms
    if terms and reserved:
        entries = [each for term in terms for each in ec2_answers(term, world["reservations"])]
        status = attrs.evolve(status, capacity_reservations=resolve_reservations(entries, NOW))
        counts |= available_counts(entries)
    if node_class.placement_group_selector is not None:
        request = placement_group_request(node_class.placement_group_selector)
        names, ids = request.get("GroupNames", ()), request.get("GroupIds", ())
        named = [each for each in world["placementGroups"] if each["GroupName"] in names or each["GroupId"] in ids]
        status = attrs.evolve(status, placement_group=read_placement_group([{"PlacementGroups": named}]))
    return attrs.evolve(node_class, status=status), counts


@pytest.mark.aws("AWS-067", "AWS-068", "AWS-069", "AWS-070", "AWS-112", "AWS-126", "AWS-127", "AWS-128", "AWS-129")
@pytest.mark.aws("AWS-130", "AWS-131", "AWS-135", "AWS-136", "AWS-142", "AWS-143", "AWS-144", "AWS-147")
def test_offerings_are_as_karpenter_makes_them(shared: Path) -> None:
    found_unlike: dict[str, Any] = {}
    compared = 0
    for line in [*lines(shared, "offerings.jsonl"), *lines(shared, "instance_types.jsonl")]:
        if "offerings" not in line["report"] or "instanceTypes" not in line["expect"] or line["name"] in DIFFERENCES:
            continue
        options, world = line.get("options", {}), line["world"]
        read = decode_ec2_node_class(line["nodeClass"])
        node_class, counts = resolved(read, world, reserved=options.get("reservedCapacity", True))
        types = instance_types(shared, {**world, "reservationCounts": counts}, setup(node_class, options))
        for name, wanted in line["expect"]["instanceTypes"].items():
            built = types.by_name(name)
            assert built is not None
            compared += 1
            problems = unlike(built.offerings, wanted["offerings"])
            for key in wanted.get("requirements", {}).keys() & {
                core.ZONE,
                core.CAPACITY_TYPE,
                labels.ZONE_ID,
                labels.PLACEMENT_GROUP_ID,
                labels.PLACEMENT_GROUP_PARTITION,
                labels.CAPACITY_RESERVATION_ID,
                labels.CAPACITY_RESERVATION_TYPE,
                labels.CAPACITY_RESERVATION_INTERRUPTIBLE,
            }:
                if told(built.requirements[key]) != wanted["requirements"][key]:
                    problems.append((key, told(built.requirements[key]), wanted["requirements"][key]))
            if problems:
                found_unlike[f"{line['name']} {name}"] = problems
        if "capacityReservations" in line["expect"]:
            written = node_class.status.to_dict().get("capacityReservations", [])
            if _explicit(written) != _explicit(line["expect"]["capacityReservations"] or []):
                found_unlike[line["name"]] = written
    assert not found_unlike
    assert compared


def _explicit(reservations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    defaults = {"reservationType": "default", "interruptible": False, "state": "active"}
    return sorted((defaults | each for each in reservations), key=lambda each: str(each["id"]))
