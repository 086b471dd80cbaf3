from __future__ import annotations

from typing import Any

import pytest

from karpy import labels
from karpy.resources import Resources
from karpy.scheduling.daemons import daemons_of, expected_on, expected_on_all
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    START,
    make_daemon_set,
    make_instance_type,
    make_machine,
    make_node,
    make_nodepool,
    make_pod,
    selector,
)
from tests.judge import plan_of

GPU = {"key": "gpu", "effect": "NoSchedule"}
ONE_CPU = {"cpu": "1"}


def cheapest(*objects: dict[str, Any], **arguments: Any) -> str:
    """The type launched for one pod that asks for 1 CPU, beside these objects."""
    (launch,) = plan_of(make_pod(requests=ONE_CPU), *objects, **arguments).launches
    return launch.instance_types[0].name


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


@pytest.mark.core("CORE-337", "CORE-371", "CORE-372", "CORE-373")
def test_what_daemons_take_comes_on_top_once_per_node() -> None:
    pods = [make_pod("p", requests=ONE_CPU), make_pod("q", requests=ONE_CPU)]
    (launch,) = plan_of(make_nodepool(), make_daemon_set(requests=ONE_CPU), *pods).launches
    assert launch.instance_types[0].name == "a4"
    assert launch.requests == Resources({"cpu": 3000, "pods": 3})


@pytest.mark.core("CORE-340", "CORE-344")
def test_daemons_that_leave_no_room_keep_the_pod_waiting() -> None:
    assert plan_of(make_nodepool(), make_daemon_set(requests={"cpu": "16"}), make_pod(requests=ONE_CPU)).launches == ()


@pytest.mark.core("CORE-342", "CORE-343")
def test_limits_and_init_containers_of_daemons_count() -> None:
    heavy = {"name": "i", "resources": {"limits": {"cpu": "3"}}}
    assert cheapest(make_nodepool(), make_daemon_set(spec={"initContainers": [heavy]})) == "a4"


@pytest.mark.core("CORE-343", "CORE-344", "CORE-345")
@pytest.mark.parametrize(
    ("main", "first", "placed"),
    [("1", "9", True), ("9", "1", True), ("1", "16", False), ("16", "1", False), ("16", "16", False)],
)
def test_the_larger_of_a_daemons_containers_and_init_containers_decides(main: str, first: str, placed: bool) -> None:
    init = {"name": "i", "resources": {"requests": {"cpu": first}}}
    daemon = make_daemon_set(requests={"cpu": main}, spec={"initContainers": [init]})
    plan = plan_of(make_nodepool(), daemon, make_pod(requests=ONE_CPU))
    assert bool(plan.launches) is placed
    if placed:
        assert plan.launches[0].requests["cpu"] == 10_000


@pytest.mark.core("CORE-346")
def test_daemons_that_ask_for_nothing_take_a_place_only() -> None:
    assert cheapest(make_nodepool(), make_daemon_set()) == "a1"


@pytest.mark.core("CORE-347")
@pytest.mark.parametrize(
    ("pool", "daemon", "chosen"),
    [
        ({"taints": [GPU]}, {}, "a1"),  # it stays away
        ({"taints": [GPU]}, {"tolerations": [{"operator": "Exists"}]}, "a2"),
        ({"taints": [{"key": "batch", "effect": "PreferNoSchedule"}]}, {}, "a2"),  # CORE-356
        ({"startup_taints": [GPU]}, {}, "a2"),  # CORE-339
    ],
)
@pytest.mark.core("CORE-339", "CORE-356")
def test_only_daemons_that_the_pools_taints_let_in_count(
    pool: dict[str, Any], daemon: dict[str, Any], chosen: str
) -> None:
    bears = {"tolerations": [{"operator": "Exists"}]}
    objects = [make_nodepool(**pool), make_daemon_set(requests=ONE_CPU, spec=daemon)]
    (launch,) = plan_of(make_pod(requests=ONE_CPU, spec=bears), *objects).launches
    assert launch.instance_types[0].name == chosen


