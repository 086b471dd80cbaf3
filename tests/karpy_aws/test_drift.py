from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.errors import InvalidObject, KarpyError, NodeClaimNotFound
from karpy.objects.meta import ObjectMeta
from karpy.objects.nodeclaim import NodeClaim
from karpy.testing.clock import FakeClock
from karpy_aws.drift import drift_reason
from karpy_aws.instances import Instances
from karpy_aws.objects import decode_ec2_node_class
from karpy_aws.objects.hashing import HASH_ANNOTATION, HASH_VERSION_ANNOTATION
from karpy_aws.testing import FakeAWS, World
from tests.karpy_aws.vectorworld import NOW, catalog, instance_types, lines, setup

DECIDED_BY_THE_CORE = {
    "pool-missing": "the core asks only for claims whose pool it has",
    "class-missing": "and whose node class it has",
    "no-pool-label": "and that say which pool they are of",
}
GROUP = "karpenter.k8s.aws/placement-group-id"


@attrs.frozen
class Case:
    """What a line of the vectors comes to."""

    claim: NodeClaim
    asked: dict[str, Any]
    fake: FakeAWS

    @classmethod
    def of(cls, line: Mapping[str, Any], shared: Path) -> Case:
        node_class = decode_ec2_node_class(line["nodeClass"])
        fake = FakeAWS(World.recorded(line["world"], catalog(shared), NOW), clock=FakeClock(NOW))
        claim = NodeClaim.from_dict(line["nodeClaim"])
        gate = line["options"].get("reservedCapacity", True)
        instances = Instances(fake.apis.ec2, "karpy-test", reserved_capacity=gate, clock=FakeClock(NOW))
        if "instancesFresh" in line["world"]:  # the machine changed after it was last seen
            instances.get(claim.provider_id)
            fake.world.instances.clear()
            fake.world.load(instances=line["world"]["instancesFresh"])
        has_subnets = bool(node_class.status.subnets)  # without any there are no types
        types = instance_types(shared, line["world"], setup(node_class, line["options"])) if has_subnets else ()
        groups = line["world"].get("placementGroups") or [{}]
        wants_group = node_class.placement_group_selector is not None
        asked = {
            "node_class": node_class,
            "types": {found.name: found for found in types},
            "get": instances.get,
            "hashes": node_class.annotations,
            "group": groups[0].get("GroupId", "") if wants_group else "",
        }
        return cls(claim, asked, fake)

    def reason(self) -> str | None:
        return drift_reason(self.claim, **self.asked)


def case(shared: Path, name: str) -> Case:
    return next(Case.of(line, shared) for line in lines(shared, "drift.jsonl") if line["name"] == name)


@pytest.mark.aws("AWS-217", "AWS-218", "AWS-219", "AWS-221", "AWS-222", "AWS-223")
def test_every_recorded_machine_drifts_as_recorded(shared: Path) -> None:
    count = 0
    for line in lines(shared, "drift.jsonl"):
        if line["name"] in DECIDED_BY_THE_CORE:
            continue
        count += 1
        found, expected = Case.of(line, shared), line["expect"]
        if "error" in expected:
            with pytest.raises(KarpyError):
                found.reason()
        else:
            assert (found.reason() or "") == expected["reason"], line["name"]
        assert len(found.fake.calls) <= expected["describeInstancesCalls"], line["name"]
    assert count


@pytest.mark.aws("AWS-218")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("type-unknown", "the instance type x9.huge of default-abcde is not known"),
        ("type-label-missing", "the instance type that no label names of default-abcde is not known"),
        ("image-missing", "the status of default-abcde names no image"),
        ("ami-none-in-status", "the status of default has no images"),
        ("sg-empty-status", "the status of default has no security groups"),
        ("subnets-empty", "the status of default has no subnets"),
    ],
)
def test_what_cannot_be_compared_is_told_and_no_drift(shared: Path, name: str, told: str) -> None:
    with pytest.raises(KarpyError, match=told):
        case(shared, name).reason()


@pytest.mark.aws("AWS-218")
def test_a_claim_without_a_machine_of_ec2_is_refused(shared: Path) -> None:
    with pytest.raises(InvalidObject, match="providerID: found 'gce:///a'"):
        case(shared, "provider-id-bad").reason()
    with pytest.raises(NodeClaimNotFound):
        case(shared, "instance-gone").reason()


@pytest.mark.aws("AWS-219")
def test_hashes_are_compared_within_a_version_only(shared: Path) -> None:
    found = case(shared, "none")

    def drifts(claim: dict[str, str], now: dict[str, str]) -> bool:
        metadata = ObjectMeta(name=found.claim.name, labels=found.claim.labels, annotations=claim)
        marked = attrs.evolve(found.claim, metadata=metadata)
        return drift_reason(marked, **found.asked | {"hashes": now}) == "NodeClassDrift"

    def hashed(hash_: str, version: str) -> dict[str, str]:
        return {HASH_ANNOTATION: hash_, HASH_VERSION_ANNOTATION: version}

    assert drifts(hashed("1", "v6"), hashed("2", "v6"))
    assert not drifts(hashed("1", "v6"), hashed("1", "v6"))
    assert not drifts(hashed("1", "v5"), hashed("2", "v6"))
    assert not drifts({}, hashed("2", "v6"))


@pytest.mark.aws("AWS-223")
def test_a_group_is_compared_with_the_one_that_was_found(shared: Path) -> None:
    found = case(shared, "pg-same")
    assert found.claim.labels[GROUP] == found.asked["group"]
    assert drift_reason(found.claim, **found.asked | {"group": ""}) == "PlacementGroupDrift"
