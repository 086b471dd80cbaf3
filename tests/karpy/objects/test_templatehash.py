from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.objects.nodepool import NodePool
from karpy.objects.templatehash import HASH_VERSION, template_hash
from karpy.testing import make_nodepool, selector
from tests.vectors import read

GPU = {"key": "gpu", "effect": "NoSchedule"}
TEAM = {"key": "team", "value": "a", "effect": "NoExecute"}


def hash_of(**pool: Any) -> str:
    return template_hash(NodePool.from_dict(make_nodepool(**pool)))


PLAIN = hash_of()


@pytest.mark.parametrize(
    "pool",
    [
        {"labels": {"a": "b"}},
        {"taints": [GPU]},
        {"startup_taints": [GPU]},
        {"template": {"expireAfter": "1h"}},
        {"template": {"expireAfter": "0s"}},
        {"template": {"expireAfter": "Never"}},
        {"template": {"terminationGracePeriod": "0s"}},
        {"template": {"nodeClassRef": {"group": "test.karpy.dev", "kind": "TestNodeClass", "name": "other"}}},
        {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}, "spec": {}}}},
    ],
)
def test_what_a_node_takes_from_the_template_counts(pool: dict[str, Any]) -> None:
    assert hash_of(**pool) != PLAIN


@pytest.mark.parametrize(
    "pool",
    [
        {"name": "other"},
        {"requirements": [selector("a", "Exists")]},
        {"limits": {"cpu": "1"}},
        {"weight": 7},
        {"disruption": {"consolidateAfter": "Never"}},
        {"template": {"expireAfter": "720h"}},
    ],
)
def test_what_concerns_the_pool_alone_does_not(pool: dict[str, Any]) -> None:
    assert hash_of(**pool) == PLAIN


def test_the_order_of_entries_plays_no_part() -> None:
    assert hash_of(taints=[GPU, TEAM]) == hash_of(taints=[TEAM, GPU])
    assert hash_of(labels={"a": "1", "b": "2"}) == hash_of(labels={"b": "2", "a": "1"})
    assert hash_of(taints=[GPU], startup_taints=[TEAM]) != hash_of(taints=[TEAM], startup_taints=[GPU])


def test_the_hash_is_karpenters(shared: Path) -> None:
    for line in read(shared, "algebra/nodepool_hash.jsonl"):
        pool = NodePool.from_dict({"metadata": {"name": "p"}, "spec": {"template": line["template"]}})
        if "expireAfter" not in line["template"]["spec"]:  # no API server filled it in there
            pool = attrs.evolve(pool, expire_after_s=None)
        assert (template_hash(pool), HASH_VERSION) == (line["expect"]["hash"], line["expect"]["version"]), line