@pytest.mark.core("CORE-348", "CORE-349", "CORE-350", "CORE-352", "CORE-354", "CORE-093")
@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"nodeSelector": {"team": "a"}}, True),
        ({"nodeSelector": {"team": "b"}}, False),
        ({"nodeSelector": {"unknown": "x"}}, False),
        ({"nodeSelector": {labels.ARCH: "mips"}}, False),
        ({"nodeSelector": {labels.REGISTERED: "true", labels.INITIALIZED: "true"}}, True),
        (affinity(selector("unknown", "NotIn", "x")), True),
        (affinity(selector("unknown", "Exists"), selector("team", "In", "a")), True),
        (affinity(selector("team", "Near", "a")), False),
    ],
)
def test_only_daemons_that_select_the_node_count(spec: dict[str, Any], counts: bool) -> None:
    daemon = make_daemon_set(requests=ONE_CPU, spec=spec)
    assert cheapest(make_nodepool(labels={"team": "a"}), daemon) == ("a2" if counts else "a1")


@pytest.mark.core("CORE-355")
@pytest.mark.parametrize("weight", [1, 100])
def test_what_a_daemon_would_only_prefer_does_not_keep_it_away(weight: int) -> None:
    wish = {"weight": weight, "preference": {"matchExpressions": [selector("unknown", "In", "x")]}}
    spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}
    assert cheapest(make_nodepool(), make_daemon_set(requests=ONE_CPU, spec=spec)) == "a2"


@pytest.mark.core("CORE-351")
def test_daemons_of_one_architecture_count_on_that_architecture_only() -> None:
    only_arm = make_daemon_set(requests={"cpu": "1"}, spec={"nodeSelector": {labels.ARCH: "arm64"}})
    (launch,) = plan_of(make_nodepool(), only_arm, make_pod(requests=ONE_CPU)).launches
    assert [t.name for t in launch.instance_types[:2]] == ["c1", "a2"]
    assert launch.requests["cpu"] == 1000  # the least that daemons take on any of the types


def test_daemons_that_claim_devices_do_not_count() -> None:
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
    assert cheapest(make_nodepool(), make_daemon_set(requests=ONE_CPU, spec=claims)) == "a1"
    assert cheapest(make_nodepool(), make_daemon_set(requests=ONE_CPU)) == "a2"
    assert expected(make_node("n"), spec=claims) == Resources()


def test_daemons_count_against_the_number_of_pods_too() -> None:
    two = make_instance_type("two", resources={"pods": "2"})
    plan = plan_of(make_nodepool(), make_daemon_set(), make_pod("p"), make_pod("q"), types=[two])
    assert len(plan.launches) == 2


def test_a_type_that_does_not_hold_the_daemons_is_not_taken_though_the_pod_asks_for_nothing() -> None:
    (launch,) = plan_of(make_nodepool(), make_daemon_set(requests={"cpu": "3"}), make_pod()).launches
    assert launch.instance_types[0].name == "a4"
    nowhere = plan_of(make_nodepool(), make_daemon_set(requests={"acme.com/gpu": "1"}), make_pod())
    assert nowhere.launches == ()


def test_a_label_that_pods_do_not_want_is_none_that_others_could_ask_for() -> None:
    """No pool defines ``team``, so a pod that wants one of its values goes nowhere, whoever comes before it."""
    picky = make_pod("picky", requests=ONE_CPU, spec=affinity(selector("team", "NotIn", "a")))
    setting = make_pod("setting", requests={"cpu": "500m"}, spec={"nodeSelector": {"team": "b"}})
    daemon = make_daemon_set(requests={"cpu": "3"}, spec={"nodeSelector": {"team": "b"}})
    plan = plan_of(make_nodepool(), daemon, picky, setting)
    assert [launch.pods for launch in plan.launches] == [("default/picky",)]
    assert plan.launches[0].requests["cpu"] == 1000


