from __future__ import annotations

import json
import threading

import pytest

from karpy.errors import InvalidObject
from karpy.objects.kinds import PROVISIONER, Kind
from karpy.objects.nodepool import NodeClassRef
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.resources import Resources
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_claim, make_daemon_set, make_machine, make_node, make_nodepool, make_pod

KINDS = {kind.kind: kind for kind in ClusterState.KINDS}
CLASS_A, CLASS_B = Kind("a.io", "v1", "ClassA", "as", False), Kind("b.io", "v1", "ClassB", "bs", False)


def added(state: ClusterState, *objects: dict[str, object]) -> None:
    for obj in objects:
        state.apply(WatchEvent(EventType.MODIFIED, KINDS[str(obj["kind"])], obj))


def deleted(state: ClusterState, obj: dict[str, object]) -> None:
    state.apply(WatchEvent(EventType.DELETED, KINDS[str(obj["kind"])], obj))


def only(snapshot: Snapshot) -> NodeView:
    (view,) = snapshot.nodes
    return view


# Pods


@pytest.mark.core("CORE-472", "CORE-473")
def test_a_pod_takes_room_while_it_is_bound_and_not_finished() -> None:
    state = ClusterState.of([make_node("n")])
    added(state, make_pod("p", requests={"cpu": "1"}))
    assert [pod.key for pod in state.snapshot().pending] == ["default/p"]
    assert only(state.snapshot()).used == Resources()

    bound = make_pod("p", requests={"cpu": "1"}, node="n")
    added(state, bound)
    assert state.snapshot().pending == ()
    assert only(state.snapshot()).used["cpu"] == 1000

    added(state, make_pod("p", requests={"cpu": "1"}, node="n", status={"phase": "Succeeded"}))
    assert only(state.snapshot()).used == Resources()

    added(state, bound)
    deleted(state, bound)
    assert only(state.snapshot()).used == Resources()


@pytest.mark.core("CORE-475")
def test_a_name_that_is_used_again_on_another_node_leaves_the_first() -> None:
    state = ClusterState.of([make_node("a"), make_node("b"), make_pod("p", node="a", requests={"cpu": "1"})])
    added(state, make_pod("p", node="b", requests={"cpu": "2"}))
    used = {view.name: view.used.get("cpu", 0) for view in state.snapshot().nodes}
    assert used == {"a": 0, "b": 2000}


@pytest.mark.core("CORE-477")
def test_what_daemons_take_is_also_counted_by_itself() -> None:
    pods = [
        make_pod("d", node="n", owner="DaemonSet", requests={"cpu": "1"}),
        make_pod("p", node="n", requests={"cpu": "2"}),
    ]
    view = only(ClusterState.of([make_node("n"), *pods]).snapshot())
    assert (view.used["cpu"], view.daemon_used["cpu"]) == (3000, 1000)


@pytest.mark.core("CORE-483")
def test_a_pod_may_be_known_before_its_node() -> None:
    state = ClusterState.of([make_pod("p", node="n", requests={"cpu": "1"})])
    added(state, make_node("n"))
    assert only(state.snapshot()).used["cpu"] == 1000


# Machines: a claim and its node are one


@pytest.mark.core("CORE-481", "CORE-483")
@pytest.mark.parametrize("node_first", [True, False])
def test_claim_and_node_meet_by_provider_id_whichever_comes_first(node_first: bool) -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([node, claim] if node_first else [claim, node])
    view = only(state.snapshot())
    assert view.claim is not None
    assert view.node is not None
    assert state.node_of(view.claim) == view.node
    assert state.claim_of(view.node) == view.claim


@pytest.mark.core("CORE-481")
def test_a_claim_that_gets_its_provider_id_later_is_still_one_machine() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([make_claim("m", reached=()), node])
    assert len(state.snapshot().nodes) == 2
    added(state, claim)
    assert len(state.snapshot().nodes) == 1


