"""Recorded drift, as the AWS provider of Karpenter told it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.errors import KarpyError
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws.drift import CAPACITY_RESERVATION_DRIFT, class_drift, image_drift, machine_drift
from karpy_aws.machines import Machine, instance_id, read_machine
from karpy_aws.objects import NodeClass, decode_ec2_node_class
from karpy_aws.placementgroups import placement_group_request, read_placement_group
from karpy_aws.testing import World
from tests.karpy_aws.vectorworld import NOW, catalog, instance_types, lines, setup

FILE = "drift.jsonl"
"""Lines about classes and pools that are not there are the core's, which asks about those alone that are."""


@pytest.mark.aws("AWS-217", "AWS-218", "AWS-219", "AWS-220", "AWS-221", "AWS-222", "AWS-223")
def test_drift_is_told_as_recorded(shared: Path) -> None:
    told = (line for line in lines(shared, FILE) if "absent" not in line["features"])
    wrong = {line["name"]: found for line in told if (found := difference(line, shared))}
    assert not wrong, json.dumps(wrong, indent=1)


def difference(line: Mapping[str, Any], shared: Path) -> dict[str, Any]:
    """What is told here and was told there, where they differ. Of errors it counts that there was one."""
    wanted = {"reason": line["expect"]["reason"] or None, "error": "error" in line["expect"]}
    try:
        found: dict[str, Any] = {"reason": drift_of(line, shared), "error": False}
    except KarpyError as error:
        found = {"reason": None, "error": True, "told": str(error)}
    return {} if found.items() >= wanted.items() else {"found": found, "wanted": wanted}


def drift_of(line: Mapping[str, Any], shared: Path) -> str | None:
    node_class = _with_group(decode_ec2_node_class(line["nodeClass"]), line["world"])
    claim = NodeClaim.from_dict(line["nodeClaim"])
    types = instance_types(shared, line["world"], setup(node_class, line["options"]))
    told = class_drift(claim.metadata.annotations or {}, node_class.annotations)
    told = told or image_drift(claim, node_class, types)
    if told:
        return told
    told = machine_drift(claim, _machine(line, claim, "instances", shared), node_class.status)
    if told == CAPACITY_RESERVATION_DRIFT:
        told = machine_drift(claim, _machine(line, claim, "instancesFresh", shared), node_class.status)
    return told


def _with_group(node_class: NodeClass, world: Mapping[str, Any]) -> NodeClass:
    selector = node_class.placement_group_selector
    if selector is None:
        return node_class
    request = placement_group_request(selector)
    named = {*request.get("GroupNames", ()), *request.get("GroupIds", ())}
    groups = [each for each in world.get("placementGroups") or () if {each["GroupName"], each["GroupId"]} & named]
    group = read_placement_group([{"PlacementGroups": groups}])
    return attrs.evolve(node_class, status=attrs.evolve(node_class.status, placement_group=group))


def _machine(line: Mapping[str, Any], claim: NodeClaim, told: str, shared: Path) -> Machine:
    records = line["world"].get(told) or line["world"].get("instances") or ()
    wanted = instance_id(claim.provider_id)
    world = World.recorded({"instances": records}, catalog(shared), NOW)
    if wanted not in world.instances:
        raise KarpyError(f"{wanted} is gone")
    return read_machine(world.instances[wanted], reserved_capacity=line["options"].get("reservedCapacity", True))
