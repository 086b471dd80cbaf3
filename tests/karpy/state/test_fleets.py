"""The machines of a pool: which there are, and what they hold together."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from karpy import labels
from karpy.objects.kinds import NODE, NODE_CLAIM, POD
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Fleet, Snapshot
from karpy.testing import make_claim, make_condition, make_machine, make_node, make_pod

Json = dict[str, Any]
KINDS = {kind.kind: kind for kind in (NODE, NODE_CLAIM, POD)}


def told(state: ClusterState, *objects: Json, type_: EventType = EventType.MODIFIED) -> ClusterState:
    for obj in objects:
        state.apply(WatchEvent(type_, KINDS[obj["kind"]], obj))
    return state


def gone(state: ClusterState, *objects: Json) -> ClusterState:
    return told(state, *objects, type_=EventType.DELETED)


def deleting(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def held(state: ClusterState, pool: str = "default") -> tuple[int, int]:
    """Nodes and cores; what is asked for one pool is what the picture shows."""
    amounts = state.held_by(pool)
    assert amounts == state.snapshot().fleet(pool).held
    return amounts.get("nodes", 0), amounts.get("cpu", 0) // 1000


def sets(state: ClusterState, pool: str = "default") -> tuple[list[str], list[str], list[str]]:
    fleet: Fleet = state.snapshot().fleet(pool)
    active, pending, ending = (
        [view.claim.name for view in views if view.claim is not None]
        for views in (fleet.active, fleet.pending_disruption, fleet.deleting)
    )
    return active, pending, ending


# What they hold


@pytest.mark.core("CORE-496")
def test_each_pool_has_a_sum_of_its_own() -> None:
    machines = [obj for pool in ("a", "b") for n in range(3) for obj in make_machine(f"{pool}{n}", pool=pool)]
    state = ClusterState.of([*machines, make_claim("b3", pool="b"), make_node("stranger")])
    assert {pool: held(state, pool) for pool in ("a", "b", "c")} == {"a": (3, 12), "b": (4, 16), "c": (0, 0)}
    assert set(state.snapshot().nodes.fleets) == {"a", "b"}


@pytest.mark.core("CORE-497")
def test_a_machine_that_changes_pools_takes_what_it_has_along() -> None:
    claim, node = make_machine("m", pool="a")
    state = ClusterState.of([claim, node])
    assert (held(state, "a"), held(state, "b")) == ((1, 4), (0, 0))
    told(state, *make_machine("m", pool="b"))
    assert (held(state, "a"), held(state, "b")) == ((0, 0), (1, 4))


@pytest.mark.core("CORE-497")
def test_a_machine_counts_once_whatever_its_provider_id_becomes() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([make_claim("m", reached=())])
    assert held(state) == (1, 0)
    told(state, claim)
    assert held(state) == (1, 4)
    told(state, node)
    assert held(state) == (1, 4)
    moved = [{**claim, "status": {**claim["status"], "providerID": "test:///other"}}]
    moved.append({**node, "spec": {**node["spec"], "providerID": "test:///other"}})
    told(state, moved[0])
    assert held(state) == (2, 8)  # a claim without its node, and a node that still has the label of the pool
    told(state, moved[1])
    assert held(state) == (1, 4)


@pytest.mark.core("CORE-497")
def test_what_leaves_is_taken_off_and_what_stays_after_all_is_added_again() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([claim, node, *make_machine("n")])
    assert held(state) == (2, 8)
    state.mark_for_deletion(["m"])
    assert held(state) == (1, 4)
    state.unmark_for_deletion(["m"])
    assert held(state) == (2, 8)
    told(state, deleting(claim))
    assert held(state) == (1, 4)
    gone(state, claim, node)
    assert held(state) == (1, 4)


@pytest.mark.core("CORE-498")
def test_what_is_marked_and_then_deleted_is_taken_off_once() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([claim, node, *make_machine("n")])
    state.mark_for_deletion(["m"])
    state.mark_for_deletion(["m"])
    told(state, deleting(claim))
    told(state, deleting(node))
    gone(state, node)
    gone(state, claim)
    gone(state, claim)
    assert held(state) == (1, 4)
    gone(state, *make_machine("n"))
    assert dict(state.held_by("default")) == {}


def test_a_resource_is_in_the_sum_as_long_as_a_machine_has_it() -> None:
    claim = make_claim("m", room={"cpu": "1", "example.com/gpu": "0"})
    state = ClusterState.of([claim, make_claim("n")])
    assert state.held_by("default")["example.com/gpu"] == 0
    gone(state, claim)
    assert "example.com/gpu" not in state.held_by("default")


def test_a_machine_is_found_by_its_claim_without_a_picture() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([claim, node])
    view = state.machine("m")
    assert view is not None
    assert (view.node is not None, state.machine("n")) == (True, None)
    assert view is state.snapshot().machine("m")


# Which there are


@pytest.mark.core("CORE-499")
def test_claims_are_told_by_pool_launched_or_not_and_nodes_of_nobody_are_not() -> None:
    own = make_claim("young", reached=())
    stray = make_claim("stray")
    del stray["metadata"]["labels"][labels.NODEPOOL]
    orphan = make_node("orphan", labels={labels.NODEPOOL: "default"})
    objects = [own, *make_machine("b"), *make_machine("a"), *make_machine("x", pool="other"), stray, orphan]
    state = ClusterState.of(objects)
    assert sets(state) == (["a", "b", "young"], [], [])
    assert sets(state, "other") == (["x"], [], [])
    assert sets(state, "") == sets(state, "missing") == ([], [], [])
    assert [view.name for view in state.snapshot().fleet("default").machines] == ["a", "b", "orphan", "young"]


@pytest.mark.core("CORE-500", "CORE-501")
def test_a_claim_is_active_then_about_to_go_then_going_then_gone() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([make_claim("m", reached=()), node])
    assert sets(state) == (["m"], [], [])
    told(state, claim)  # it got its provider id
    told(state, claim)  # and once more the same
    assert sets(state) == (["m"], [], [])
    state.mark_for_deletion(["m"])
    assert sets(state) == ([], ["m"], [])
    state.unmark_for_deletion(["m"])
    assert sets(state) == (["m"], [], [])
    state.mark_for_deletion(["m"])
    told(state, deleting(claim))
    assert sets(state) == ([], [], ["m"])
    gone(state, claim)
    assert sets(state) == ([], [], [])


@pytest.mark.core("CORE-500")
def test_a_claim_whose_machine_is_ending_is_going() -> None:
    state = ClusterState.of([make_claim("m", conditions=[make_condition("InstanceTerminating")])])
    assert sets(state) == ([], [], ["m"])


@pytest.mark.core("CORE-501")
def test_many_are_marked_at_once_and_from_several_threads() -> None:
    names = [f"m{number:02d}" for number in range(40)]
    state = ClusterState.of([make_claim(name) for name in names])
    state.mark_for_deletion(names)
    assert sets(state) == ([], names, [])
    state.unmark_for_deletion(names)

    def work(part: list[str]) -> None:
        for name in part:
            state.mark_for_deletion([name])
            state.snapshot()
        told(state, *(deleting(make_claim(name)) for name in part[:5]))
        state.unmark_for_deletion(part)

    threads = [threading.Thread(target=work, args=(names[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    active, pending, ending = sets(state)
    assert (sorted(active + ending), pending, len(ending)) == (names, [], 20)
    assert held(state) == (20, 80)


@pytest.mark.core("CORE-502", "CORE-503")
def test_a_claim_counts_from_its_creation_and_not_when_it_was_refused() -> None:
    """No number is reserved beforehand: who creates claims tells the state of each before looking again."""
    state = ClusterState.of([*make_machine("m"), deleting(make_claim("going"))])
    told(state, make_claim("new", reached=()), type_=EventType.ADDED)
    assert sets(state) == (["m", "new"], [], ["going"])
    told(state, make_claim("new", reached=()), type_=EventType.ADDED)  # as the watch tells it later
    assert sets(state) == (["m", "new"], [], ["going"])
    state.retain(NODE_CLAIM, {"m", "going"})  # created, and gone before any watch saw it
    assert sets(state) == (["m"], [], ["going"])


@pytest.mark.core("CORE-511", "CORE-513")
def test_budgets_are_told_how_many_machines_count_and_how_many_are_disrupted() -> None:
    claim, node = make_machine("a")
    state = ClusterState.of(
        [claim, node, *make_machine("b"), make_claim("young", reached=("Launched",)), make_node("n")]
    )

    def counts() -> tuple[int, int]:
        fleet = state.snapshot().fleet("default")
        again = state.snapshot().without([]).fleet("default")
        assert (again.counted, again.disrupted) == (fleet.counted, fleet.disrupted)
        return fleet.counted, fleet.disrupted

    assert counts() == (2, 0)
    ready = node["status"]["conditions"][0]
    told(state, {**node, "status": {**node["status"], "conditions": [{**ready, "status": "False"}]}})
    assert counts() == (2, 1)
    state.mark_for_deletion(["a", "b"])
    assert counts() == (2, 2)
    state.unmark_for_deletion(["a", "b"])
    told(state, node, deleting(claim))
    assert counts() == (2, 1)
    terminating = [*claim["status"]["conditions"], make_condition("InstanceTerminating")]
    told(state, deleting({**claim, "status": {**claim["status"], "conditions": terminating}}))
    assert counts() == (1, 0)
    gone(state, node, claim)
    assert counts() == (1, 0)
    told(state, *make_machine("young"))
    assert counts() == (2, 0)


def test_pools_that_did_not_change_are_the_same_objects_again() -> None:
    state = ClusterState.of([*make_machine("a", pool="a"), *make_machine("b", pool="b")])
    before = state.snapshot()
    told(state, make_pod("p", node="a"))
    after = state.snapshot()
    assert after.fleet("b") is before.fleet("b")
    assert after.fleet("a").machines == (after.node("a"),)
    assert before.fleet("a").machines == (before.node("a"),)


def test_of_a_selection_of_nodes_it_is_worked_out() -> None:
    snapshot = Snapshot.from_objects([*make_machine("a"), *make_machine("b")])
    rest = snapshot.without(["a"]).fleet("default")
    assert ([view.name for view in rest.machines], rest.held["cpu"]) == (["b"], 4000)
