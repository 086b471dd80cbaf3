from __future__ import annotations

import math
from typing import Any

import pytest

from karpy.clock import format_time
from karpy.cloud.instancetype import Offering
from karpy.disruption.candidates import Candidate, candidates, freed_at
from karpy.disruption.verdicts import NotCandidate, Verdict
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    START,
    make_catalog,
    make_claim,
    make_condition,
    make_instance_type,
    make_machine,
    make_node,
    make_nodepool,
    make_pod,
)

HOUR = 3600.0
DO_NOT = {"karpenter.sh/do-not-disrupt": "true"}
BEARS_ALL = {"tolerations": [{"operator": "Exists"}]}
DELETED = {"deletionTimestamp": "2026-01-05T09:00:00Z"}


def verdicts(snapshot: Snapshot, now: float = START) -> tuple[list[Candidate], dict[str, Verdict]]:
    found, refused = candidates(snapshot, make_catalog(snapshot), now=now)
    held = {each.view.name: each.hold for each in found if each.hold is not None}
    return [each for each in found if each.hold is None], {**refused, **held}


def reason(*objects: dict[str, Any]) -> str:
    """Why the only machine is no candidate; empty when it is one."""
    _found, refused = verdicts(Snapshot.from_objects([make_nodepool(), *objects]))
    return str(next(iter(refused.values()))) if refused else ""


def budget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": spec.pop("name", "b"), "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "unhealthyPodEvictionPolicy": spec.pop("policy", None)},
        "status": {"disruptionsAllowed": spec.pop("allowed", 0)},
    }


def annotated(annotations: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    claim, node = make_machine("m")
    node["metadata"]["annotations"] = annotations
    return claim, node


def test_a_machine_that_is_up_is_a_candidate() -> None:
    assert reason(*make_machine("m")) == ""


@pytest.mark.core("CORE-526")
def test_nodes_of_others_are_not_asked_about() -> None:
    assert verdicts(Snapshot.from_objects([make_nodepool(), make_node("n")])) == ([], {})


@pytest.mark.core("CORE-527", "CORE-528", "CORE-526", "CORE-522", "CORE-517", "CORE-523", "CORE-524")
@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([make_claim("m")], "Nodeclaim does not have an associated node"),
        (make_machine("m", reached=("Launched", "Registered")), "Node isn't initialized"),
        (make_machine("m", metadata=DELETED), "Node is deleting or marked for deletion"),
        (make_machine("m", pool="gone"), "Nodepool not found (NodePool=gone)"),
        (annotated(DO_NOT), 'Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'),
        (annotated({"karpenter.sh/do-not-consolidate": "true"}), "Disruption is blocked through"),
        ([*make_machine("m"), make_pod("p", node="m", annotations=DO_NOT)], "(Pod=default/p)"),
        ([*make_machine("m"), make_pod("p", node="m", annotations=DO_NOT, owner="DaemonSet")], "(Pod=default/p)"),
        (
            [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}), budget()],
            "(PodDisruptionBudget=[default/b])",
        ),
        (
            [
                *make_machine("m"),
                make_pod("p", node="m", labels={"app": "web"}),
                budget(allowed=1),
                budget(allowed=1, name="c"),
            ],
            "Eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/b default/c])",
        ),
    ],
)
def test_what_blocks_is_told(objects: list[dict[str, Any]], text: str) -> None:
    assert text in reason(*objects)


@pytest.mark.core("CORE-530")
def test_a_node_that_a_command_is_about_is_not_looked_at_for_another() -> None:
    snapshot = Snapshot.from_objects([make_nodepool(), *make_machine("m"), *make_machine("n")])
    found, refused = candidates(snapshot, make_catalog(snapshot), now=START, busy=frozenset({"m"}))
    assert [each.claim for each in found] == ["n"]
    assert refused == {"m": NotCandidate("Node is being disrupted")}


@pytest.mark.core("CORE-524")
def test_a_budget_about_daemon_pods_blocks_too() -> None:
    daemon = make_pod("d", node="m", owner="DaemonSet", labels={"app": "web"})
    assert "Pdb prevents pod evictions" in reason(*make_machine("m"), daemon, budget())


@pytest.mark.core("CORE-521", "CORE-525", "CORE-561")
@pytest.mark.parametrize(
    "objects",
    [
        annotated({"karpenter.sh/do-not-disrupt": "false"}),
        [*make_machine("m"), make_pod("p", node="m", annotations=DO_NOT, status={"phase": "Succeeded"})],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}), budget(allowed=1)],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "db"}), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}, namespace="other"), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}, owner="Node"), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}, spec=BEARS_ALL), budget()],
        [*make_machine("m"), make_pod("p", node="m", labels={"app": "web"}), budget(policy="AlwaysAllow")],
    ],
)
def test_what_does_not_concern_it_does_not_block(objects: list[dict[str, Any]]) -> None:
    assert reason(*objects) == ""


