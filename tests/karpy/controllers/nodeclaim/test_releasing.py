"""A claim that is deleted gives back its nodes, its machine, and at last itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karpy import labels
from karpy.clock import parse_time
from karpy.errors import InsufficientCapacity, ProviderError
from karpy.metrics import (
    NODECLAIMS_INSTANCE_TERMINATION_DURATION,
    NODECLAIMS_TERMINATED,
    NODECLAIMS_TERMINATION_DURATION,
)
from karpy.objects import kinds
from karpy.objects.watchevent import EventType, WatchEvent
from tests.karpy.controllers.stage import Stage, apps, conditions, intercept, pool, refusal


def delete(stage: Stage, name: str) -> None:
    stage.scale("a", 0)
    stage.api.delete(kinds.NODE_CLAIM, name)


def another_node(stage: Stage, name: str) -> None:
    """A second node with the provider id of the first."""
    (node,) = stage.nodes
    metadata = {"name": name, "labels": dict(node["metadata"]["labels"]), "finalizers": ["test.karpy.dev/slow"]}
    spec = {"providerID": node["spec"]["providerID"]}
    stage.api.create(kinds.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec})


@pytest.mark.core("CORE-669")
def test_all_nodes_of_a_claim_are_deleted_and_waited_for() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    another_node(stage, "twin")
    delete(stage, name)
    stage.run(60)
    assert stage.names(kinds.NODE) == ["twin"]
    assert stage.api.get(kinds.NODE, "twin")["metadata"]["deletionTimestamp"]
    assert stage.names(kinds.NODE_CLAIM) == [name]
    stage.api.patch(kinds.NODE, "twin", {"metadata": {"finalizers": None}})
    stage.run(60)
    assert (stage.nodes, stage.claims, stage.cloud.machines) == ([], [], ())


@pytest.mark.core("CORE-672")
def test_a_claim_whose_node_was_never_ours_leaves_the_node_alone() -> None:
    stage = Stage()
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.until(lambda: bool(stage.claims) and conditions(stage.claims[0]).get("Launched") == "True")
    name, provider_id = stage.names(kinds.NODE_CLAIM)[0], stage.claims[0]["status"]["providerID"]
    for twin in ("one", "two"):  # two of them, so that it stays unregistered
        spec = {"providerID": provider_id}
        stage.api.create(kinds.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": twin}, "spec": spec})
    stage.run(5)
    deleted: list[str] = []

    def forbid(real: Callable[..., Any], kind: Any, name: str, *rest: Any, **more: Any) -> Any:
        if kind == kinds.NODE:
            deleted.append(name)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", forbid)
    delete(stage, name)
    stage.run(40)
    assert name not in stage.names(kinds.NODE_CLAIM)
    assert not {"one", "two"} & set(deleted)


def test_a_node_that_was_opened_is_drained_though_its_claim_does_not_know_of_it() -> None:
    """karpy stopped between the two writes of a registration."""
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (claim,), (node,) = stage.claims, stage.nodes
    unregistered = [each for each in claim["status"]["conditions"] if each["type"] not in ("Registered", "Initialized")]
    stage.api.delete(kinds.NODE_CLAIM, name)
    status = {"conditions": unregistered, "nodeName": None}
    stage.api.patch(kinds.NODE_CLAIM, name, {"status": status}, subresource="status")
    done: list[str] = []

    def note(what: str) -> Callable[..., Any]:
        def noted(real: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
            done.append(what)
            return real(*arguments, **more)

        return noted

    stage.kube.through("evict", note("evict"))
    intercept(stage.cloud, "delete", note("end"))
    stage.run(300)
    assert done[:2] == ["evict", "end"]
    assert node["metadata"]["name"] not in stage.names(kinds.NODE)
    assert name not in stage.names(kinds.NODE_CLAIM)
    assert stage.running("a") == 1


@pytest.mark.core("CORE-670")
def test_a_claim_that_was_never_launched_is_just_let_go() -> None:
    stage = Stage()
    asked: list[str] = []

    def note(real: Callable[..., Any], provider_id: str) -> None:
        asked.append(provider_id)
        real(provider_id)

    intercept(stage.cloud, "delete", note)
    stage.cloud.fail_launches(InsufficientCapacity("none left"))
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare"}, "spec": {}}
    stage.api.create(kinds.NODE, bare)
    stage.grown(apps("a", 1))
    assert asked == []
    assert "bare" in stage.names(kinds.NODE)
    ((_, told), *_) = stage.metrics.told(NODECLAIMS_TERMINATED)
    assert told == {"nodepool": "default", "capacity_type": "", "zone": ""}
    assert stage.metrics.told(NODECLAIMS_INSTANCE_TERMINATION_DURATION) == []


@pytest.mark.core("CORE-668")
def test_as_long_as_the_cloud_fails_or_shows_the_machine_the_claim_stays() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    healthy: list[bool] = []

    def fail(real: Callable[..., Any], provider_id: str) -> None:
        if not healthy:
            raise ProviderError("the service is down")
        real(provider_id)

    intercept(stage.cloud, "delete", fail)
    delete(stage, name)
    stage.run(120)
    assert stage.names(kinds.NODE_CLAIM) == [name]
    healthy.append(True)
    stage.until(lambda: bool(stage.cloud.machines and stage.cloud.machines[0].terminating_since), 90)
    assert stage.names(kinds.NODE_CLAIM) == [name]
    stage.run(30)
    assert (stage.claims, stage.cloud.machines) == ([], ())


@pytest.mark.core("CORE-666", "CORE-665")
def test_that_the_machine_is_being_ended_leaves_ready_alone_and_renews_the_generation() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    last: list[Any] = []
    stage.world.subscribe(
        kinds.NODE_CLAIM, lambda event: last.append(event.object) if event.type is not EventType.DELETED else None
    )
    delete(stage, name)
    stage.run(60)
    said = conditions(last[-1])
    assert (said["InstanceTerminating"], said["Ready"]) == ("True", "True")
    generation = last[-1]["metadata"]["generation"]
    assert generation == 2
    assert {each["observedGeneration"] for each in last[-1]["status"]["conditions"]} == {generation}


@pytest.mark.core("CORE-667")
def test_amounts_in_an_unusual_form_do_not_hold_a_claim_back() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    odd = {"status": {"capacity": {"cpu": "4000m", "memory": "0.5Gi", "pods": "1e2"}}}
    stage.api.patch(kinds.NODE_CLAIM, name, odd, subresource="status")
    delete(stage, name)
    stage.run(60)
    assert stage.claims == []


@pytest.mark.core("CORE-671")
def test_the_moment_by_which_the_last_pod_is_ended_is_written_once() -> None:
    stage = Stage(pool(terminationGracePeriod="10m"))
    first = stage.grown(apps("a", 1))
    seen: list[Any] = []
    stage.world.subscribe(kinds.NODE_CLAIM, lambda event: seen.append(event.object["metadata"]))
    delete(stage, first)
    stage.run(60)
    marked = [each for each in seen if labels.TERMINATION_TIMESTAMP in (each.get("annotations") or {})]
    (deadline,) = {each["annotations"][labels.TERMINATION_TIMESTAMP] for each in marked}
    assert parse_time(deadline) == parse_time(marked[0]["deletionTimestamp"]) + 600
    assert [line[labels.TERMINATION_TIMESTAMP] for line in stage.log.said("annotated nodeclaim")] == [deadline]


@pytest.mark.core("CORE-671")
def test_a_moment_that_somebody_chose_stays_and_without_a_grace_period_there_is_none() -> None:
    for grace, chosen, wanted in (("10m", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), ("", "", "")):
        stage = Stage(pool(**({"terminationGracePeriod": grace} if grace else {})))
        name = stage.grown(apps("a", 1))
        if chosen:
            mark = {"metadata": {"annotations": {labels.TERMINATION_TIMESTAMP: chosen}}}
            stage.api.patch(kinds.NODE_CLAIM, name, mark)
        seen: list[str] = []

        def note(event: WatchEvent, seen: list[str] = seen) -> None:
            seen.append((event.object["metadata"].get("annotations") or {}).get(labels.TERMINATION_TIMESTAMP, ""))

        stage.world.subscribe(kinds.NODE_CLAIM, note)
        delete(stage, name)
        stage.run(60)
        assert seen[-1] == wanted


def test_a_claim_that_is_gone_is_counted_with_how_long_it_took_and_logged() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    claim = stage.api.get(kinds.NODE_CLAIM, name)
    started = stage.clock.now()
    delete(stage, name)
    took = stage.until(lambda: not stage.claims, 60)
    ((_, told),) = stage.metrics.told(NODECLAIMS_TERMINATED)
    place = {key: claim["metadata"]["labels"][full] for key, full in _PLACES.items()}
    assert told == {"nodepool": "default", **place}
    ((whole, _),) = stage.metrics.told(NODECLAIMS_TERMINATION_DURATION)
    ((machine, _),) = stage.metrics.told(NODECLAIMS_INSTANCE_TERMINATION_DURATION)
    assert whole == pytest.approx(took, abs=1.0)
    assert 5.0 <= machine <= whole
    assert stage.clock.now() > started
    (line,) = stage.log.said("deleted nodeclaim")
    assert line == {"provider_id": claim["status"]["providerID"], "Node": claim["status"]["nodeName"]}


_PLACES = {"capacity_type": "karpenter.sh/capacity-type", "zone": "topology.kubernetes.io/zone"}


def test_a_node_that_the_state_has_not_heard_of_is_drained_all_the_same() -> None:
    """The watch of nodes is behind that of claims: what is not known to be there may be there."""
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (node,) = stage.names(kinds.NODE)
    raw = stage.api.get(kinds.NODE, node)
    stage.operator.state.apply(WatchEvent(EventType.DELETED, kinds.NODE, raw))
    deleted: list[str] = []

    def note(real: Callable[..., Any], kind: Any, name: str, *rest: Any, **more: Any) -> Any:
        deleted.append(name)
        return real(kind, name, *rest, **more)

    stage.kube.through("delete", note)
    delete(stage, name)
    stage.run(1)
    assert deleted[0] == node


def test_a_node_that_cannot_be_asked_for_is_not_taken_for_gone() -> None:
    stage = Stage()
    name = stage.grown(apps("a", 1))
    (node,) = stage.names(kinds.NODE)
    stage.operator.state.apply(WatchEvent(EventType.DELETED, kinds.NODE, stage.api.get(kinds.NODE, node)))
    stage.kube.through("get", _refuse_nodes)
    delete(stage, name)
    stage.run(60)
    assert len(stage.cloud.machines) == 1
    assert stage.cloud.machines[0].terminating_since is None


def _refuse_nodes(real: Callable[..., Any], kind: Any, *rest: Any, **more: Any) -> Any:
    if kind == kinds.NODE:
        raise refusal(500)
    return real(kind, *rest, **more)
