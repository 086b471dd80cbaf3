from __future__ import annotations

from karpy import labels
from karpy.scheduling.running import running
from karpy.state.snapshot import Snapshot
from karpy.testing import make_node, make_pod

TERM = {"topologyKey": labels.HOSTNAME, "labelSelector": {"matchLabels": {"app": "a"}}}
APART = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}}
A, B = ("default", frozenset({("app", "a")})), ("default", frozenset({("app", "b")}))

CLUSTER = Snapshot.from_objects(
    [
        make_node("m"),
        make_node("n"),
        make_pod("m1", node="m", labels={"app": "a"}),
        make_pod("m2", node="m", labels={"app": "a"}, spec=APART),
        make_pod("n1", node="n", labels={"app": "a"}, spec=APART),
        make_pod("n2", node="n", labels={"app": "b"}),
        make_pod("n3", node="n", labels={"app": "b"}, status={"phase": "Failed"}),
    ]
)


def test_pods_that_no_selector_tells_apart_are_counted_together() -> None:
    m, n = running(CLUSTER.nodes, ())
    assert (m.view.name, m.groups, [pod.key for pod in m.keeping_apart]) == ("m", {A: 2}, ["default/m2"])
    assert (n.view.name, n.groups, [pod.key for pod in n.keeping_apart]) == ("n", {A: 1, B: 1}, ["default/n1"])


def test_pods_that_are_placed_anew_do_not_run_where_they_were() -> None:
    view = CLUSTER.node("n")
    assert view is not None
    m, n = running(CLUSTER.nodes, view.pods)
    assert (m.groups, n.groups, n.keeping_apart) == ({A: 2}, {}, [])