@pytest.mark.parametrize("wanted", [selector("team", "In", "b"), selector("team", "Exists")])
def test_a_label_that_a_pool_leaves_open_is_one_that_pods_may_settle(wanted: dict[str, Any]) -> None:
    """Daemons that could select on it count from the start."""
    pool = make_nodepool(requirements=[selector("team", "Exists")])
    picky = make_pod("picky", requests=ONE_CPU, spec=affinity(selector("team", "NotIn", "a")))
    setting = make_pod("setting", requests={"cpu": "500m"}, spec=affinity(wanted))
    daemon = make_daemon_set(requests={"cpu": "1"}, spec={"nodeSelector": {"team": "b"}})
    plan = plan_of(pool, daemon, picky, setting)
    assert [sorted(launch.pods) for launch in plan.launches] == [["default/picky", "default/setting"]]
    assert plan.launches[0].requests["cpu"] == 2500


# Daemons that run already


def running_daemon(name: str, created: float = START, **pod: Any) -> dict[str, Any]:
    """A pod of the DaemonSet ``daemon``, on a node."""
    made = make_pod(name, owner="DaemonSet", namespace="kube-system", created=created, **pod)
    made["metadata"]["ownerReferences"][0] |= {"name": "daemon", "uid": "daemon-uid"}
    return made


@pytest.mark.core("CORE-341")
def test_what_a_daemons_newest_pod_asks_for_counts_not_its_template() -> None:
    """A webhook, or a vertical autoscaler, may have made the pods larger or smaller than the template."""
    node = make_node("n", room={"cpu": "100m", "pods": "2"})
    pods = [
        running_daemon("old", node="n", requests={"cpu": "9"}),
        running_daemon("new", created=START + 60, node="n", requests={"cpu": "3"}),
    ]
    assert cheapest(make_nodepool(), node, make_daemon_set(requests=ONE_CPU), *pods) == "a4"


@pytest.mark.core("CORE-341")
def test_a_daemon_that_runs_says_what_it_selects_and_bears_but_its_affinity_is_its_sets() -> None:
    node = make_node("n", room={"cpu": "1", "pods": "1"})
    everywhere = running_daemon("there", node="n", requests=ONE_CPU, spec={"tolerations": [{"operator": "Exists"}]})
    tainted = make_nodepool(taints=[GPU])
    pod = make_pod(requests=ONE_CPU, spec={"tolerations": [{"operator": "Exists"}]})
    selecting = {"nodeSelector": {labels.ARCH: "mips"}}
    affine = affinity(selector(labels.ARCH, "In", "mips"))
    for spec, chosen in ((selecting, "a2"), (affine, "a1")):
        daemon_set = make_daemon_set(requests=ONE_CPU, spec=spec)
        (launch,) = plan_of(tainted, node, everywhere, daemon_set, pod).launches
        assert launch.instance_types[0].name == chosen


def test_pods_of_a_set_of_the_same_name_that_is_gone_say_nothing() -> None:
    stray = running_daemon("stray", node="n", requests={"cpu": "3"})
    stray["metadata"]["ownerReferences"][0]["uid"] = "another"
    node = make_node("n", room={"cpu": "100m", "pods": "2"})
    assert cheapest(make_nodepool(), node, stray, make_daemon_set(requests=ONE_CPU)) == "a2"


@pytest.mark.core("CORE-341")
def test_where_the_daemon_is_still_to_come_it_is_expected_as_the_newest_one_is() -> None:
    nodes = [make_node(name, room={"cpu": "4", "pods": "9"}) for name in ("m", "n")]
    snapshot = Snapshot.from_objects(
        [*nodes, make_daemon_set(requests=ONE_CPU), running_daemon("there", node="m", requests={"cpu": "3"})]
    )
    daemons = daemons_of(snapshot.daemon_sets, snapshot.daemon_pods)
    assert [expected_on(view, daemons)["cpu"] for view in snapshot.nodes] == [0, 3000]


