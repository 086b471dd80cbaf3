"""Clusters with Karpenter's verdicts on each node: who may go, what that costs, and what each method commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from karpy.disruption.budgets import allowance
from karpy.disruption.command import Command, Method, Move, Reason
from karpy.disruption.survey import Judgement, Survey
from karpy.disruption.verdicts import BlockedBy, NotWanted, ScoreBelow, Verdict
from karpy.scenarios.situation import Situation
from tests.karpy.disruption.checker import faults
from tests.vectors import read, situation

UNLIMITED = 2**31 - 1

METHODS = {
    Method.EMPTINESS: "emptiness",
    Method.STATIC_DRIFT: "staticDrift",
    Method.DRIFT: "drift",
    Method.MULTI_NODE: "multiNode",
    Method.SINGLE_NODE: "singleNode",
}

DIFFERENT = {
    "pdbs-004 multiNode": "Karpenter leaves out a pod that a budget of 0 % is about: the machine is cheaper, and lacks its room",
    "constraints-003 node-3": "of two zones karpy takes the one that is cheapest, so other types are below the price",
    "constraints-015 multiNode": "the same",
}
"""Where Karpenter always gives the same answer, and karpy has another on purpose. It is safe, and saves no less by the rules."""


@attrs.frozen
class Case:
    line: Mapping[str, Any]
    situation: Situation
    survey: Survey

    @property
    def name(self) -> str:
        return str(self.line["name"])

    @property
    def nodes(self) -> Iterator[tuple[str, Mapping[str, Any], Judgement]]:
        for name, expect in self.line["expect"]["nodes"].items():
            yield f"{self.name} {name}", expect, self.survey.judge(name)

    def faults(self, command: Command) -> list[str]:
        return faults(command, self.situation.snapshot, self.situation.catalog, self.situation.now)


def _case(shared: Path, line: Mapping[str, Any]) -> Case:
    found = situation(shared, dict(line))
    return Case(line, found, Survey(found.snapshot, found.catalog, now=found.now, settings=found.settings))


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[Case]:
    return [_case(shared, line) for line in read(shared, "disruption/small.jsonl")]


def test_budgets_allow_as_many_disruptions(cases: list[Case]) -> None:
    for case in cases:
        for reason, allowed in case.line["expect"]["budgets"].items():
            snapshot, now = case.situation.snapshot, case.situation.now
            found = {pool.name: allowance(snapshot, pool, Reason(reason), now) for pool in snapshot.pools}
            counts = {
                name: UNLIMITED - each.disrupted if each.limit is None else each.allowed for name, each in found.items()
            }
            assert counts == allowed, (case.name, reason)


@pytest.mark.core("CORE-518", "CORE-519", "CORE-520", "CORE-521", "CORE-525", "CORE-529", "CORE-571", "CORE-572")
def test_the_same_nodes_may_be_looked_at_by_the_same_methods_and_cost_the_same(cases: list[Case]) -> None:
    for case in cases:
        for where, expect, found in case.nodes:
            assert sorted(METHODS[method] for method in found.methods) == sorted(expect["candidateFor"]), where
            assert told(found.graceful) == sentence(expect.get("gracefulError")), where
            assert told(found.eventual) == sentence(expect.get("eventualError")), where
            if found.graceful is None:
                assert found.price == pytest.approx(expect["price"], abs=1e-9), where
                assert found.reschedule_cost == pytest.approx(expect["rescheduleDisruptionCost"], abs=1e-6), where


@pytest.mark.core("CORE-543", "CORE-544", "CORE-545")
def test_nodes_that_pools_do_not_want_to_go_are_told_so(cases: list[Case]) -> None:
    for case in cases:
        for where, expect, found in case.nodes:
            unwanted = found.found.get(Method.SINGLE_NODE)
            said = [str(unwanted)] if isinstance(unwanted, NotWanted) and unwanted.is_told else []
            assert said == expect.get("notEligible", []), where


@pytest.mark.core(
    "CORE-553", "CORE-554", "CORE-555", "CORE-556", "CORE-557", "CORE-559", "CORE-563", "CORE-564", "CORE-575"
)
def test_the_same_becomes_of_each_node_alone(cases: list[Case]) -> None:
    for case in cases:
        for where, expect, found in case.nodes:
            alone, wanted = found.alone, expect.get("alone")
            assert isinstance(alone, Command) == (wanted is not None), (where, str(alone))
            if isinstance(alone, Command):
                agrees(case, where, alone, wanted, is_exact=where not in DIFFERENT and case.line["deterministic"])


@pytest.mark.core("CORE-574", "CORE-627", "CORE-629")
def test_a_node_that_stays_is_told_why_as_karpenter_tells_it(cases: list[Case]) -> None:
    for case in cases:
        for where, expect, found in case.nodes:
            if found.alone is None or isinstance(found.alone, Command):
                continue
            messages = expect.get("aloneMessages", [])
            if isinstance(found.alone, ScoreBelow):
                assert messages == [], where  # Karpenter only counts these
            elif isinstance(found.alone, BlockedBy):
                assert same_words(str(found.alone), messages[0]), where
            else:
                assert [str(found.alone)] == messages, where


@pytest.mark.core(
    "CORE-549", "CORE-550", "CORE-584", "CORE-585", "CORE-586", "CORE-588", "CORE-601", "CORE-616", "CORE-621"
)
@pytest.mark.parametrize("method", METHODS)
def test_each_method_commands_the_same_or_what_saves_more_by_the_same_rules(cases: list[Case], method: Method) -> None:
    for case in cases:
        found, wanted = case.survey.methods[method], case.line["expect"]["methods"][METHODS[method]]
        where = f"{case.name} {METHODS[method]}"
        if sorted(map(shape, found)) == sorted(map(recorded_shape, wanted)):
            continue
        for command in found:
            assert case.faults(command) == [], where
        if where not in DIFFERENT:
            assert savings(found) > sum(each["savings"] for each in wanted) + 1e-9 or not case.line["deterministic"], (
                where
            )
        assert bool(found) >= bool(wanted), where


def test_the_next_command_is_of_the_same_method_or_moves_more_nodes_at_once(cases: list[Case]) -> None:
    for case in cases:
        action = next((METHODS[method] for method, commands in case.survey.methods.items() if commands), "")
        if action != case.line["expect"]["action"]:
            assert (action, case.line["expect"]["action"]) == ("multiNode", "singleNode"), case.name


@pytest.mark.core("CORE-578", "CORE-591", "CORE-592")
def test_every_command_is_safe(cases: list[Case]) -> None:
    judged = 0
    for case in cases:
        for commands in case.survey.methods.values():
            for command in commands:
                assert case.faults(command) == [], (case.name, command.nodes)
                judged += 1
    assert judged > 300


def test_no_node_is_without_a_verdict(cases: list[Case]) -> None:
    for case in cases:
        managed = {view.name for view in case.situation.snapshot.nodes if view.is_managed}
        assert managed <= set(case.survey.next.verdicts), case.name


def test_the_judge_finds_fault_with_commands_that_are_not(cases: list[Case]) -> None:
    """Commands of the recorded clusters, each spoilt in one way."""
    spoilt = 0
    for case in cases:
        for command in case.survey.methods[Method.SINGLE_NODE]:
            lost = attrs.evolve(command, moves=command.moves[1:])
            astray = attrs.evolve(command, moves=tuple(Move(move.pod, "nowhere") for move in command.moves))
            boasting = attrs.evolve(command, savings=command.savings + 1)
            for bad in (lost, astray, boasting):
                assert case.faults(bad) != [], (case.name, bad.nodes)
                spoilt += 1
    assert spoilt > 300


# What is compared


def agrees(case: Case, where: str, found: Command, wanted: Mapping[str, Any], *, is_exact: bool) -> None:
    """To the letter, or else at least as good."""
    if is_exact:
        assert (shape(found)[0], shape(found)[2]) == (recorded_shape(wanted)[0], recorded_shape(wanted)[2]), where
        assert found.savings == pytest.approx(wanted["savings"], abs=1e-6), where
        return
    assert found.savings > wanted["savings"] - 1e-6, where
    assert [fault for fault in case.faults(found) if not fault.startswith("the budgets")] == [], where


Shape = tuple[str, list[str], list[tuple[str, list[str]]]]


def shape(command: Command) -> Shape:
    launches = [(each.pool.name, sorted(kind.name for kind in each.instance_types)) for each in command.replacements]
    return command.decision.value, sorted(command.nodes), launches


def recorded_shape(command: Mapping[str, Any]) -> Shape:
    launches = [(each["nodePool"], sorted(each["instanceTypes"])) for each in command["replacements"]]
    return command["decision"], sorted(command["candidates"]), launches


def savings(commands: tuple[Command, ...]) -> float:
    return sum(command.savings for command in commands)


def told(verdict: Verdict | None) -> str:
    return "" if verdict is None else str(verdict)


def sentence(text: str | None) -> str:
    """As Karpenter writes an error into an event."""
    return text[0].upper() + text[1:] if text else ""


def same_words(found: str, wanted: str) -> bool:
    """Whose pods have no place is told in any order, and why in the words of the scheduler."""
    start = "Not all pods would schedule, "
    if "uninitialized" in wanted and " other(s)" not in wanted:
        return sorted(found.split()) == sorted(wanted.split())
    return found.startswith(start) and wanted.startswith(start)
