"""Static pools: a fixed number of nodes, whatever the pods do (core specification 5.13)."""

from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.settings import Settings
from tests.karpy.controllers.stage import Json, Stage, apps, conditions, pool, refusal
from tests.karpy.sim.api.conftest import Client
from tests.karpy.sim.manifests import workload

STATIC = Settings(static_capacity=True)


def static(replicas: int, *, limit: int | None = None, name: str = "static", **template_spec: Any) -> Json:
    made = pool(name, **template_spec)
    made["spec"]["replicas"] = replicas
    if limit is not None:
        made["spec"]["limits"] = {"nodes": str(limit)}
    return made


def change(stage: Stage, **spec: Any) -> None:
    stage.api.patch(kinds.NODE_POOL, "static", {"spec": spec})


def nodes_counted(stage: Stage) -> int:
    return int(stage.api.get(kinds.NODE_POOL, "static")["status"]["nodes"])


@pytest.mark.core("CORE-716", "CORE-717", "CORE-709")
def test_a_pool_of_two_grows_to_three_to_its_limit_shrinks_to_one_and_to_none() -> None:
    """The steps of the recording of a static pool."""
    stage = Stage(static(2), settings=STATIC)
    stage.run(30)
    assert (len(stage.nodes), nodes_counted(stage)) == (2, 2)
    first = set(stage.names(kinds.NODE_CLAIM))
    change(stage, replicas=3)
    stage.run(30)
    assert (len(stage.nodes), nodes_counted(stage)) == (3, 3)
    change(stage, replicas=6, limits={"nodes": "4"})
    stage.run(120)
    assert (len(stage.nodes), nodes_counted(stage)) == (4, 4)
    assert first < set(stage.names(kinds.NODE_CLAIM))
    change(stage, replicas=1)
    stage.run(60)
    assert (len(stage.nodes), nodes_counted(stage)) == (1, 1)
    assert set(stage.names(kinds.NODE_CLAIM)) < first
    change(stage, replicas=0)
    stage.run(60)
    assert (stage.nodes, stage.claims, nodes_counted(stage)) == ([], [], 0)


@pytest.mark.core("CORE-716")
def test_its_claims_are_what_the_template_says_and_the_cloud_chooses_the_machine() -> None:
    wanted = {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["c-2x-amd64", "c-4x-amd64"]}
    made = static(1, requirements=[wanted], taints=[{"key": "a", "effect": "NoSchedule"}], expireAfter="1h")
    made["spec"]["template"]["metadata"] = {"labels": {"team": "blue"}, "annotations": {"note": "x"}}
    stage = Stage(made, settings=STATIC)
    (claim,) = stage.claims
    spec, meta = claim["spec"], claim["metadata"]
    asked = {each["key"]: each["values"] for each in spec["requirements"]}
    assert asked[labels.INSTANCE_TYPE] == ["c-2x-amd64", "c-4x-amd64"]
    assert asked["sim.karpy.dev/simnodeclass"] == ["default"]
    assert asked[labels.NODEPOOL] == ["static"]
    assert asked["team"] == ["blue"]
    assert spec["resources"] in ({}, {"requests": {}})
    assert spec["taints"] == [{"key": "a", "effect": "NoSchedule"}]
    assert spec["expireAfter"] == "1h"
    assert meta["labels"][labels.NODEPOOL] == "static"
    assert meta["labels"]["team"] == "blue"
    assert meta["labels"][labels.INSTANCE_TYPE] == "c-2x-amd64"
    assert meta["annotations"]["note"] == "x"
    assert labels.MIN_VALUES_RELAXED not in meta["annotations"]
    assert meta["generateName"] == "static-"
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["blockOwnerDeletion"]) == ("NodePool", "static", True)


@pytest.mark.core("CORE-716")
def test_a_pool_that_leaves_the_machine_open_gets_the_cheapest_of_its_cloud_s_usual_kind() -> None:
    stage = Stage(static(3), settings=STATIC)
    stage.run(10)
    kinds_of_machine = {
        (claim["metadata"]["labels"][labels.INSTANCE_TYPE], claim["metadata"]["labels"][labels.CAPACITY_TYPE])
        for claim in stage.claims
    }
    assert kinds_of_machine == {("c-1x-amd64", "on-demand")}


@pytest.mark.core("CORE-716")
def test_fifty_at_once() -> None:
    stage = Stage(static(50), settings=STATIC)
    stage.run(30)
    assert len(stage.nodes) == 50


