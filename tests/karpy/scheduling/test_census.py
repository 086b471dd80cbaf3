"""A compiled picture from which some nodes are left out counts what a picture without them counts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from karpy import labels
from karpy.cloud.instancetype import Catalog
from karpy.scheduling.batch import pod_reader
from karpy.scheduling.census import Census
from karpy.scheduling.classes import ReadPod
from karpy.scheduling.groups import Group
from karpy.scheduling.instances import bits
from karpy.scheduling.policy import Policy
from karpy.scheduling.templates import templates_for
from karpy.scheduling.topology import Topology
from karpy.state.snapshot import NodeView, Snapshot
from karpy.testing import make_catalog, make_node, make_nodepool, make_pod
from tests.clusters import any_cluster


def census_of(snapshot: Snapshot, catalog: Catalog, moving: Sequence[ReadPod]) -> Census:
    return Census(snapshot, templates_for(snapshot.pools, catalog, ()), [read.pod for read in moving])


def read(snapshot: Snapshot, catalog: Catalog, *views: NodeView) -> list[ReadPod]:
    """All that wait, and the pods of these nodes."""
    pods = [*snapshot.to_place, *(pod for view in views for pod in view.reschedulable_pods)]
    return pod_reader(snapshot, catalog, Policy()).read_all(pods)[0]


def told(group: Group) -> tuple[Any, ...]:
    """All that a group starts from, in words: domains may be numbered in another way."""
    names = group.domains.names
    counts = {name: count for name, count in zip(names, group.counts, strict=True) if count}
    domains = {name for bit, name in enumerate(names) if group.universe >> bit & 1}
    populated = {names[bit] for bit in bits(group.populated)}
    return (group.kind, group.term, counts, domains, populated, dict(group.hosts))


def apart(name: str, node: str, key: str) -> dict[str, Any]:
    """A pod that nobody moves, and that keeps all pods of the app ``web`` away from where it is."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return make_pod(name, node=node, owner="DaemonSet", spec={"affinity": {"podAntiAffinity": required}})


def topology(*objects: dict[str, Any], without: str) -> tuple[Topology, list[ReadPod]]:
    """What is counted when the pods of a node that is gone are to be placed."""
    snapshot = Snapshot.from_objects([make_nodepool(), *objects])
    catalog, view = make_catalog(snapshot), snapshot.node(without)
    assert view is not None
    pods, place = read(snapshot, catalog, view), snapshot.nodes.index(view)
    return Topology(census_of(snapshot, catalog, ()), pods, frozenset({place}), [without]), pods


def test_who_keeps_others_away_goes_with_its_node() -> None:
    objects = [make_node("a"), make_node("b"), make_pod("p", node="a", labels={"app": "web"})]
    assert topology(*objects, apart("x", "a", labels.ZONE), without="a")[0].is_empty
    assert not topology(*objects, apart("x", "b", labels.ZONE), without="a")[0].is_empty


def test_those_who_keep_others_away_are_met_node_by_node_as_they_are_left() -> None:
    nodes = [make_node(name, labels={labels.ZONE: "z", labels.ARCH: "y"}) for name in "abc"]
    keeping = [apart("x", "a", labels.ZONE), apart("y", "b", labels.ARCH), apart("z", "c", labels.ZONE)]
    found, (read_pod,) = topology(*nodes, *keeping, make_pod("p", node="a", labels={"app": "web"}), without="a")
    assert [group.key for group in found.selecting(read_pod.pod)] == [labels.ARCH, labels.ZONE]


def test_what_is_left_out_was_never_there() -> None:
    lost = selected = 0
    for seed in range(600):
        dice = random.Random(seed)
        snapshot, catalog = any_cluster(dice.choice)
        views = dice.sample(snapshot.nodes, dice.choice((1, 2)))
        rest = snapshot.without(view.name for view in views)
        pods = read(rest, catalog, *views)
        gone = frozenset(place for place, view in enumerate(snapshot.nodes) if view in views)
        compiled, fresh = census_of(snapshot, catalog, read(snapshot, catalog)), census_of(rest, catalog, pods)
        found = Topology(compiled, pods, gone, [view.name for view in views])
        wanted = Topology(fresh, pods)
        selecting = [found.selecting(each.pod) for each in pods]
        if compiled.loses_a_domain(gone):  # of those that any of these groups is about
            lost += 1
            continue
        assert found.is_empty == wanted.is_empty, seed
        for each, groups in zip(pods, selecting, strict=True):
            selected += len(groups)
            assert list(map(told, groups)) == list(map(told, wanted.selecting(each.pod))), seed
        assert list(map(told, found.groups)) == list(map(told, wanted.groups)), seed
    assert 0 < lost < 100
    assert selected > 1_000
