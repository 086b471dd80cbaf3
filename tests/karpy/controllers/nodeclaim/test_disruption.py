"""What is noted on a claim that speaks for taking its machine away, and when it is taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from karpy import labels
from karpy.clock import parse_time
from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.cloud.model import CloudModel, load_models
from karpy.errors import NodeClaimNotFound, ProviderError
from karpy.labels import CORE_LABELS
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.operator import Operator
from karpy.sim.generic import NODE_CLASS, GenericModel
from karpy.sim.world import World
from karpy.testing import selector
from tests.karpy.controllers.stage import Silence, Stage, apps, conditions, intercept, pool

HOUR = 3_600.0
TAGGED = [{"tags": {"team": "a"}}]
SPECS = {
    "aws": {
        "role": "node",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": TAGGED,
        "securityGroupSelectorTerms": TAGGED,
    }
}
"""What a node class has to say, by cloud."""


def settled(after: str = "30s", **spec: Any) -> tuple[Stage, str]:
    """A machine with pods on it, of a pool that consolidates after so long, and keeps what drifted."""
    stage = Stage(aged(pool(**spec), after))
    return stage, stage.grown(apps("a", 2, "400m"))


def aged(found: dict[str, Any], after: str) -> dict[str, Any]:
    found["spec"]["disruption"]["consolidateAfter"] = after
    found["metadata"]["annotations"] = {"karpy.dev/drift-mode": "Report"}
    return found


def said(stage: Stage, name: str) -> dict[str, str]:
    return conditions(stage.api.get(kinds.NODE_CLAIM, name))


def drift(stage: Stage, name: str) -> str | None:
    """The reason why it has drifted."""
    found = stage.api.get(kinds.NODE_CLAIM, name)["status"]["conditions"]
    return next((each["reason"] for each in found if each["type"] == "Drifted"), None)


def requiring(*requirements: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"requirements": list(requirements)}}}}


def says_of_drift(stage: Stage, answer: Callable[[], str | None]) -> list[float]:
    """Have the cloud answer so; returns the times at which it was asked."""
    asked: list[float] = []

    def drift_reason(_real: Any, *_rest: Any) -> str | None:
        asked.append(stage.clock.now())
        return answer()

    intercept(stage.cloud, "drift_reason", drift_reason)
    return asked


@pytest.mark.core("CORE-675", "CORE-676")
def test_a_machine_becomes_consolidatable_when_nothing_happened_on_it_for_long_enough() -> None:
    stage, name = settled("120s")
    last = parse_time(stage.api.get(kinds.NODE_CLAIM, name)["status"]["lastPodEventTime"])
    stage.until(lambda: "Consolidatable" in said(stage, name))
    assert stage.clock.now() == pytest.approx(last + 120, abs=0.1)
    stage.scale("a", 1)
    stage.run(5)
    assert "Consolidatable" not in said(stage, name)


@pytest.mark.core("CORE-676")
def test_a_pool_that_never_consolidates_any_more_takes_it_back() -> None:
    stage, name = settled("30s")
    stage.run(60)
    assert said(stage, name)["Consolidatable"] == "True"
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"disruption": {"consolidateAfter": "Never"}}})
    stage.run(1)
    assert "Consolidatable" not in said(stage, name)


@pytest.mark.core("CORE-676", "CORE-679")
def test_what_is_not_up_is_neither_consolidatable_nor_drifted() -> None:
    stage = Stage(aged(pool(), "0s"))
    says_of_drift(stage, lambda: "CloudSaysSo")
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.run(0.5)
    seen: list[dict[str, str]] = []
    for _ in range(60):
        stage.run(1)
        seen.extend(conditions(claim) for claim in stage.claims)
    assert all("Consolidatable" not in each for each in seen if each.get("Initialized") != "True")
    assert all("Drifted" not in each for each in seen if each.get("Launched") != "True")


@pytest.mark.core("CORE-682", "CORE-684")
def test_a_new_template_drifts_the_machines_that_are_there_and_the_old_one_takes_it_back() -> None:
    stage, name = settled("Never")
    before = stage.api.get(kinds.NODE_POOL, "default")["spec"]["template"]
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})
    stage.run(1)
    assert drift(stage, name) == "NodePoolDrifted"
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"template": {"metadata": {"labels": {"team": None}}}}})
    stage.run(1)
    assert stage.api.get(kinds.NODE_POOL, "default")["spec"]["template"] == before
    assert drift(stage, name) is None


@pytest.mark.core("CORE-681")
def test_new_requirements_drift_the_machines_that_do_not_meet_them() -> None:
    stage, name = settled("Never")
    zone = stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["labels"][labels.ZONE]
    stage.api.patch(kinds.NODE_POOL, "default", requiring(selector(labels.ZONE, "In", zone)))
    stage.run(1)
    assert drift(stage, name) is None
    stage.api.patch(kinds.NODE_POOL, "default", requiring(selector(labels.ZONE, "NotIn", zone)))
    stage.run(1)
    assert drift(stage, name) == "RequirementsDrifted"


@pytest.mark.core("CORE-682")
def test_a_weight_or_a_limit_drifts_nothing() -> None:
    stage, name = settled("Never")
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"weight": 7, "limits": {"cpu": "100"}}})
    stage.run(600)
    assert drift(stage, name) is None


@pytest.mark.parametrize("model", [GenericModel(), *load_models()], ids=lambda model: model.name)
def test_a_machine_meets_whatever_its_pool_may_require(model: CloudModel) -> None:
    """Otherwise it would be replaced for ever by others that do not either."""
    types = model.instance_types()
    most = max(types, key=lambda each: len(said_by(each, model)))
    kind = next(kind for kind in model.node_classes if kind != kinds.PROVISIONER)
    ref = {"group": kind.group, "kind": kind.kind, "name": "default"}
    asked_for = [selector(key, "Exists") for key in (*said_by(most, model), "acme.com/team")]
    world = World(0, [model])
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Silence()))
    demanding = pool(nodeClassRef=ref, requirements=[*asked_for, selector("acme.com/size", "Gt", "3")])
    node_class = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "default"},
        "spec": SPECS.get(model.name, {}),
    }
    world.apply([node_class, aged(demanding, "Never"), apps("a", 1)])
    world.run(HOUR)
    (claim,) = world.api.list(kinds.NODE_CLAIM).items
    assert conditions(claim)["Initialized"] == "True"
    assert "Drifted" not in conditions(claim)


def said_by(instance_type: InstanceType, model: CloudModel) -> list[str]:
    """The well-known labels of which the type says what they may be."""
    known = {key: instance_type.requirements.get(key) for key in (CORE_LABELS | model.labels).well_known}
    return sorted(key for key, found in known.items() if found is not None and found.values and not found.complement)


@pytest.mark.core("CORE-678")
def test_the_cloud_is_asked_last_and_not_at_all_where_the_pool_says_it_already() -> None:
    stage, name = settled("Never")
    asked = says_of_drift(stage, lambda: "CloudSaysSo")
    stage.run(300)
    assert drift(stage, name) == "CloudSaysSo"
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"template": {"metadata": {"labels": {"team": "b"}}}}})
    stage.run(1)
    assert drift(stage, name) == "NodePoolDrifted"
    before = len(asked)
    stage.run(HOUR)
    assert len(asked) == before


def test_the_cloud_is_asked_every_five_minutes_however_much_happens() -> None:
    stage, name = settled("30s")
    asked = says_of_drift(stage, lambda: None)
    stage.run(300)
    del asked[:]
    for number in range(60):
        stage.scale("a", 1 + number % 2)
        stage.run(30)
    assert len(asked) == 6
    assert drift(stage, name) is None


@pytest.mark.core("CORE-679")
def test_what_the_cloud_says_of_drift_is_believed_until_it_says_otherwise() -> None:
    stage, name = settled("Never")
    answers: list[str | ProviderError | None] = ["ImageDrift", ProviderError("out of order"), "ImageDrift", None]

    def answer() -> str | None:
        found = answers.pop(0) if answers else None
        if isinstance(found, ProviderError):
            raise found
        return found

    says_of_drift(stage, answer)
    seen: list[str | None] = []
    stage.run(300)
    for _ in range(4):
        seen.append(drift(stage, name))
        stage.run(300)
    assert seen == ["ImageDrift", "ImageDrift", "ImageDrift", None]


def test_a_machine_that_the_cloud_does_not_find_has_not_drifted() -> None:
    stage, name = settled("Never")

    def answer() -> str | None:
        raise NodeClaimNotFound("no such machine")

    asked = says_of_drift(stage, answer)
    stage.run(600)
    assert asked
    assert drift(stage, name) is None


def test_a_node_class_that_changed_is_compared_at_once() -> None:
    stage, name = settled("Never")
    says_of_drift(stage, lambda: "ClassDrift")
    stage.run(10)
    assert drift(stage, name) is None
    stage.api.patch(NODE_CLASS, "default", {"spec": {"image": "new"}})
    stage.run(1)
    assert drift(stage, name) == "ClassDrift"


@pytest.mark.core("CORE-677")
def test_a_type_that_is_sold_no_more_is_noticed_from_an_hour_on() -> None:
    stage, name = settled("Never")
    created = parse_time(stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["creationTimestamp"])
    own = stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["labels"][labels.INSTANCE_TYPE]

    def instance_types(real: Any, *rest: Any) -> InstanceTypes:
        return InstanceTypes(each for each in real(*rest) if each.name != own)

    intercept(stage.cloud, "instance_types", instance_types)
    stage.until(lambda: drift(stage, name) is not None, 2 * HOUR)
    assert drift(stage, name) == "InstanceTypeNotFound"
    assert HOUR <= stage.clock.now() - created <= HOUR + 300


@pytest.mark.core("CORE-680")
def test_without_its_pool_a_claim_stays_as_it_is() -> None:
    stage, name = settled("30s")
    stage.run(60)
    stage.api.patch(kinds.NODE_CLAIM, name, {"metadata": {"labels": {labels.NODEPOOL: "gone"}}})
    before = said(stage, name)
    stage.scale("a", 1)
    stage.run(HOUR)
    assert said(stage, name) == before


@pytest.mark.core("CORE-684")
def test_what_changes_together_is_written_together_and_what_stays_is_not_written() -> None:
    stage, _name = settled("30s")
    says_of_drift(stage, lambda: "CloudSaysSo")
    written: list[set[str]] = []

    def patch(real: Any, kind: Kind, obj: str, body: Mapping[str, Any], *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and "conditions" in body.get("status", {}):
            written.append(set(conditions(body)))
        return real(kind, obj, body, *rest, **more)

    stage.kube.through("patch", patch)
    stage.api.patch(NODE_CLASS, "default", {"spec": {"image": "new"}})
    stage.api.patch(kinds.NODE_POOL, "default", {"spec": {"disruption": {"consolidateAfter": "0s"}}})
    stage.run(1)
    assert len(written) == 1
    assert {"Consolidatable", "Drifted"} <= written[0]
    stage.run(2 * HOUR)
    assert len(written) == 1


def test_after_a_restart_nothing_is_written_anew() -> None:
    stage, name = settled("30s")
    stage.run(60)
    before = stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["resourceVersion"]
    stage.start()
    stage.run(600)
    assert stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["resourceVersion"] == before
