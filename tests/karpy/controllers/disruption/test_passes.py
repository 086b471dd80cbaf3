"""One look after another: when there is one, what it begins, and what comes of commands that are no longer right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from karpy.controllers.disruption import controller
from karpy.disruption.command import Command, Method
from karpy.disruption.engine import Pass, look
from karpy.metrics import DISRUPTION_FAILED_VALIDATIONS
from karpy.objects import kinds
from tests.karpy.controllers.disruption.commanding import apart, is_going, keeping, told
from tests.karpy.controllers.stage import Stage, apps, conditions, pool
from tests.karpy.sim.manifests import bare_pod


def limited(*budgets: dict[str, Any]) -> dict[str, Any]:
    found = pool()
    found["spec"]["disruption"]["budgets"] = list(budgets)
    return found


def looks(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, Pass]]:
    """Every look from now on, and when it was."""
    seen: list[tuple[float, Pass]] = []

    def watched(*given: Any, **more: Any) -> Pass:
        found = look(*given, **more)
        seen.append((stage.clock.now(), found))
        return found

    monkeypatch.setattr(controller, "look", watched)
    return seen


def commands(stage: Stage) -> list[tuple[float, Command]]:
    return [(at, decision) for at, decision in stage.decisions if isinstance(decision, Command)]


def empty_and_oversized() -> tuple[Stage, str, str]:
    """A node that nothing runs on, and one in another pool that is far too large for what does, both just now consolidatable."""
    stage = Stage(pool("one"), pool("two"))
    for name, replicas in (("one", 1), ("two", 12)):
        stage.world.apply([apps(name, replicas, "1", nodeSelector={"karpenter.sh/nodepool": name})])
    stage.run(45)
    empty, oversized = sorted(stage.names(kinds.NODE_CLAIM))
    stage.scale("one", 0)
    stage.scale("two", 1)
    stage.until(lambda: all("Consolidatable" in conditions(claim) for claim in stage.claims))
    return stage, empty, oversized


def test_after_a_look_that_began_something_there_is_another_at_once() -> None:
    stage, empty, oversized = empty_and_oversized()
    stage.until(lambda: is_going(stage, empty))
    begun = stage.clock.now()
    assert told(stage, "ConsolidationCandidate", "Node").keys() == {("Node", oversized)}
    stage.until(lambda: len(commands(stage)) == 2)
    assert stage.clock.now() - begun < 16  # it only had to be made sure of


def test_where_a_command_is_no_longer_right_the_methods_after_its_own_are_asked_at_once() -> None:
    stage, empty, oversized = empty_and_oversized()
    stage.run(5)
    stage.world.apply([bare_pod("late", nodeName=empty)])
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")), 15)
    assert told(stage, "ConsolidationCandidate", "Node").keys() == {("Node", oversized)}
    assert commands(stage) == []
    stage.until(lambda: bool(commands(stage)), 16)
    assert [command.nodes for _, command in commands(stage)] == [(oversized,)]


def test_a_look_by_some_of_the_methods_has_not_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")))
    seen = looks(stage, monkeypatch)
    stage.world.apply([bare_pod("late", nodeName=name)])
    stage.until(lambda: bool(told(stage, "ConsolidationRejected")))
    rejected = stage.clock.now()
    stage.run(11)
    assert [at - rejected for at, _ in seen if at > rejected][:1] == [10.0]


@pytest.mark.core("CORE-547", "CORE-643")
def test_a_command_that_is_no_longer_right_is_told() -> None:
    stage, _empty, oversized = empty_and_oversized()
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")))
    assert told(stage, "ConsolidationCandidate", "Node")["Node", oversized].startswith(
        f"Consolidation candidate: replace: [{oversized}] -> [1 replacement] (savings: $"
    )
    stage.world.apply([bare_pod("late", nodeName=oversized)])
    stage.until(lambda: bool(told(stage, "ConsolidationRejected")), 20)
    for kind in ("Node", "NodeClaim"):
        text = told(stage, "ConsolidationRejected", kind)[kind, oversized]
        assert text.startswith(
            f"Consolidation rejected: replace: [{oversized}] -> [1 replacement], reason: churn (savings: $"
        )
    (line,) = stage.log.said("abandoning disruption attempt")
    assert line["reason"] == "churn"
    (counted,) = stage.metrics.told(DISRUPTION_FAILED_VALIDATIONS)
    assert counted == (1.0, {"consolidation_type": "single"})


@pytest.mark.core("CORE-583")
@pytest.mark.parametrize("comes", ["do-not-disrupt", "budget"])
def test_what_comes_while_it_is_made_sure_stops_a_command(comes: str) -> None:
    stage = Stage()
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    stage.until(lambda: bool(told(stage, "ConsolidationCandidate")))
    stage.run(14)
    if comes == "budget":
        selector = {"matchLabels": {"app": "a"}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}
        stage.world.apply([{**budget, "spec": {"maxUnavailable": 0, "selector": selector}}])
    else:
        (pod,) = (pod for pod in stage.all(kinds.POD) if "deletionTimestamp" not in pod["metadata"])
        annotations = {"karpenter.sh/do-not-disrupt": "true"}
        stage.api.patch(kinds.POD, pod["metadata"]["name"], {"metadata": {"annotations": annotations}}, "default")
    stage.run(120)
    assert commands(stage) == []
    assert not is_going(stage, name)


def test_a_node_that_is_no_longer_nominated_is_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Karpenter leaves it for up to five minutes."""
    stage = Stage()
    name = stage.grown(apps("a", 4))
    stage.scale("a", 1)
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))
    until = stage.clock.now() + 23.5
    stage.operator.state.nominate(name, (), until=until)
    seen = looks(stage, monkeypatch)
    stage.world.run(until=until - 0.1)
    assert not any(found.commands for _, found in seen)
    stage.run(0.2)
    assert [found.commands[0].nodes for _, found in seen if found.commands] == [(name,)]