@pytest.mark.core("CORE-715")
@pytest.mark.parametrize("why", ["gate", "foreign", "not ready", "dynamic"])
def test_nothing_is_launched_for_a_pool_that_is_not_to_be_served(why: str) -> None:
    made = static(2)
    if why == "foreign":
        made = static(2, nodeClassRef={"group": "other.io", "kind": "OtherClass", "name": "x"})
    if why == "not ready":
        made["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "missing"
    if why == "dynamic":
        del made["spec"]["replicas"]
    stage = Stage(made, settings=Settings() if why == "gate" else STATIC)
    stage.run(120)
    assert stage.claims == []


@pytest.mark.core("CORE-715")
def test_a_pool_that_gets_ready_later_gets_its_nodes_then() -> None:
    made = static(2)
    made["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "late"
    stage = Stage(made, settings=STATIC)
    stage.run(60)
    stage.world.apply([{"apiVersion": "sim.karpy.dev/v1", "kind": "SimNodeClass", "metadata": {"name": "late"}}])
    stage.run(10)
    assert len(stage.nodes) == 2


@pytest.mark.core("CORE-715")
def test_a_claim_that_the_api_server_refuses_is_told_and_tried_again() -> None:
    stage = Stage(pool(), settings=STATIC)
    refused: list[float] = []

    def create(real: Any, kind: Kind, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM and len(refused) < 2:
            refused.append(stage.clock.now())
            raise refusal(500)
        return real(kind, *rest, **more)

    stage.kube.through("create", create)
    stage.world.apply([static(2)])
    stage.run(20)
    assert len(refused) == 2
    assert len(stage.nodes) == 2
    assert any(event["reason"] == "FailedCreate" for event in stage.all(kinds.EVENT))


@pytest.mark.core("CORE-716")
def test_a_machine_that_goes_is_replaced() -> None:
    stage = Stage(static(2), settings=STATIC)
    stage.run(20)
    gone = stage.names(kinds.NODE_CLAIM)[0]
    stage.api.delete(kinds.NODE_CLAIM, gone)
    stage.run(30)
    assert len(stage.nodes) == 2
    assert gone not in stage.names(kinds.NODE_CLAIM)


@pytest.mark.core("CORE-502", "CORE-716")
def test_a_limit_is_kept_while_the_old_machines_drain() -> None:
    stage = Stage(static(3, limit=3), settings=STATIC)
    stage.run(20)
    most = []
    for name in stage.names(kinds.NODE_CLAIM):
        stage.api.delete(kinds.NODE_CLAIM, name)
    for _ in range(40):
        stage.run(1)
        most.append(len(stage.claims))
    assert max(most) == 3
    assert len(stage.nodes) == 3


def test_the_limit_is_told_once() -> None:
    stage = Stage(static(5, limit=2), settings=STATIC)
    stage.run(600)
    told = [event for event in stage.all(kinds.EVENT) if event["reason"] == "NodeLimitReached"]
    assert [event["message"] for event in told] == ["The limit of nodes leaves room for 2 of 5 replicas"]


def test_pods_may_run_there_but_nothing_is_launched_for_them_and_nothing_consolidated() -> None:
    large = {"key": labels.INSTANCE_TYPE, "operator": "In", "values": ["s-8x-amd64"]}
    stage = Stage(static(2, requirements=[large]), settings=STATIC)
    stage.run(20)
    stage.world.apply([apps("a", 3), apps("b", 1, cpu="30")])
    stage.run(300)
    assert stage.running("a") == 3
    assert stage.running("b") == 0
    assert len(stage.nodes) == 2
    assert all("Consolidatable" not in conditions(claim) for claim in stage.claims)


@pytest.mark.core("CORE-718")
def test_empty_nodes_go_before_those_with_pods() -> None:
    stage = Stage(static(3), settings=STATIC)
    stage.run(20)
    stage.world.apply([workload(kinds.DAEMON_SET, "agent"), apps("a", 1, cpu="500m")])
    stage.run(20)
    (busy,) = {pod["spec"]["nodeName"] for pod in stage.all(kinds.POD) if pod["metadata"]["labels"]["app"] == "a"}
    change(stage, replicas=1)
    stage.run(60)
    assert stage.names(kinds.NODE) == [busy]


@pytest.mark.core("CORE-718")
def test_of_nodes_with_as_much_on_them_the_one_goes_that_has_less_of_its_life_before_it() -> None:
    stage = Stage(static(1, expireAfter="10h"), settings=STATIC)
    stage.run(20)
    (old,) = stage.names(kinds.NODE)
    stage.run(3600)
    change(stage, replicas=2)
    stage.run(20)
    stage.world.apply([workload(kinds.DAEMON_SET, "agent"), apps("a", 2, cpu="600m")])
    stage.run(20)
    assert stage.running("a") == len(stage.nodes) == 2
    change(stage, replicas=1)
    stage.run(60)
    assert old not in stage.names(kinds.NODE)


@pytest.mark.core("CORE-717")
def test_a_deletion_that_is_refused_is_tried_again_and_no_other_machine_goes_instead() -> None:
    stage = Stage(static(3), settings=STATIC)
    stage.run(20)
    asked: list[str] = []

    def delete(real: Any, kind: Kind, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            asked.append(name)
            if len(asked) < 3:
                raise refusal(500)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", delete)
    change(stage, replicas=2)
    stage.run(60)
    assert len(set(asked)) == 1
    assert len(stage.nodes) == 2


@pytest.mark.core("CORE-717")
def test_a_pool_that_is_deleted_is_not_trimmed() -> None:
    """Its claims go with it, each in its order."""
    stage = Stage(static(3), settings=STATIC)
    stage.run(20)
    stage.api.patch(kinds.NODE_POOL, "static", {"metadata": {"finalizers": ["test/hold"]}})
    stage.api.delete(kinds.NODE_POOL, "static")
    change(stage, replicas=1)
    stage.run(30)
    assert len(stage.nodes) == 3


def test_it_is_scaled_as_anything_is() -> None:
    """The scale of a NodePool: its replicas and its nodes, as ``kubectl scale`` and autoscalers see them."""
    stage = Stage(static(2), settings=STATIC)
    stage.run(20)
    rest, path = Client(stage.api), "/apis/karpenter.sh/v1/nodepools/static/scale"
    assert replicas_in(rest("GET", path)) == (2, 2)
    rest("PATCH", path, {"spec": {"replicas": 4}}, media="application/merge-patch+json")
    stage.run(30)
    assert replicas_in(rest("GET", path)) == (4, 4)
    assert len(stage.nodes) == 4


def replicas_in(answer: tuple[int, Any]) -> tuple[int, int]:
    code, found = answer
    assert code == 200, found
    return found["spec"]["replicas"], found["status"]["replicas"]