@pytest.mark.core("CORE-471", "CORE-474")
def test_either_half_of_a_machine_may_go_first() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([claim, node])
    deleted(state, node)
    assert (only(state.snapshot()).node, only(state.snapshot()).is_managed) == (None, True)
    added(state, node)
    deleted(state, claim)
    assert not only(state.snapshot()).is_managed
    deleted(state, node)
    assert state.snapshot().nodes == ()


# What cannot be read


def test_a_pool_that_cannot_be_read_is_kept_aside_and_the_others_go_on() -> None:
    state = ClusterState.of([make_nodepool("good"), make_nodepool("bad", limits={"cpu": "lots"})])
    snapshot = state.snapshot()
    assert [pool.name for pool in snapshot.pools] == ["good"]
    (bad,) = snapshot.invalid_pools
    assert (bad.name, bad.error.path) == ("bad", "spec.limits.cpu")


def test_a_pool_that_was_mended_is_used() -> None:
    state = ClusterState.of([make_nodepool("p", limits={"cpu": "lots"})])
    added(state, make_nodepool("p", limits={"cpu": "1"}))
    assert [pool.name for pool in state.snapshot().pools] == ["p"]
    assert state.snapshot().invalid_pools == ()


@pytest.mark.parametrize(
    "bad",
    [
        make_pod("p", requests={"cpu": "x"}),
        make_node("n", room={"cpu": "x"}),
        make_claim("c", room={"cpu": "x"}),
        make_daemon_set("d", requests={"cpu": "x"}),
    ],
    ids=lambda obj: obj["kind"],
)
def test_an_object_that_cannot_be_read_is_remembered_and_skipped(bad: dict[str, object]) -> None:
    state = ClusterState()
    added(state, bad)
    ((kind, _key), error), *rest = state.unreadable.items()
    assert (kind.kind, rest) == (bad["kind"], [])
    assert isinstance(error, InvalidObject)
    snapshot = state.snapshot()
    assert (snapshot.nodes, snapshot.pending, snapshot.daemon_sets) == ((), (), ())
    deleted(state, bad)
    assert state.unreadable == {}


def test_an_object_that_can_no_longer_be_read_is_forgotten() -> None:
    state = ClusterState.of([make_pod("p")])
    added(state, make_pod("p", requests={"cpu": "x"}))
    assert state.snapshot().pending == ()


def test_a_picture_of_given_objects_is_not_taken_when_one_cannot_be_read() -> None:
    with pytest.raises(InvalidObject, match="Pod/default/p"):
        Snapshot.from_objects([make_pod("p", requests={"cpu": "x"})])


# Node classes


def node_class(kind: Kind, name: str) -> dict[str, object]:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ({"name": "x"}, ("b.io", "ClassB")),  # the one that exists
        ({"name": "y"}, ("a.io", "ClassA")),  # none does: the default
        ({"name": "x", "kind": "ClassA"}, ("a.io", "ClassA")),
        ({"name": "x", "group": "c.io", "kind": "ClassC"}, ("c.io", "ClassC")),
    ],
)
def test_a_pool_that_leaves_the_kind_of_its_class_open_gets_the_one_that_exists(
    reference: dict[str, str], found: tuple[str, str]
) -> None:
    pool = make_nodepool(template={"nodeClassRef": reference})
    snapshot = Snapshot.from_objects([pool, node_class(CLASS_B, "x")], [CLASS_A, CLASS_B])
    ref = snapshot.pools[0].node_class
    assert (ref.group, ref.kind) == found


def test_a_provisioner_with_an_inline_provider_is_pool_and_node_class() -> None:
    raw = {
        "apiVersion": PROVISIONER.api_version,
        "kind": PROVISIONER.kind,
        "metadata": {"name": "default"},
        "spec": {"provider": {"instanceProfile": "p"}},
    }
    snapshot = Snapshot.from_objects([raw], [CLASS_A, PROVISIONER])
    assert snapshot.node_classes == {NodeClassRef("karpenter.sh", "Provisioner", "default"): raw}
    assert snapshot.pools[0].node_class in snapshot.node_classes