def test_at_most_once_a_second_though_claims_turn_consolidatable_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(limited({"nodes": "0"}))
    stage.world.apply([apart("a", 4)])
    stage.run(60)
    seen = looks(stage, monkeypatch)
    for number in range(40):
        claim = stage.names(kinds.NODE_CLAIM)[number % 4]
        stage.api.patch(kinds.NODE_CLAIM, claim, {"status": {"conditions": None}}, subresource="status")
        stage.run(0.25)
    assert all(later - former >= 1 for (former, _), (later, _) in pairwise(seen))


@pytest.mark.core("CORE-551")
def test_a_look_that_budgets_limited_has_not_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(limited({"nodes": "0"}))
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))
    stage.run(30)
    seen = looks(stage, monkeypatch)
    stage.run(60)
    assert len(seen) == 6


def test_where_no_node_might_go_that_is_told_every_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(keeping())
    name = stage.grown(apps("a", 2))
    seen = looks(stage, monkeypatch)
    stage.run(600)
    assert len(seen) == 2
    text = 'NodePool "default" has consolidation disabled'
    assert told(stage, "Unconsolidatable") == {("Node", name): text, ("NodeClaim", name): text}


def test_a_method_that_was_not_asked_for_a_quarter_of_an_hour_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(limited({"nodes": "0"}))
    stage.grown(apps("a", 2))
    stage.scale("a", 0)
    stage.until(lambda: "Consolidatable" in conditions(stage.claims[0]))

    def only_emptiness(*given: Any, **more: Any) -> Pass:
        through = more.pop("through")
        return look(
            *given,
            **more,
            through=lambda method, search: through(method, search) if method is Method.EMPTINESS else search(),
        )

    stage.run(30)
    monkeypatch.setattr(controller, "look", only_emptiness)
    stage.run(860)
    assert not any(level == "warning" for level, *_ in stage.log.lines)
    stage.run(60)
    warned = [text for level, text, _ in stage.log.lines if level == "warning"]
    assert any(text.startswith("abnormal time between runs of single-node = ") for text in warned)
    assert not any("emptiness" in text for text in warned)
