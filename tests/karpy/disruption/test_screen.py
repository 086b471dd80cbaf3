"""Who is turned away by amounts alone would be turned away by a simulation too."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karpy import labels
from karpy.disruption.candidates import candidates
from karpy.disruption.command import Command, Method
from karpy.disruption.consolidation import consolidate
from karpy.disruption.scene import Scene
from karpy.disruption.screen import Screen
from karpy.scheduling.whatif import WhatIfs
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_machine, make_nodepool, make_pod, selector

SIZES = {"c1": 1, "c2": 2, "c4": 4, "c8": 8}
READY = [make_condition("Consolidatable")]


def machine(name: str, instance_type: str, **arguments: Any) -> list[dict[str, Any]]:
    """On spot, where nothing of this size is cheaper."""
    cpu = SIZES[instance_type]
    arguments.setdefault("capacity_type", "spot")
    room = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    known = {labels.ARCH: "amd64", labels.OS: "linux"}
    return list(make_machine(name, instance_type=instance_type, room=room, labels=known, conditions=READY, **arguments))


def screened(*objects: dict[str, Any], types: tuple[str, ...] = ()) -> dict[str, bool]:
    """Whether each candidate passes."""
    wanted = [selector(labels.INSTANCE_TYPE, "In", *types)] if types else []
    return verdicts(Snapshot.from_objects([make_nodepool(requirements=wanted), *objects]))


def verdicts(snapshot: Snapshot) -> dict[str, bool]:
    catalog = make_catalog(snapshot)
    screen = Screen(WhatIfs(snapshot, catalog))
    found, _ = candidates(snapshot, catalog, now=START)
    return {candidate.view.name: screen.passes(candidate) for candidate in found}


def pod(name: str, node: str, cpu: str) -> dict[str, Any]:
    return make_pod(name, node=node, requests={"cpu": cpu})


def test_a_node_passes_if_its_pods_might_fit_on_others() -> None:
    objects = [*machine("a", "c2"), *machine("b", "c2"), pod("p", "a", "1"), pod("q", "b", "1")]
    assert screened(*objects, types=("c2",)) == {"a": True, "b": True}


def test_a_node_that_is_needed_passes_only_if_something_cheaper_would_do() -> None:
    objects = [*machine("a", "c2"), *machine("b", "c2"), pod("p", "a", "1"), pod("q", "b", "1500m")]
    assert screened(*objects, types=("c2",)) == {"a": False, "b": False}
    assert screened(*objects, types=("c1", "c2")) == {"a": True, "b": False}


def test_room_that_is_promised_to_waiting_pods_is_not_counted() -> None:
    claim, node = machine("b", "c2")
    waiting = make_pod("w", requests={"cpu": "2"})
    objects = [*machine("a", "c2"), claim, node, pod("p", "a", "2"), waiting]
    state = ClusterState.of([make_nodepool(requirements=[selector(labels.INSTANCE_TYPE, "In", "c2")]), *objects])
    assert verdicts(state.snapshot()) == {"a": True, "b": True}
    state.nominate(claim["metadata"]["name"], [waiting["metadata"]["uid"]], until=START - 1)
    assert verdicts(state.snapshot()) == {"a": False, "b": True}


machines = st.lists(st.tuples(st.sampled_from(sorted(SIZES)), st.sampled_from(["on-demand", "spot"])), max_size=5)
pods = st.lists(
    st.tuples(
        st.integers(-1, 4),
        st.sampled_from(["100m", "500m", "1", "1500m", "3"]),
        st.sampled_from(["", "apart", "spread", "zone"]),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(machines, pods)
def test_it_never_turns_away_whom_a_simulation_would_let_go(
    drawn: list[tuple[str, str]], placed: list[tuple[int, str, str]]
) -> None:
    free = {f"m{index}": SIZES[kind] * 1000 for index, (kind, _) in enumerate(drawn)}
    objects = [
        part
        for index, (kind, capacity) in enumerate(drawn)
        for part in machine(f"m{index}", kind, capacity_type=capacity)
    ]
    for number, (where, cpu, terms) in enumerate(placed):
        amount = int(cpu[:-1]) if cpu.endswith("m") else int(cpu) * 1000
        node = f"m{where}"
        if free.get(node, 0) < amount:
            node = ""
        else:
            free[node] -= amount
        objects.append(make_pod(f"p{number}", node=node, requests={"cpu": cpu}, **_terms(terms)))
    snapshot = Snapshot.from_objects([make_nodepool(), *objects])
    catalog = make_catalog(snapshot)
    screen = Screen(WhatIfs(snapshot, catalog))
    scene = Scene(snapshot, catalog, now=START)
    found = candidates(snapshot, catalog, now=START)[0]
    for candidate in found:
        if isinstance(consolidate(scene, (candidate,), Method.SINGLE_NODE), Command):
            assert screen.passes(candidate), candidate.view.name
    for pair in itertools.combinations(found, 2):
        if isinstance(consolidate(scene, pair, Method.MULTI_NODE), Command):
            assert screen.may_go_together(pair), [candidate.view.name for candidate in pair]


def test_several_nodes_may_go_together_if_others_and_one_cheaper_machine_hold_what_they_hold() -> None:
    nodes = [
        part for name, kind in (("a", "c2"), ("b", "c2"), ("c", "c2"), ("d", "c1")) for part in machine(name, kind)
    ]
    pods = [pod(f"p-{name}", name, "1500m") for name in "abc"]
    only = make_nodepool(requirements=[selector(labels.INSTANCE_TYPE, "In", *SIZES)])
    snapshot = Snapshot.from_objects([only, *nodes, *pods])
    catalog = make_catalog(snapshot)
    screen = Screen(WhatIfs(snapshot, catalog))
    found = {candidate.view.name: candidate for candidate in candidates(snapshot, catalog, now=START)[0]}
    asked = {names: screen.may_go_together([found[name] for name in names]) for names in ("d", "ab", "abc", "abcd")}
    assert asked == {"d": True, "ab": True, "abc": True, "abcd": False}


def _terms(name: str) -> dict[str, Any]:
    own = {"matchLabels": {"app": "web"}}
    if name == "apart":
        term = {"labelSelector": own, "topologyKey": labels.HOSTNAME}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        return {"labels": {"app": "web"}, "spec": {"affinity": affinity}}
    if name in ("spread", "zone"):
        key = labels.HOSTNAME if name == "spread" else labels.ZONE
        constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own}
        return {"labels": {"app": "web"}, "spec": {"topologySpreadConstraints": [constraint]}}
    return {}
