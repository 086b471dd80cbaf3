"""A node that will not become empty by itself says so: which pod stays, what holds it, and whose that is."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from karpy.objects import kinds
from tests.karpy.controllers.node.leaving import GRACE, STOPS_LATE, WISH, Leaving, budget, wishing
from tests.karpy.controllers.stage import apps, pool

BLOCKED = "Blocked"


def blocked(stage: Leaving, name: str) -> str:
    """What the claim says of what holds its node; nothing when it is merely being drained."""
    status, reason, message = stage.condition(name, "Drained") or ("", "", "")
    assert status == "Unknown"
    return message if reason == BLOCKED else ""


def test_a_budget_that_never_allows_anything_is_named() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.run(5)
    stage.take(name)
    stage.run(5)
    pod = stage.pod("a")["metadata"]
    said = (
        f"Pod default/{pod['name']} of ReplicaSet {pod['ownerReferences'][0]['name']} cannot be evicted: "
        "PodDisruptionBudget default/b never allows it (maxUnavailable: 0)"
    )
    assert blocked(stage, name) == said
    assert f"Failed to drain node, {said}" in stage.told("FailedDraining", kinds.NODE)


def test_the_owner_of_a_budget_is_named() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    owner = stage.api.get(kinds.DEPLOYMENT, "a", "default")["metadata"]
    held = budget("b", "a", maxUnavailable=0)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "uid": owner["uid"]}
    held["metadata"]["ownerReferences"] = [reference]
    stage.world.apply([held])
    stage.run(5)
    stage.take(name)
    stage.run(5)
    assert blocked(stage, name).endswith("(maxUnavailable: 0); default/b belongs to Deployment a")


def test_the_tool_that_wrote_a_budget_is_named() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 1))
    held = {**budget("b", "a", maxUnavailable=0)}
    held["metadata"]["managedFields"] = [
        {
            "manager": "helm",
            "operation": "Update",
            "apiVersion": "policy/v1",
            "time": "2026-01-05T09:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:maxUnavailable": {}}},
        }
    ]
    real = stage.kube.get

    def get(kind: Any, budget_name: str, namespace: str = "") -> Any:
        found = real(kind, budget_name, namespace)
        return {**found, "metadata": {**found["metadata"], "managedFields": held["metadata"]["managedFields"]}}

    stage.world.apply([budget("b", "a", maxUnavailable=0)])
    stage.kube.through("get", lambda _real, *where: get(*where))
    stage.run(5)
    stage.take(name)
    stage.run(5)
    assert blocked(stage, name).endswith("; default/b was written by helm")


def test_it_is_taken_back_when_it_is_not_so_any_more() -> None:
    stage = Leaving()
    name = stage.grown(wishing("a", 1, annotations={WISH: "true", **STOPS_LATE}, **{GRACE: 60}))
    stage.take(name)
    stage.run(5)
    assert blocked(stage, name).endswith('cannot be evicted: it has the "karpenter.sh/do-not-disrupt" annotation')
    patch = {"metadata": {"annotations": {WISH: None}}}
    stage.api.patch(kinds.POD, stage.pod("a")["metadata"]["name"], patch, "default")
    stage.run(1)
    assert stage.condition(name, "Drained") == ("Unknown", "Draining", "Draining")
    stage.until_gone(name)


def test_a_budget_that_has_spent_what_it_allows_is_nothing_to_speak_of() -> None:
    stage = Leaving()
    name = stage.grown(apps("a", 3, "500m"))
    stage.world.apply([budget("b", "a", maxUnavailable=1)])
    stage.run(5)
    stage.take(name)
    said = set()
    while name in stage.names(kinds.NODE_CLAIM):
        stage.run(1)
        if name in stage.names(kinds.NODE_CLAIM):
            said.add((stage.condition(name, "Drained") or ("", "", ""))[1])
    assert said <= {"", "Draining", "Drained"}


BUDGETS: dict[str, list[dict[str, Any]]] = {
    "no budget": [],
    "one that allows one": [{"maxUnavailable": 1}],
    "none may be missing": [{"maxUnavailable": 0}],
    "all must be there": [{"minAvailable": "100%"}],
    "as many as there are": [{"minAvailable": 2}],
    "two budgets": [{"maxUnavailable": 1}, {"minAvailable": 1}],
}
WISHES = {"no wish": {}, "for ever": {WISH: "true"}, "for 20 minutes": {WISH: "20m"}}
FINALIZERS = {"no finalizer": (), "a finalizer": ("example.com/hold",)}
GRACES = {"no deadline": None, "ten minutes": "10m"}
BOUND_S = 600 + 60 + 30
"""The deadline; a minute for those that do not end; the machine's own end, and looks that come late."""


@pytest.mark.parametrize(
    ("budgets", "wish", "finalizer", "grace"), list(itertools.product(BUDGETS, WISHES, FINALIZERS, GRACES))
)
def test_every_node_ends_in_time_or_says_why_not(budgets: str, wish: str, finalizer: str, grace: str) -> None:
    period = GRACES[grace]
    stage = Leaving(pool(**({"terminationGracePeriod": period} if period else {})))
    name = stage.grown(wishing("a", 2, annotations=WISHES[wish], **{GRACE: 30}))
    stage.world.apply([budget(f"b{n}", "a", **spec) for n, spec in enumerate(BUDGETS[budgets])])
    for pod in stage.all(kinds.POD):
        patch = {"metadata": {"finalizers": list(FINALIZERS[finalizer])}}
        stage.api.patch(kinds.POD, pod["metadata"]["name"], patch, "default")
    stage.run(5)
    stage.take(name)
    never_allows = budgets not in ("no budget", "one that allows one")
    stage.run(30)
    if grace == "no deadline" and (never_allows or wish == "for ever"):
        # While a wish has an end, it is what the pods are left alone for; then the budget is asked.
        stage.run(1200 if wish == "for 20 minutes" else 0)
        assert "cannot be evicted: " in blocked(stage, name)
        assert "default/a-" in blocked(stage, name)
        assert stage.running("a") == 2
    else:
        bound_s = 1200 + BOUND_S if wish == "for 20 minutes" and grace == "no deadline" else BOUND_S
        assert stage.until_gone(name) + 30 <= bound_s
