"""Pending pods become claims: when, once, and whatever else is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from karpy import labels
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.templatehash import template_hash
from karpy.operator import Operator
from karpy.scheduling.plan import Plan
from karpy.settings import Settings
from karpy.sim.world import World
from tests.karpy.controllers.stage import Notes, Stage, apps, pool, refusal
from tests.karpy.sim.manifests import NODE_CLASS, QUICK, bare_pod, event_reasons


def first_plan(stage: Stage) -> Plan:
    return next(decision for _, decision in stage.decisions if isinstance(decision, Plan))


def of_us(event: Mapping[str, Any]) -> bool:
    return event["source"].get("component") == "karpenter"


@pytest.mark.core("CORE-311", "CORE-312")
@pytest.mark.parametrize("count", [1, 5])
def test_pods_that_wait_get_nodes_and_run_there(count: int) -> None:
    stage = Stage()
    stage.world.apply([apps("a", count)])
    stage.run(120)
    assert stage.running("a") == count


@pytest.mark.core("CORE-103")
def test_pods_are_left_to_the_scheduler_of_the_cluster() -> None:
    stage = Stage()
    bound: list[Any] = []
    stage.kube.through("bind", lambda _real, *arguments: bound.append(arguments))
    written: list[Kind] = []
    for name in ("create", "patch", "replace"):
        stage.kube.through(name, lambda real, kind, *rest, **more: (written.append(kind), real(kind, *rest, **more))[1])
    stage.world.apply([apps("a", 3)])
    stage.run(120)
    assert stage.running("a") == 3
    assert bound == []
    assert kinds.NODE_CLAIM in written
    assert kinds.POD not in written


@pytest.mark.core("CORE-308")
def test_a_batch_is_closed_when_no_new_pod_came_for_the_idle_time() -> None:
    stage = Stage(settings=Settings(batch_idle_duration_s=3.0))
    stage.world.apply([apps("a", 2)])
    assert stage.until(lambda: bool(stage.claims)) == 3.0


@pytest.mark.core("CORE-309", "CORE-310")
@pytest.mark.parametrize(("name", "closed_after"), [("p", 3.0), ("another", 5.0)])
def test_a_new_pod_holds_the_batch_open_and_one_that_is_in_it_does_not(name: str, closed_after: float) -> None:
    stage = Stage(settings=Settings(batch_idle_duration_s=3.0))
    stage.world.apply([bare_pod("p")])
    stage.run(2)
    if name == "p":
        stage.api.patch(kinds.POD, "p", {"metadata": {"labels": {"touched": "yes"}}}, "default")
    else:
        stage.world.apply([bare_pod(name)])
    assert 2.0 + stage.until(lambda: bool(stage.claims)) == closed_after


@pytest.mark.core("CORE-310")
def test_a_batch_that_pods_keep_coming_to_is_closed_after_the_longest_time() -> None:
    stage = Stage(settings=Settings(batch_idle_duration_s=3.0, batch_max_duration_s=5.0))
    start = stage.clock.now()
    for serial in range(10):
        stage.world.apply([bare_pod(f"p{serial}")])
        stage.run(1)
    assert stage.decisions[0][0] - start == 5.0


def test_pods_whose_machine_is_coming_up_are_not_launched_for_again() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 2)])
    stage.run(300)
    assert len(stage.claims) == 1
    assert sum(len(decision.launches) for _, decision in stage.decisions) == 1


def test_pods_are_told_where_they_should_go() -> None:
    stage = Stage()
    stage.world.apply([bare_pod("p")])
    stage.run(30)
    assert event_reasons(stage.world, "p").count("Nominated") == 1


def test_pods_that_fit_nowhere_are_told_why() -> None:
    stage = Stage()
    stage.world.apply([bare_pod("p", cpu="1000")])
    stage.run(60)
    told = [event for event in stage.all(kinds.EVENT) if of_us(event) and event["involvedObject"]["kind"] == "Pod"]
    assert [event["reason"] for event in told] == ["FailedScheduling"]
    assert stage.claims == []


@pytest.mark.parametrize("label", [labels.NODEPOOL, labels.PROVISIONER_NAME])
def test_pods_that_stay_off_our_machines_are_told_nothing(label: str) -> None:
    stage = Stage()
    term = {"matchExpressions": [{"key": label, "operator": "DoesNotExist"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    stage.world.apply([bare_pod("p", affinity={"nodeAffinity": required})])
    stage.run(60)
    assert stage.claims == []
    about_pods = [event for event in stage.all(kinds.EVENT) if event["involvedObject"]["kind"] == "Pod"]
    assert not any(of_us(event) for event in about_pods)


def test_pods_that_claim_devices_are_told_so_and_the_others_get_their_node() -> None:
    stage = Stage()
    claims = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    stage.world.apply([bare_pod("p", resourceClaims=claims), apps("a", 1)])
    stage.run(120)
    assert stage.running("a") == 1
    (told,) = [event for event in stage.all(kinds.EVENT) if event["reason"] == "FailedScheduling" and of_us(event)]
    assert "Dynamic Resource Allocation" in told["message"]
    assert told["involvedObject"]["name"] == "p"


def test_pods_of_a_workload_are_spread_as_the_cluster_does_it_by_default() -> None:
    by_host = "{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}"
    config = f"podTopologySpread: {{defaultConstraints: [{by_host}]}}"
    stage = Stage(settings=Settings(scheduler_config=config))
    stage.world.apply([apps("a", 3, "100m")])
    stage.run(30)
    assert len(first_plan(stage).launches) == 3


@pytest.mark.core("CORE-103")
def test_pods_are_never_bound() -> None:
    stage = Stage()
    written: list[Kind] = []
    for verb in ("create", "patch", "replace", "delete"):
        stage.kube.through(verb, lambda real, kind, *rest, **more: (written.append(kind), real(kind, *rest, **more))[1])
    stage.grown(apps("a", 2))
    assert kinds.NODE_CLAIM in written
    assert not {kind.resource for kind in written} & {"pods", "bindings"}
    assert stage.running("a") == 2


def test_a_claim_that_the_server_refuses_does_not_stop_the_launches_of_other_pools() -> None:
    stage = Stage(pool("bad", labels={"team": "bad"}), pool("good", labels={"team": "good"}))

    def create(real: Any, kind: Kind, obj: Any, *rest: Any) -> Any:
        if kind == kinds.NODE_CLAIM and obj["metadata"]["generateName"] == "bad-":
            raise refusal(422, "Invalid")
        return real(kind, obj, *rest)

    stage.kube.through("create", create)
    stage.world.apply([apps("a", 1, "4", nodeSelector={"team": "bad"}), apps("b", 1, nodeSelector={"team": "good"})])
    stage.run(120)
    assert (stage.running("a"), stage.running("b")) == (0, 1)
    assert "FailedCreate" in event_reasons(stage.world, "bad")
    assert "FailedCreate" not in event_reasons(stage.world, "good")


def test_a_launch_that_was_refused_once_comes_with_the_next_try() -> None:
    stage = Stage()
    refusals = [refusal(500)]

    def create(real: Any, kind: Kind, *rest: Any) -> Any:
        if kind == kinds.NODE_CLAIM and refusals:
            raise refusals.pop()
        return real(kind, *rest)

    stage.kube.through("create", create)
    stage.grown(apps("a", 2))
    assert stage.running("a") == 2


def test_a_claim_that_vanished_in_a_gap_of_the_watch_is_forgotten_by_the_next_list() -> None:
    stage = Stage()
    feed = stage.world.loop._feeds[kinds.NODE_CLAIM].reflector
    vanished: list[str] = []

    def create(real: Any, kind: Kind, *rest: Any) -> Any:
        made = real(kind, *rest)
        if kind == kinds.NODE_CLAIM and not vanished:
            vanished.append(made["metadata"]["name"])
            stage.api.delete(kinds.NODE_CLAIM, vanished[0])
            feed.stop()  # neither its coming nor its going is seen
        return made

    stage.kube.through("create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(120)
    assert stage.running("a") == 1
    assert vanished[0] not in stage.names(kinds.NODE_CLAIM)
    assert stage.operator.state.claim(vanished[0]) is None


@pytest.mark.core("CORE-324")
def test_a_claim_carries_the_hash_of_the_pool_that_it_was_planned_from() -> None:
    """The pool's template changes between the plan and the claim: what comes up is what the old one said, so it drifts."""
    stage = Stage()

    def create(real: Any, kind: Kind, *rest: Any) -> Any:
        if kind == kinds.NODE_CLAIM:
            change = {"spec": {"template": {"metadata": {"labels": {"team": "new"}}}}}
            stage.api.patch(kinds.NODE_POOL, "default", change)
        return real(kind, *rest)

    stage.kube.through("create", create)
    stage.world.apply([apps("a", 1)])
    stage.run(1)
    (claim,) = stage.claims
    planned_from = first_plan(stage).launches[0].pool
    assert "team" not in planned_from.labels
    assert claim["metadata"]["annotations"][labels.NODEPOOL_HASH] == template_hash(planned_from)


def test_machines_of_one_plan_go_out_together() -> None:
    sizes: list[int] = []

    def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
        sizes.append(len(calls))
        return [call() for call in calls]

    world = World(timing=QUICK)
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=world.clock, log=Notes(), together=together))
    hosts = {
        "topologyKey": labels.HOSTNAME,
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [hosts]}}
    world.apply([NODE_CLASS, pool(), *(bare_pod(f"p{number}", affinity=apart) for number in range(5))])
    world.run(3)
    assert sizes == [5]