def test_kinds_that_do_not_matter_are_skipped() -> None:
    objects = [node_class(CLASS_A, "x"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]
    assert Snapshot.from_objects(objects).node_classes == {}


# Decisions under way


@pytest.mark.core("CORE-479")
def test_marks_come_and_go_and_end_with_the_claim() -> None:
    claim, node = make_machine("m")
    state = ClusterState.of([claim, node])
    state.mark_for_deletion(["m"])
    assert only(state.snapshot()).is_leaving
    state.unmark_for_deletion(["m"])
    assert not only(state.snapshot()).is_leaving
    state.mark_for_deletion(["m"])
    deleted(state, claim)
    added(state, make_claim("m", metadata={"uid": "another"}))
    view = only(state.snapshot())
    assert (view.is_managed, view.is_leaving) == (True, False)


@pytest.mark.core("CORE-480")
def test_a_nomination_is_extended_but_never_shortened() -> None:
    state = ClusterState.of(make_machine("m"))
    state.nominate("m", (), until=100.0)
    state.nominate("m", (), until=50.0)
    assert only(state.snapshot()).nominated_until == 100.0


def test_what_is_decided_about_a_claim_that_is_gone_by_now_is_forgotten() -> None:
    """Its end was told while it was decided."""
    claim, node = make_machine("m")
    state = ClusterState.of([node, make_pod("p")])
    state.mark_for_deletion(["m"])
    state.nominate("m", ["p-uid"], until=100.0)
    added(state, claim)
    view = only(state.snapshot())
    assert (view.is_leaving, view.nominated_until, state.snapshot().assignments) == (False, 0.0, {})


def test_a_pod_is_assigned_until_it_is_bound_or_its_claim_is_gone() -> None:
    claims = [make_claim("c", reached=()), make_claim("d", reached=())]
    state = ClusterState.of([*claims, make_pod("p"), make_pod("q"), make_pod("r")])
    state.nominate("c", ["p-uid", "q-uid"], until=0.0)
    state.nominate("d", ["r-uid"], until=0.0)
    assert state.snapshot().assignments == {"p-uid": "c", "q-uid": "c", "r-uid": "d"}
    added(state, make_pod("p", node="n"))
    deleted(state, claims[1])
    assert state.snapshot().assignments == {"q-uid": "c"}
    deleted(state, make_pod("q"))
    assert state.snapshot().assignments == {}


# Snapshots


def test_a_snapshot_is_the_same_object_until_something_changes() -> None:
    state = ClusterState.of([make_node("a"), make_node("b")])
    before = state.snapshot()
    assert state.snapshot() is before
    added(state, make_pod("p", node="a"))
    after = state.snapshot()
    assert after.version > before.version
    assert after.node("b") is before.node("b")  # what did not change is shared
    assert after.node("a") is not before.node("a")


def test_pictures_share_what_did_not_change_between_them() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"}}
    state = ClusterState.of([make_node("a"), make_pod("waits"), make_nodepool(), make_daemon_set(), claim])
    before = state.snapshot()
    added(state, make_pod("p", node="a"))
    after = state.snapshot()
    assert after.nodes is not before.nodes
    assert after.pending is before.pending
    assert after.pools is before.pools
    assert after.daemon_sets is before.daemon_sets
    assert after.storage.claims is before.storage.claims
    added(state, make_pod("waits", node="elsewhere"))
    assert state.snapshot().nodes is after.nodes


def test_objects_may_come_decoded() -> None:
    objects = [make_node("n"), make_pod("p", node="n", requests={"cpu": "1"}), make_daemon_set()]
    documents = [json.dumps(obj).encode() for obj in objects]
    (view,) = ClusterState.of_json(documents).snapshot().nodes
    assert (view.name, [pod.key for pod in view.pods], view.used["cpu"]) == ("n", ["default/p"], 1000)


def test_of_documents_none_may_be_unreadable() -> None:
    with pytest.raises(InvalidObject, match="Pod/default/p"):
        ClusterState.of_json([json.dumps(make_pod("p", requests={"cpu": "x"})).encode()])
    with pytest.raises(InvalidObject, match="not a Kubernetes object"):
        Snapshot.from_json([b"{"])
    with pytest.raises(InvalidObject, match=r"metadata\.name"):
        Snapshot.from_json([b'{"kind":"Pod","apiVersion":"v1","metadata":{}}'])


def test_an_older_snapshot_does_not_change() -> None:
    state = ClusterState.of([make_node("a")])
    before = state.snapshot()
    added(state, make_pod("p", node="a", requests={"cpu": "1"}), make_node("b"))
    assert [view.name for view in before.nodes] == ["a"]
    assert only(before).used == Resources()


@pytest.mark.core("CORE-096", "CORE-100")
def test_nodes_are_listed_initialized_first_then_by_name() -> None:
    objects = [
        *make_machine("b"),
        *make_machine("a", reached=("Launched", "Registered")),
        make_node("c"),
        make_claim("0"),
    ]
    names = [view.name for view in ClusterState.of(objects).snapshot().nodes]
    assert names == ["b", "c", "0", "a"]


# Whether all of it is known


@pytest.mark.core("CORE-484", "CORE-489")
def test_it_is_synced_when_every_kind_that_is_expected_was_listed() -> None:
    state = ClusterState()
    assert state.is_synced  # nothing is expected
    state.expect([KINDS["Node"], KINDS["NodeClaim"]])
    added(state, *make_machine("m"))
    assert (state.is_synced, state.awaited) == (False, (KINDS["Node"], KINDS["NodeClaim"]))
    state.retain(KINDS["NodeClaim"], {"m"})
    assert state.awaited == (KINDS["Node"],)

    def look() -> None:
        seen.extend(state.is_synced for _ in range(200))

    def change() -> None:
        for number in range(200):
            added(state, *make_machine(f"m{number}"))
        state.retain(KINDS["Node"], set())

    seen: list[bool] = []
    threads = [threading.Thread(target=look), threading.Thread(target=change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (state.is_synced, len(state.snapshot().nodes)) == (True, 201)
    assert seen == sorted(seen)  # once synced, it stays so


@pytest.mark.core("CORE-487", "CORE-490")
def test_a_list_ends_the_claims_that_it_does_not_show_and_keeps_the_others() -> None:
    state = ClusterState.of([make_claim("stale", reached=()), make_claim("young", reached=()), *make_machine("m")])
    state.retain(KINDS["NodeClaim"], {"m", "young"})
    assert [view.name for view in state.snapshot().nodes] == ["m", "young"]


def test_what_was_read_without_a_watch_is_dropped_when_the_watch_lists_it_no_more() -> None:
    state = ClusterState()
    state.expect([KINDS["Pod"]])
    state.fill(KINDS["Pod"], [make_pod("gone"), make_pod("here")])
    assert (state.is_synced, [pod.metadata.name for pod in state.pods()]) == (True, ["gone", "here"])
    state.retain(KINDS["Pod"], {"default/here"})
    assert [pod.metadata.name for pod in state.pods()] == ["here"]


def test_what_was_read_without_a_watch_is_left_aside_once_the_watch_has_listed() -> None:
    state = ClusterState()
    state.expect([KINDS["Pod"]])
    state.retain(KINDS["Pod"], set())
    state.fill(KINDS["Pod"], [make_pod("outdated")])
    assert state.pods() == ()


def test_an_answer_that_comes_in_after_the_claim_ended_brings_it_back_no_more() -> None:
    """A write, and the end of the claim by another hand, with the watch faster than the answer."""

    def version(number: int, uid: str = "one") -> dict[str, object]:
        return make_claim("c", metadata={"uid": uid, "resourceVersion": str(number)})

    state = ClusterState()
    added(state, version(3))
    deleted(state, version(5))
    added(state, version(4))
    assert state.snapshot().nodes == ()
    added(state, version(5))
    assert state.snapshot().nodes == ()
    added(state, version(6, uid="another"))  # it was made anew
    assert [view.name for view in state.snapshot().nodes] == ["c"]
