"""A node joins, and becomes ours once its cloud's hooks let it pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest

from karpy.cloud.provider import HookAnswer
from karpy.errors import ProviderError
from karpy.metrics import NODES_CREATED
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.node import Node
from karpy.objects.nodeclaim import NodeClaim
from tests.karpy.controllers.stage import Stage, apps, conditions, intercept, pool, taint_keys


@attrs.define
class Hook:
    """Answers what it is told to answer."""

    name: str
    answer: HookAnswer | ProviderError
    asked: int = 0

    def registered(self, claim: NodeClaim, node: Node) -> HookAnswer:
        assert claim.provider_id == node.spec.provider_id
        self.asked += 1
        if isinstance(self.answer, ProviderError):
            raise self.answer
        return self.answer


DONE, NOT_YET = HookAnswer(), HookAnswer(is_done=False, retry_after_s=7.0)


def staged(*hooks: Hook, **template: Any) -> Stage:
    return Stage(pool(**template), hooks=hooks)


def registered(stage: Stage) -> Mapping[str, Any]:
    (claim,) = stage.claims
    return next(each for each in claim["status"]["conditions"] if each["type"] == "Registered")


def events(stage: Stage, reason: str) -> list[Mapping[str, Any]]:
    return [event for event in stage.all(kinds.EVENT) if event["reason"] == reason]


@pytest.mark.core("CORE-649")
def test_a_node_that_is_registered_is_counted_and_logged_and_its_claim_names_it() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (node,) = stage.nodes
    claim = stage.api.get(kinds.NODE_CLAIM, name)
    assert claim["status"]["nodeName"] == node["metadata"]["name"]
    zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"]
    assert stage.metrics.told(NODES_CREATED) == [(1.0, {"nodepool": "default", "zone": zone})]
    (line,) = stage.log.said("registered nodeclaim")
    assert line == {"provider_id": claim["status"]["providerID"], "Node": node["metadata"]["name"]}
    (line,) = stage.log.said("initialized nodeclaim")
    assert line["allocatable"]["cpu"] == node["status"]["allocatable"]["cpu"]


@pytest.mark.core("CORE-650")
def test_a_node_that_joins_without_the_taint_is_registered_and_that_is_told() -> None:
    stage = Stage()

    def create(real: Callable[..., Any], kind: Kind, body: Any, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE:
            body = {**body, "spec": {**body["spec"], "taints": []}}
        return real(kind, body, *rest, **more)

    intercept(stage.api, "create", create)
    name = stage.grown(apps("a", 1))
    (event,) = events(stage, "UnregisteredTaintMissing")
    assert event["involvedObject"]["name"] == name
    assert event["message"].startswith(
        "Missing karpenter.sh/unregistered taint which prevents registration related race"
    )
    assert registered(stage)["status"] == "True"
    assert stage.log.said("node claim registration error")


@pytest.mark.core("CORE-652")
@pytest.mark.parametrize(("value", "kept"), [("true", []), ("yes", ["dedicated"])])
def test_taints_are_synced_unless_the_node_says_no_in_so_many_words(value: str, kept: list[str]) -> None:
    stage = Stage(pool(taints=[{"key": "dedicated", "effect": "NoSchedule"}]))

    def create(real: Callable[..., Any], kind: Kind, body: Any, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE:
            labels = {**body["metadata"]["labels"], "karpenter.sh/do-not-sync-taints": value}
            own = [taint for taint in body["spec"]["taints"] if taint["key"] != "dedicated"]
            body = {**body, "metadata": {**body["metadata"], "labels": labels}, "spec": {**body["spec"], "taints": own}}
        return real(kind, body, *rest, **more)

    intercept(stage.api, "create", create)
    stage.grown(apps("a", 1, tolerations=[{"key": "dedicated", "operator": "Exists"}]))
    assert taint_keys(stage.nodes[0]) == kept


@pytest.mark.core("CORE-655")
def test_a_node_stays_closed_until_every_hook_lets_it_pass() -> None:
    disks, dns = Hook("disks", NOT_YET), Hook("dns", NOT_YET)
    stage = staged(disks, dns, startupTaints=[{"key": "cni", "effect": "NoSchedule"}])
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    found = registered(stage)
    assert (found["status"], found["reason"], found["message"]) == ("Unknown", "RegistrationHookPending", "disks, dns")
    (node,) = stage.nodes
    assert {"karpenter.sh/unregistered", "cni"} <= set(taint_keys(node))
    assert node["metadata"]["finalizers"] == ["karpenter.sh/termination"]
    assert [owner["kind"] for owner in node["metadata"]["ownerReferences"]] == ["NodeClaim"]
    assert "karpenter.sh/registered" not in node["metadata"]["labels"]
    dns.answer = DONE
    stage.until(lambda: registered(stage)["message"] == "disks", 10)
    disks.answer = DONE
    stage.until(lambda: registered(stage)["status"] == "True", 10)
    assert "karpenter.sh/unregistered" not in taint_keys(stage.nodes[0])


@pytest.mark.core("CORE-655", "CORE-653")
def test_a_start_up_taint_that_is_taken_off_while_hooks_are_waited_for_stays_off() -> None:
    hook = Hook("disks", NOT_YET)
    stage = staged(hook, startupTaints=[{"key": "cni", "effect": "NoSchedule"}])
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    (node,) = stage.nodes
    kept = [taint for taint in node["spec"]["taints"] if taint["key"] != "cni"]
    stage.api.patch(kinds.NODE, node["metadata"]["name"], {"spec": {"taints": kept}})
    hook.answer = DONE
    stage.run(60)
    assert (stage.running("a"), taint_keys(stage.nodes[0])) == (1, [])


@pytest.mark.core("CORE-655")
def test_a_hook_that_fails_is_named_and_asked_again_and_the_others_are_asked_all_the_same() -> None:
    broken, fine = Hook("broken", ProviderError("no answer")), Hook("fine", DONE)
    stage = staged(broken, fine)
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    assert fine.asked == broken.asked > 1
    assert registered(stage)["message"] == "broken"
    broken.answer = DONE
    stage.run(90)
    assert stage.running("a") == 1


@pytest.mark.core("CORE-655")
def test_labels_that_a_hook_finds_out_are_put_on_claim_and_node() -> None:
    stage = staged(Hook("rack", HookAnswer(labels={"rack": "r7", "karpenter.sh/nodepool": "another"})))
    name = stage.grown(apps("a", 1))
    for labelled in (stage.api.get(kinds.NODE_CLAIM, name), stage.nodes[0]):
        assert labelled["metadata"]["labels"]["rack"] == "r7"
        assert labelled["metadata"]["labels"]["karpenter.sh/nodepool"] == "default"


def test_a_hook_that_never_lets_the_node_pass_ends_with_the_time_to_join() -> None:
    stage = staged(Hook("disks", HookAnswer(is_done=False)))
    stage.world.apply([apps("a", 1)])
    stage.run(60)
    (first,) = stage.names(kinds.NODE_CLAIM)
    stage.run(900)
    assert first not in stage.names(kinds.NODE_CLAIM)
    assert stage.log.said("terminating due to timeout")[0]["reason"] == "registration_timeout"


def test_two_nodes_of_one_claim_are_told_until_one_of_them_goes() -> None:
    stage = Stage()
    hits: list[str] = []

    def create(real: Callable[..., Any], kind: Kind, body: Any, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE and not hits:
            hits.append("twin")
            twin = {**body, "metadata": {**body["metadata"], "name": "twin"}}
            real(kind, twin, *rest, **more)
        return real(kind, body, *rest, **more)

    intercept(stage.api, "create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    found = registered(stage)
    assert (found["status"], found["reason"]) == ("False", "MultipleNodesFound")
    assert "twin" in found["message"]
    assert conditions(stage.claims[0])["Ready"] == "False"
    stage.api.delete(kinds.NODE, "twin")
    stage.run(30)
    assert conditions(stage.claims[0])["Ready"] == "True"