@pytest.mark.core("CORE-353")
def test_the_host_that_a_running_daemon_is_bound_to_is_not_what_its_set_asks_for() -> None:
    host = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    by_label = {"matchExpressions": [selector(labels.HOSTNAME, "In", "n")]}
    for term in (host, by_label):
        terms = {"nodeSelectorTerms": [term]}
        spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
        pod = running_daemon("there", node="n", requests=ONE_CPU, spec=spec)
        node = make_node("n", room={"cpu": "1", "pods": "1"})
        assert cheapest(make_nodepool(), node, pod, make_daemon_set(requests=ONE_CPU)) == "a2"


# On nodes that exist


def expected(node: dict[str, Any], *pods: dict[str, Any], **daemon: Any) -> Resources:
    snapshot = Snapshot.from_objects([node, *pods, make_daemon_set("d", requests=ONE_CPU, **daemon)])
    return expected_on(snapshot.nodes[0], daemons_of(snapshot.daemon_sets))


def test_a_daemon_that_is_not_there_yet_is_expected() -> None:
    assert expected(make_node("n"))["cpu"] == 1000


@pytest.mark.core("CORE-091")
def test_a_daemon_that_is_there_is_not_expected_again() -> None:
    assert expected(make_node("n"), make_pod("d1", node="n", owner="DaemonSet", requests=ONE_CPU))["cpu"] == 0


@pytest.mark.core("CORE-092")
def test_daemons_beyond_those_expected_are_no_credit() -> None:
    stray = make_pod("d1", node="n", owner="DaemonSet", requests={"cpu": "3"})
    assert expected(make_node("n"), stray)["cpu"] == 0


@pytest.mark.core("CORE-102")
def test_a_daemon_that_the_node_does_not_satisfy_to_the_letter_is_not_expected() -> None:
    assert expected(make_node("n"), spec={"nodeSelector": {labels.ARCH: "arm64"}}) == Resources()
    tainted = make_node("n", taints=[GPU])
    assert expected(tainted) == Resources()


def test_room_for_expected_daemons_is_kept_on_machines_that_come_up() -> None:
    machine = make_machine("m", reached=("Launched",), room={"cpu": "2", "pods": "9"})[0]
    daemon, pod = make_daemon_set(requests=ONE_CPU), make_pod(requests={"cpu": "1500m"})
    assert plan_of(make_nodepool(), machine, daemon, pod).nominations == ()
    assert plan_of(make_nodepool(), machine, daemon, make_pod(requests=ONE_CPU)).launches == ()


def test_what_is_expected_is_known_of_many_nodes_at_once() -> None:
    objects = [
        *(make_node(f"n{number}", labels={"team": "ab"[number % 2]}) for number in range(6)),
        make_pod("d2", node="n2", owner="DaemonSet", requests={"cpu": "1"}),
        make_pod("d3", node="n3", owner="DaemonSet", requests={"cpu": "500m"}),
        make_daemon_set("everywhere", requests={"cpu": "1"}),
        make_daemon_set("for-a", requests={"memory": "1Gi"}, spec={"nodeSelector": {"team": "a"}}),
    ]
    snapshot = Snapshot.from_objects(objects)
    daemons = daemons_of(snapshot.daemon_sets)
    one_by_one = {position: expected_on(view, daemons) for position, view in enumerate(snapshot.nodes)}
    assert [dict(one_by_one[position]) for position in (2, 3)] == [
        {"cpu": 0, "memory": 2**30, "pods": 1},
        {"cpu": 500, "pods": 0},
    ]
    assert expected_on_all(snapshot.nodes, daemons) == one_by_one
    assert expected_on_all(snapshot.nodes[3:4], daemons[:0]) == {}
