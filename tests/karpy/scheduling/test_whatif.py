"""Nodes are taken away on paper, again and again, and everything else is as if a solve had begun without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.scheduling.whatif import Outcome, WhatIfs
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import make_buffer, make_catalog, make_machine, make_node, make_nodepool, make_pod, make_pod_template
from karpy.testing import selector as wants

Json = dict[str, Any]
POOL = make_nodepool()


def machine(name: str, cpu: int = 4, **more: Any) -> list[Json]:
    room = {"cpu": str(cpu), "memory": "16Gi", "pods": "20"}
    return list(make_machine(name, instance_type="c4", room=room, **more))


def pod(name: str, node: str = "", cpu: str = "1", **more: Any) -> Json:
    return make_pod(name, node=node, requests={"cpu": cpu}, **more)


def whatifs(
    *objects: Json,
    shut: Sequence[str] = (),
    assigned: dict[str, str] | None = None,
    settings: Settings | None = None,
) -> WhatIfs:
    pools = [] if any(obj["kind"] == "NodePool" for obj in objects) else [POOL]
    snapshot = attrs.evolve(Snapshot.from_objects([*pools, *objects]), assignments=assigned or {})
    return WhatIfs(snapshot, make_catalog(snapshot), settings, shut=frozenset(shut))


def without(asked: WhatIfs, *names: str, **more: Any) -> Outcome:
    views = [view for name in names if (view := asked.snapshot.node(name)) is not None]
    return asked.without(views, **more)


def places(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    return {nomination.node: nomination.pods for nomination in outcome.nominations}


TWO_AND_ROOM = (*machine("a"), *machine("b"), *machine("c"), pod("p", "a"), pod("q", "b"))


def test_pods_of_a_node_that_is_gone_go_to_those_that_stay() -> None:
    found = without(whatifs(*TWO_AND_ROOM), "a")
    assert [moved.key for moved in found.moving] == ["default/p"]
    assert places(found) == {"b": ("default/p",)}
    assert (found.homeless, found.machines, found.launches, found.tried) == ((), 0, (), 1)


def test_a_question_leaves_no_trace() -> None:
    asked = whatifs(*TWO_AND_ROOM)
    both = without(asked, "a", "b")
    again = [places(without(asked, *names)) for names in (("a",), ("b",), ("a", "b"), ("a",))]
    assert again == [{"b": ("default/p",)}, {"a": ("default/q",)}, places(both), {"b": ("default/p",)}]
    assert places(both) == {"c": ("default/p", "default/q")}


def test_answers_stay_what_they_are_when_other_questions_are_asked() -> None:
    asked = whatifs(*TWO_AND_ROOM, pod("large", "c", cpu="4"))
    first = without(asked, "c")
    second = without(asked, "a", "c")
    assert [launch.pods for launch in first.launches] == [("default/large",)]
    assert [launch.pods for launch in second.launches] == [("default/large",)]
    assert (places(first), places(second)) == ({}, {"b": ("default/p",)})


def test_pods_that_wait_anyway_are_placed_too() -> None:
    found = without(whatifs(*machine("a"), *machine("b"), pod("p", "a", cpu="3"), pod("new", cpu="4")), "a")
    assert places(found) == {"b": ("default/new",)}
    assert [launch.pods for launch in found.replacements] == [("default/p",)]
    assert (found.tried, found.machines) == (2, 1)
    alone = without(whatifs(*machine("a"), *machine("b"), pod("p", "a", cpu="3"), pod("new", cpu="9")), "a")
    assert (alone.machines, [launch.pods for launch in alone.launches]) == (1, [("default/new",)])


def test_a_pod_without_a_place_is_told_with_the_reason() -> None:
    nowhere = {"spec": {"nodeSelector": {labels.ZONE: "zone-x"}}}
    found = without(
        whatifs(*machine("a"), *machine("b"), pod("p", "a"), pod("q", "a", **nowhere), pod("r", **nowhere)), "a"
    )
    assert [lost.key for lost in found.homeless] == ["default/q"]
    (why,) = found.why_homeless
    assert why.pods == ("default/q",)
    assert "zone-x" in why.reason


def test_a_pod_that_cannot_be_read_is_homeless() -> None:
    claims = {"spec": {"resourceClaims": [{"name": "gpu"}]}}
    found = without(whatifs(*machine("a"), *machine("b"), pod("p", "a", **claims)), "a")
    assert [lost.key for lost in found.homeless] == ["default/p"]


def test_a_pod_whose_machine_would_have_too_few_types_is_homeless() -> None:
    picky = make_nodepool(requirements=[wants(labels.INSTANCE_TYPE, "Exists", min_values=4)])
    found = without(whatifs(picky, *machine("a"), pod("p", "a"), settings=Settings(max_instance_types=3)), "a")
    assert [lost.key for lost in found.homeless] == ["default/p"]


def test_pods_that_would_go_to_a_node_that_may_not_come_up_are_told() -> None:
    young = machine("young", reached=("Launched", "Registered"))
    found = without(whatifs(*machine("a"), *young, pod("p", "a"), pod("new", cpu="500m")), "a")
    assert [(moved.key, view.name) for moved, view in found.unready] == [("default/p", "young")]
    assert found.homeless == ()


@pytest.mark.core("CORE-575")
def test_a_node_that_is_shut_takes_pods_that_wait_but_none_that_move() -> None:
    objects = (*machine("a"), *machine("b"), pod("p", "a"), pod("new"))
    assert places(without(whatifs(*objects), "a")) == {"b": ("default/new", "default/p")}
    barred = without(whatifs(*objects, shut=["b"]), "a")
    assert (places(barred), barred.machines) == ({"b": ("default/new",)}, 1)


def test_pods_of_a_node_that_leaves_anyway_may_go_to_one_that_is_shut() -> None:
    leaving = machine("old", metadata={"deletionTimestamp": "2026-01-05T09:00:00Z"})
    objects = (*leaving, *machine("a"), *machine("b"), pod("late", "old"), pod("p", "a"))
    assert places(without(whatifs(*objects, shut=["b"]), "a")) == {"b": ("default/late",)}


def test_where_pods_are_counted_those_that_are_gone_are_not() -> None:
    """One pod of the app to a zone: where another is that goes too there is room for it."""
    term = {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    web = {"labels": {"app": "web"}, "spec": apart}
    zones = [(name, f"zone-{name}") for name in "abc"]
    up = [part for name, zone in zones for part in machine(name, zone=zone, node_labels={labels.ZONE: zone})]
    asked = whatifs(*up, *machine("d", zone="zone-a"), pod("p", "a", **web), pod("q", "b", **web))
    assert places(without(asked, "a")) == {"c": ("default/p",)}
    assert places(without(asked, "b")) == {"c": ("default/q",)}
    assert places(without(asked, "a", "b")) == {"c": ("default/p",), "d": ("default/q",)}


def test_a_domain_that_was_there_on_a_node_alone_goes_with_it() -> None:
    spread = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    racks = [make_node(name, labels={"rack": rack}) for name, rack in (("a", "r1"), ("b", "r2"), ("c", "r2"))]
    spec = {"topologySpreadConstraints": [spread]}
    asked = whatifs(*racks, pod("p", "a", spec=spec), pod("q", "b", spec=spec), pod("r", "b", spec=spec))
    assert places(without(asked, "a")) == {"b": ("default/p",)}
    assert places(without(asked, "c")) == {}


def test_a_node_that_is_gone_no_longer_counts_against_the_limits_of_its_pool() -> None:
    tight = make_nodepool(limits={"cpu": "4"})
    asked = whatifs(tight, *machine("a"), pod("p", "a"))
    assert without(asked, "a").machines == 1
    other = whatifs(tight, *machine("a"), make_node("b"), pod("p", "b"), pod("q", "a", cpu="4"))
    assert [lost.key for lost in without(other, "b").homeless] == ["default/p"]


def test_a_pod_keeps_the_machine_that_was_planned_for_it() -> None:
    asked = whatifs(
        *machine("a"), *machine("b"), pod("p", "a", cpu="3"), pod("new", cpu="3"), assigned={"new-uid": "b"}
    )
    found = without(asked, "a")
    assert (places(found), found.machines) == ({"b": ("default/new",)}, 1)
    assert places(without(asked, "b")) == {}


def test_room_that_is_kept_ready_is_looked_for_last() -> None:
    chunk = [make_pod_template("chunk", requests={"cpu": "3"}), make_buffer(template="chunk", replicas=1)]
    found = without(whatifs(*machine("a"), *machine("b"), pod("p", "a", cpu="2"), *chunk), "a")
    (buffer,) = found.plan.buffers
    assert (places(found), buffer.on_nodes, buffer.launched) == ({"b": ("default/p",)}, {}, 1)
    assert found.machines == 0


def test_it_may_stop_when_more_machines_are_needed_than_matter() -> None:
    objects = (
        *machine("a", 16),
        pod("p", "a", cpu="9"),
        pod("q", "a", cpu="9"),
        *(pod(f"s{n}", "a") for n in range(9)),
    )
    asked = whatifs(*objects)
    cut, whole = without(asked, "a", machines=1), without(asked, "a")
    assert (cut.is_cut, cut.machines, cut.homeless) == (True, 2, ())
    assert (whole.is_cut, whole.machines, whole.homeless) == (False, 2, ())


def test_it_may_stop_when_somebody_is_homeless_for_certain() -> None:
    asked = whatifs(*machine("a"), pod("p", "a", cpu="90"), pod("q", "a", cpu="100m"))
    cut = without(asked, "a", machines=1)
    assert cut.is_cut
    assert [lost.key for lost in cut.homeless] == ["default/p"]
    enough = without(whatifs(*TWO_AND_ROOM), "a", machines=1)
    assert (enough.is_cut, places(enough)) == (False, {"b": ("default/p",)})


def test_pods_that_end_with_their_node_want_no_place() -> None:
    asked = whatifs(*TWO_AND_ROOM)
    assert without(asked, "a", staying=frozenset({"p-uid"})).moving == ()


def test_nodes_of_nobody_can_be_taken_away_too() -> None:
    assert places(without(whatifs(make_node("mine"), *machine("b"), pod("p", "mine")), "mine")) == {"b": ("default/p",)}