def protected(duration: str, started: float = START, name: str = "p", node: str = "m") -> dict[str, Any]:
    notes, status = {"karpenter.sh/do-not-disrupt": duration}, {"startTime": format_time(started)}
    return make_pod(name, node=node, annotations=notes, status=status)


@pytest.mark.core("CORE-572", "CORE-615")
@pytest.mark.parametrize(
    ("pods", "blocking"),
    [
        ([protected("1h", START - HOUR + 1)], "p"),
        ([protected("1h", START - HOUR)], ""),
        ([protected("1h30m", START - HOUR)], "p"),
        ([protected("an hour")], ""),
        ([protected("-1h")], ""),
        ([protected("0s")], ""),
        ([protected("1m", START - HOUR, "short"), protected("2h", START - HOUR, "long")], "long"),
        ([protected("1m", START - HOUR, "short"), protected("true", START - HOUR, "always")], "always"),
        ([make_pod("p", node="m", annotations={"karpenter.sh/do-not-disrupt": "1h"})], "p"),  # it has not started yet
    ],
)
def test_a_pod_may_say_how_long_it_wants_to_run_undisturbed(pods: list[dict[str, Any]], blocking: str) -> None:
    text = f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/{blocking})' if blocking else ""
    assert reason(*make_machine("m"), *pods) == text


def test_when_the_passing_of_time_alone_lets_a_node_be_looked_at() -> None:
    machines = [part for name in ("a", "b", "c", "d") for part in make_machine(name)]
    pods = [
        protected("10m", name="a1", node="a"),
        protected("30m", name="a2", node="a"),  # no sooner than the longest of a node
        protected("20m", name="b1", node="b"),
        protected("5m", name="c1", node="c"),
        protected("true", name="c2", node="c"),
    ]
    state = ClusterState.of([make_nodepool(), *machines, *pods])
    state.nominate("d", (), until=START + 20)
    snapshot, times, now = state.snapshot(), [], START
    while now < math.inf:
        now = freed_at(snapshot, now)
        times.append(now - START)
    assert times == [20, 1200, 1800, math.inf]


@pytest.mark.core("CORE-527")
def test_a_node_that_pods_are_on_their_way_to_is_left_alone_for_a_while() -> None:
    state = ClusterState.of([make_nodepool(), *make_machine("m")])
    state.nominate("m", (), until=START + 20)
    snapshot = state.snapshot()
    assert verdicts(snapshot, START)[1] == {"m": NotCandidate("Node is nominated for a pending pod")}
    assert verdicts(snapshot, START + 20)[1] == {}


# What a node costs, and what it costs to disrupt it


@pytest.mark.core("CORE-529", "CORE-635")
@pytest.mark.parametrize(
    ("label", "price"),
    [
        ({"instance_type": "t", "zone": "zone-a"}, 0.25),
        ({"instance_type": "unknown"}, 0.0),
        ({"instance_type": ""}, 0.0),
    ],
)
def test_a_node_costs_what_its_offering_does_though_that_be_sold_out(label: dict[str, str], price: float) -> None:
    offerings = [Offering("zone-a", "on-demand", 0.25, available=False), Offering("zone-b", "on-demand", math.nan)]
    snapshot = Snapshot.from_objects([make_nodepool(), *make_machine("m", **label)])
    types = [make_instance_type("t", offerings=offerings)]
    (found,), _refused = candidates(snapshot, make_catalog(snapshot, types), now=START)
    assert found.price == price


def test_only_pods_that_would_move_count() -> None:
    pods = [make_pod("a", node="m"), make_pod("b", node="m"), make_pod("d", node="m", owner="DaemonSet")]
    (found,), _refused = verdicts(
        Snapshot.from_objects([make_nodepool(), *make_machine("m", instance_type="c4"), *pods])
    )
    assert (found.disruption_cost, found.is_empty) == (3.0, False)
    assert found.savings_ratio == pytest.approx(0.2 / 3)


@pytest.mark.core("CORE-602")
def test_a_node_is_consolidatable_when_its_claim_says_so() -> None:
    def consolidatable(*conditions: dict[str, str]) -> bool:
        machine = make_machine("m", conditions=conditions)
        (found,), _refused = verdicts(Snapshot.from_objects([make_nodepool(), *machine]))
        return found.unwanted is None

    assert consolidatable(make_condition("Consolidatable"))
    assert not consolidatable(make_condition("Consolidatable", status="False"))
    assert not consolidatable()
