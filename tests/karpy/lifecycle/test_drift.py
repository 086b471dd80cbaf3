"""When a machine is no longer what its pool, or its cloud, would give."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest

from karpy import labels
from karpy.cloud.instancetype import InstanceType, InstanceTypes, Offering
from karpy.lifecycle.drift import drift_from_catalog, drift_from_pool
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.objects.templatehash import hash_annotations
from karpy.requirements import Requirement, Requirements
from karpy.testing import make_claim, make_instance_type, make_nodepool, selector

TAINT = {"key": "gpu", "effect": "NoSchedule"}


def hashed(**pool: Any) -> NodePool:
    """A pool that carries the hash of its template."""
    found = NodePool.from_dict(make_nodepool(**pool))
    return attrs.evolve(found, metadata=annotated(found, hash_annotations(found)))


def annotated(thing: NodePool | NodeClaim, annotations: dict[str, str]) -> Any:
    return msgspec.structs.replace(thing.metadata, annotations=annotations)


def claim_of(pool: NodePool, **claim: Any) -> NodeClaim:
    """A claim that was made from this pool."""
    found = NodeClaim.from_dict(make_claim(**claim))
    return attrs.evolve(found, metadata=annotated(found, dict(pool.metadata.annotations or {})))


BEFORE = hashed()


@pytest.mark.core("CORE-682")
@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"team": "a"}},
        {"taints": [TAINT]},
        {"startup_taints": [TAINT]},
        {"template": {"expireAfter": "1h"}},
        {"template": {"terminationGracePeriod": "1m"}},
        {"template": {"nodeClassRef": {"group": "test.karpy.dev", "kind": "TestNodeClass", "name": "other"}}},
        {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}, "spec": {}}}},
    ],
)
def test_each_field_that_a_node_takes_from_the_template_drifts_it(change: dict[str, Any]) -> None:
    assert drift_from_pool(claim_of(BEFORE), hashed(**change)) == "NodePoolDrifted"


@pytest.mark.core("CORE-682")
@pytest.mark.parametrize(
    "change", [{}, {"weight": 7}, {"limits": {"cpu": 1}}, {"disruption": {"consolidateAfter": "1h"}}]
)
def test_what_concerns_the_pool_alone_drifts_nothing(change: dict[str, Any]) -> None:
    assert drift_from_pool(claim_of(BEFORE), hashed(**change)) is None


@pytest.mark.core("CORE-682")
@pytest.mark.parametrize("missing", [labels.NODEPOOL_HASH, labels.NODEPOOL_HASH_VERSION])
@pytest.mark.parametrize("on_claim", [True, False])
def test_a_hash_that_is_missing_on_either_side_says_nothing(missing: str, *, on_claim: bool) -> None:
    after = hashed(labels={"team": "a"})
    claim = claim_of(BEFORE)
    changed: Any = claim if on_claim else after
    kept = {key: value for key, value in changed.metadata.annotations.items() if key != missing}
    changed = attrs.evolve(changed, metadata=annotated(changed, kept))
    assert drift_from_pool(*((changed, after) if on_claim else (claim, changed))) is None


@pytest.mark.core("CORE-682")
def test_hashes_of_different_versions_are_not_compared() -> None:
    claim = claim_of(BEFORE)
    older = {**(claim.metadata.annotations or {}), labels.NODEPOOL_HASH_VERSION: "v2"}
    claim = attrs.evolve(claim, metadata=annotated(claim, older))
    assert drift_from_pool(claim, hashed(labels={"team": "a"})) is None


@pytest.mark.core("CORE-681")
@pytest.mark.parametrize(
    ("asked_for", "own", "drifted"),
    [
        ([selector(labels.ZONE, "In", "zone-a", "zone-b")], {}, False),
        ([selector(labels.ZONE, "In", "zone-b")], {}, True),
        ([selector(labels.ZONE, "NotIn", "zone-a")], {}, True),
        ([selector(labels.ZONE, "NotIn", "zone-b")], {}, False),
        ([selector(labels.ZONE, "Exists")], {}, False),
        ([selector(labels.ZONE, "DoesNotExist")], {}, True),
        ([selector("acme.com/team", "Exists")], {}, True),
        ([selector("acme.com/team", "In", "a")], {"acme.com/team": "a"}, False),
        ([selector("acme.com/team", "DoesNotExist")], {}, False),
        ([selector("acme.com/team", "NotIn", "a")], {}, False),
        ([selector("acme.com/cpu", "Gt", "4")], {"acme.com/cpu": "8"}, False),
        ([selector("acme.com/cpu", "Gt", "8")], {"acme.com/cpu": "8"}, True),
        ([selector("acme.com/cpu", "Lt", "8")], {"acme.com/cpu": "4"}, False),
        ([selector("acme.com/cpu", "Lt", "8")], {"acme.com/cpu": "8"}, True),
        ([selector(labels.CAPACITY_TYPE, "In", "spot")], {}, True),
        ([selector(labels.ZONE, "In", "zone-a"), selector(labels.CAPACITY_TYPE, "In", "spot")], {}, True),
    ],
)
def test_the_labels_of_a_machine_have_to_be_what_the_pool_requires(
    asked_for: list[dict[str, Any]], own: dict[str, str], *, drifted: bool
) -> None:
    found = drift_from_pool(claim_of(BEFORE, labels=own), hashed(requirements=asked_for))
    assert found == ("RequirementsDrifted" if drifted else None)


@pytest.mark.core("CORE-681")
def test_only_the_machines_that_a_new_requirement_excludes_have_drifted() -> None:
    pool = hashed(requirements=[selector(labels.ZONE, "In", "zone-a")])
    found = {zone: drift_from_pool(claim_of(BEFORE, zone=zone), pool) for zone in ("zone-a", "zone-b")}
    assert found == {"zone-a": None, "zone-b": "RequirementsDrifted"}


@pytest.mark.core("CORE-678")
def test_a_template_that_changed_counts_before_requirements_that_did() -> None:
    both = hashed(labels={"team": "a"}, requirements=[selector(labels.ZONE, "In", "zone-b")])
    assert drift_from_pool(claim_of(BEFORE), both) == "NodePoolDrifted"


SMALL, LARGE = make_instance_type("small"), make_instance_type("large")


def in_catalog(*types: InstanceType, **claim: Any) -> str | None:
    return drift_from_catalog(claim_of(BEFORE, **claim), InstanceTypes(types))


@pytest.mark.core("CORE-677")
def test_a_type_that_is_sold_as_it_was_bought_is_there() -> None:
    assert in_catalog(SMALL, LARGE, instance_type="small") is None


@pytest.mark.core("CORE-677")
def test_a_type_that_is_sold_out_is_still_there() -> None:
    sold_out = [attrs.evolve(offering, available=False) for offering in SMALL.offerings]
    assert in_catalog(attrs.evolve(SMALL, offerings=tuple(sold_out)), instance_type="small") is None


@pytest.mark.core("CORE-677")
@pytest.mark.parametrize(
    ("types", "claim"),
    [
        ([SMALL], {}),  # the label is missing
        ([LARGE], {"instance_type": "small"}),
        ([attrs.evolve(SMALL, offerings=())], {"instance_type": "small"}),
        ([SMALL], {"instance_type": "small", "zone": "zone-x"}),
        ([SMALL], {"instance_type": "small", "capacity_type": "other"}),
    ],
)
def test_what_is_sold_no_more_has_drifted(types: list[InstanceType], claim: dict[str, Any]) -> None:
    assert in_catalog(*types, **claim) == "InstanceTypeNotFound"


@pytest.mark.core("CORE-683")
@pytest.mark.parametrize("left", ["on-demand", "spot"])
def test_a_machine_whose_reservation_ended_runs_on_as_on_demand(left: str) -> None:
    not_reserved = Requirements(
        (
            Requirement.in_(labels.ZONE, "zone-a"),
            Requirement.in_(labels.CAPACITY_TYPE, left),
            Requirement.absent("acme.com/id"),
        )
    )
    offering = Offering("zone-a", left, 1.0, requirements=not_reserved)
    found = in_catalog(
        attrs.evolve(SMALL, offerings=(offering,)),
        instance_type="small",
        capacity_type="reserved",
        labels={"acme.com/id": "r-1"},
    )
    assert found == (None if left == "on-demand" else "InstanceTypeNotFound")


def test_a_catalog_that_could_not_be_read_drifts_nothing() -> None:
    """A cloud that answers nothing would otherwise have every machine replaced."""
    assert in_catalog(instance_type="small") is None
