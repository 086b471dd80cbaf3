"""A command is looked at once more before it is carried out: what changed meanwhile, and of what kind that is."""

from __future__ import annotations

import pytest

from karpy import labels
from karpy.disruption.command import Command, Method
from karpy.disruption.engine import METHODS
from karpy.disruption.past import Past
from karpy.disruption.scene import Scene
from karpy.disruption.validation import validate
from karpy.disruption.verdicts import ValidationFailed
from karpy.state.snapshot import Snapshot
from karpy.testing import START, make_catalog, make_condition, make_nodepool, selector
from tests.karpy.disruption.deciding import Json, flat, machine, pod

ON_DEMAND_ONLY = [selector(labels.CAPACITY_TYPE, "In", "on-demand"), selector(labels.ARCH, "In", "amd64")]


def pool(nodes: str = "100%") -> Json:
    return make_nodepool(disruption={"budgets": [{"nodes": nodes}]}, requirements=ON_DEMAND_ONLY)


def snapshot_of(*objects: list[Json] | Json, budget: str = "100%") -> Snapshot:
    rest = make_nodepool("rest", disruption={"consolidateAfter": "Never"})
    roomy = [*machine("roomy", "c16", 16, pool="rest"), pod("stays", "roomy", cpu="8")]
    return Snapshot.from_objects([pool(budget), rest, *roomy, *flat(objects)])


def found_by(method: Method, snapshot: Snapshot) -> Command:
    (command,) = METHODS[method](Scene(snapshot, make_catalog(snapshot), now=START))
    return command


def again(command: Command, newer: Snapshot, **more: Past) -> Command | ValidationFailed:
    return validate(command, newer, make_catalog(newer), now=START + 15, **more)


LIGHT = flat([[*machine(name, "c4", 4), pod(f"p-{name}", name)] for name in "abc"])
GUARDED = pod("guarded", "a", annotations={labels.DO_NOT_DISRUPT: "true"})


def test_several_nodes_may_still_go_if_nothing_changed() -> None:
    command = found_by(Method.MULTI_NODE, snapshot_of(*LIGHT))
    confirmed = again(command, snapshot_of(*LIGHT))
    assert isinstance(confirmed, Command)
    assert (confirmed.method, set(confirmed.nodes)) == (Method.MULTI_NODE, set("abc"))


@pytest.mark.parametrize(
    ("newer", "category", "words"),
    [
        (snapshot_of(*LIGHT, GUARDED), "churn", 'a: Pod has "karpenter.sh/do-not-disrupt" annotation'),
        (snapshot_of(*LIGHT[3:]), "churn", "a: it is gone"),
        (snapshot_of(*[obj for obj in LIGHT if obj["metadata"]["name"] != "p-a"]), "churn", "a: Node is empty"),
        (snapshot_of(*LIGHT, budget="2"), "budget", "of 3 nodes"),
        (
            snapshot_of(*LIGHT, pod("odd", "a", spec={"nodeSelector": {labels.ARCH: "s390x"}})),
            "scheduling",
            "default/odd",
        ),
    ],
    ids=["guarded", "gone", "empty", "budget", "no place"],
)
def test_all_of_several_must_be_as_they_were(newer: Snapshot, category: str, words: str) -> None:
    command = found_by(Method.MULTI_NODE, snapshot_of(*LIGHT))
    failed = again(command, newer)
    assert isinstance(failed, ValidationFailed)
    assert (failed.category, words in failed.change) == (category, True), failed.change
    assert str(failed) == f"{category}: {failed.change}"


def test_pods_that_have_no_place_any_more_are_named() -> None:
    large = [*machine("a", "c16", 16), pod("p", "a", cpu="6")]
    command = found_by(Method.SINGLE_NODE, snapshot_of(*large))
    failed = again(command, snapshot_of(*large, pod("q", "a", cpu="9", spec={"nodeSelector": {labels.ARCH: "s390x"}})))
    assert isinstance(failed, ValidationFailed)
    assert failed.category == "scheduling"
    assert "default/q" in failed.change


def test_a_claim_that_another_command_is_about_is_not_taken_twice() -> None:
    command = found_by(Method.MULTI_NODE, snapshot_of(*LIGHT))
    failed = again(command, snapshot_of(*LIGHT), past=Past(busy=frozenset({"b"})))
    assert isinstance(failed, ValidationFailed)
    assert failed.change == "b: Node is being disrupted"


def test_drift_is_not_looked_at_again() -> None:
    drifted = machine("a", "c4", 4, conditions=[make_condition("Drifted")])
    command = found_by(Method.DRIFT, snapshot_of(*drifted, pod("p", "a")))
    assert again(command, snapshot_of(*drifted, GUARDED)) is command
