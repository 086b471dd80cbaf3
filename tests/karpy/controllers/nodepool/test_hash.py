"""The hash of a pool's template on the pool and on its claims, and how it changes hands."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodePool
from karpy.objects.templatehash import HASH_VERSION, template_hash
from karpy.sim.generic import NODE_CLASS
from tests.karpy.controllers.stage import Stage, apps, conditions, held, pool, refusal

HASH, VERSION = labels.NODEPOOL_HASH, labels.NODEPOOL_HASH_VERSION
NEW_TEMPLATE = {"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}}


def marks(stage: Stage, kind: Kind, name: str) -> tuple[str | None, str | None]:
    found = stage.api.get(kind, name)["metadata"].get("annotations") or {}
    return found.get(HASH), found.get(VERSION)


def pool_marks(stage: Stage) -> tuple[str | None, str | None]:
    return marks(stage, kinds.NODE_POOL, "default")


def annotate(stage: Stage, kind: Kind, name: str, hash_: str | None, version: str | None) -> None:
    stage.api.patch(kind, name, {"metadata": {"annotations": {HASH: hash_, VERSION: version}}})


@pytest.mark.core("CORE-710")
def test_a_pool_and_its_claims_and_nodes_carry_the_hash_of_the_template() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    expected = (template_hash(NodePool.from_dict(stage.api.get(kinds.NODE_POOL, "default"))), HASH_VERSION)
    assert pool_marks(stage) == expected
    assert marks(stage, kinds.NODE_CLAIM, name) == expected
    assert marks(stage, kinds.NODE, name) == expected


@pytest.mark.core("CORE-710")
def test_a_new_template_has_another_hash_and_all_else_leaves_it() -> None:
    stage = Stage()
    before = pool_marks(stage)
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"weight": 5, "disruption": {"consolidateAfter": "1h"}}})
    stage.run(1)
    assert pool_marks(stage) == before
    stage.api.patch(kinds.NODE_POOL, "default", NEW_TEMPLATE)
    stage.run(1)
    assert pool_marks(stage)[0] != before[0]


@pytest.mark.core("CORE-710")
def test_another_autoscalers_pool_is_not_annotated() -> None:
    foreign = pool("foreign", nodeClassRef={"group": "other.io", "kind": "OtherClass", "name": "x"})
    stage = Stage(pool(), foreign)
    stage.run(60)
    assert marks(stage, kinds.NODE_POOL, "foreign") == (None, None)


@pytest.mark.core("CORE-710")
def test_an_upgrade_that_reckons_hashes_otherwise_drifts_nothing() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    annotate(stage, kinds.NODE_CLAIM, name, "1", "v2")
    annotate(stage, kinds.NODE_POOL, "default", "1", "v2")
    stage.run(10)
    assert pool_marks(stage)[1] == HASH_VERSION
    assert marks(stage, kinds.NODE_CLAIM, name) == pool_marks(stage)
    assert "Drifted" not in conditions(stage.api.get(kinds.NODE_CLAIM, name))


@pytest.mark.core("CORE-710")
def test_claims_of_the_present_version_are_left_as_they_are() -> None:
    stage = Stage(held(pool()))
    name = stage.grown(apps("a", 1))
    annotate(stage, kinds.NODE_CLAIM, name, "1", HASH_VERSION)
    annotate(stage, kinds.NODE_POOL, "default", "2", "v2")
    stage.run(10)
    assert marks(stage, kinds.NODE_CLAIM, name) == ("1", HASH_VERSION)


@pytest.mark.core("CORE-710")
def test_a_claim_that_had_drifted_keeps_its_hash() -> None:
    stage = Stage(held(pool()))
    name = stage.grown(apps("a", 1))
    stage.api.patch(kinds.NODE_POOL, "default", NEW_TEMPLATE)
    stage.run(1)
    assert conditions(stage.api.get(kinds.NODE_CLAIM, name))["Drifted"] == "True"
    old, _version = marks(stage, kinds.NODE_CLAIM, name)
    annotate(stage, kinds.NODE_CLAIM, name, old, "v2")
    annotate(stage, kinds.NODE_POOL, "default", "2", "v2")
    stage.run(60)
    assert marks(stage, kinds.NODE_CLAIM, name) == (old, HASH_VERSION)
    assert conditions(stage.api.get(kinds.NODE_CLAIM, name))["Drifted"] == "True"


@pytest.mark.core("CORE-710")
def test_who_is_stopped_among_the_claims_begins_anew() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    refused: list[str] = []

    def patch(real: Any, kind: Kind, obj: str, body: Any, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and not refused and HASH in body.get("metadata", {}).get("annotations", {}):
            refused.append(obj)
            raise refusal(500)
        return real(kind, obj, body, *rest, **more)

    stage.kube.through("patch", patch)
    annotate(stage, kinds.NODE_CLAIM, name, "1", "v2")
    annotate(stage, kinds.NODE_POOL, "default", "1", "v2")
    stage.run(10)
    assert refused == [name]
    assert marks(stage, kinds.NODE_CLAIM, name) == pool_marks(stage)


def test_a_pool_whose_node_class_is_away_for_a_while_keeps_its_hash() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    before = pool_marks(stage)
    stage.api.delete(NODE_CLASS, "default")
    stage.run(60)
    stage.world.apply(
        [{"apiVersion": NODE_CLASS.api_version, "kind": NODE_CLASS.kind, "metadata": {"name": "default"}}]
    )
    stage.run(60)
    assert pool_marks(stage) == before
    assert "Drifted" not in conditions(stage.api.get(kinds.NODE_CLAIM, name))
