"""Objects that somebody else's finalizer holds say so."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.objects import kinds
from karpy.objects.kinds import Kind
from tests.karpy.controllers.node.leaving import Leaving
from tests.karpy.controllers.stage import apps

HOLD = "example.com/hold"


def held(stage: Leaving, kind: Kind) -> str:
    """The name of a claim, and of its node, of which one has a finalizer that nobody removes."""
    name = stage.grown(apps("a", 1))
    finalizers = [*stage.api.get(kind, name)["metadata"]["finalizers"], HOLD]
    stage.api.patch(kind, name, {"metadata": {"finalizers": finalizers}})
    return name


@pytest.mark.parametrize("kind", [kinds.NODE, kinds.NODE_CLAIM], ids=lambda kind: kind.kind)
def test_a_finalizer_that_stays_is_named_after_a_minute(kind: Kind) -> None:
    stage = Leaving()
    name = held(stage, kind)
    stage.take(name)
    stage.until(lambda: stage.api.get(kind, name)["metadata"]["finalizers"] == [HOLD])
    stage.run(59)
    assert stage.condition(name, "Released") is None
    stage.run(2)
    said = f"{kind.kind} {name} cannot go before its finalizer(s) do: {HOLD}"
    assert stage.condition(name, "Released") == ("Unknown", "Blocked", said)
    assert stage.told("FailedTermination", kind) == [said]
    assert not [machine for machine in stage.cloud.machines if machine.claim == name], "what costs money is gone"
    stage.api.patch(kind, name, {"metadata": {"finalizers": []}})
    assert stage.until_gone(name) < 30


@pytest.mark.parametrize("kind", [kinds.NODE, kinds.NODE_CLAIM], ids=lambda kind: kind.kind)
def test_one_that_goes_in_time_is_not(kind: Kind) -> None:
    stage = Leaving()
    name = held(stage, kind)
    stage.take(name)
    stage.until(lambda: stage.api.get(kind, name)["metadata"]["finalizers"] == [HOLD])
    stage.run(50)
    stage.api.patch(kind, name, {"metadata": {"finalizers": []}})
    stage.run(600)
    assert stage.told("FailedTermination", kind) == []


def test_whose_it_is_is_said_where_it_is_known() -> None:
    stage = Leaving()
    name = held(stage, kinds.NODE)
    fields = {
        "manager": "backup-operator",
        "operation": "Update",
        "time": "2026-01-05T09:00:00Z",
        "fieldsV1": {"f:metadata": {"f:finalizers": {f'v:"{HOLD}"': {}}}},
    }

    def get(real: Any, *where: Any) -> Any:
        found = real(*where)
        return {**found, "metadata": {**found["metadata"], "managedFields": [fields]}}

    stage.kube.through("get", get)
    stage.take(name)
    stage.run(120)
    assert (stage.condition(name, "Released") or "")[2].endswith(f"{HOLD} (put there by backup-operator)")


def test_another_autoscalers_claims_are_left_alone() -> None:
    stage = Leaving()
    claim = {
        "apiVersion": kinds.NODE_CLAIM.api_version,
        "kind": kinds.NODE_CLAIM.kind,
        "metadata": {"name": "foreign", "finalizers": [HOLD]},
        "spec": {"nodeClassRef": {"group": "other.io", "kind": "OtherClass", "name": "x"}, "requirements": []},
    }
    stage.world.apply([claim])
    stage.api.delete(kinds.NODE_CLAIM, "foreign")
    stage.run(300)
    assert "status" not in stage.api.get(kinds.NODE_CLAIM, "foreign")
    assert stage.told("FailedTermination", kinds.NODE_CLAIM) == []
