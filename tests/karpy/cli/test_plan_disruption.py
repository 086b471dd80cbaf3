"""``karpy plan --only disruption -o json`` beside what Karpenter found in the same clusters, node by node."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karpy.cli.app import run
from tests.karpy.disruption.test_vectors import DIFFERENT
from tests.vectors import read

Json = dict[str, Any]

SMALL = "disruption/small.jsonl"
METHODS = ("emptiness", "staticDrift", "drift", "multiNode", "singleNode")


@pytest.fixture(scope="module")
def compared(shared: Path) -> list[tuple[Json, Json]]:
    """Every scenario beside the answer that the command gives."""
    out = io.StringIO()
    path = str(shared / "data/vectors" / SMALL)
    with contextlib.redirect_stdout(out):
        assert run(["plan", "--from", path, "--all", "--only", "disruption", "-o", "json"]) == 0
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    return list(zip(read(shared, SMALL), found, strict=True))


def nodes(compared: list[tuple[Json, Json]]) -> Iterator[tuple[str, Json, Json]]:
    """Where, what Karpenter says of a node, and what karpy says."""
    for line, found in compared:
        for name, expected in line["expect"]["nodes"].items():
            yield f"{line['name']}/{name}", expected, found["nodes"][name]


def shape(command: Json) -> tuple[Any, ...]:
    types = [sorted(each["instanceTypes"]) for each in command["replacements"]]
    return command["decision"], command["candidates"], types, round(command["savings"], 6)


def test_answers_have_the_keys_of_the_format(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        assert found["name"] == line["name"]
        assert found.keys() >= line["expect"].keys()
        assert found["methods"].keys() == set(METHODS)
        assert found["nodes"].keys() == line["expect"]["nodes"].keys()
        for command in (*found["commands"], *(each for each in found["methods"].values() for each in each)):
            assert command.keys() >= {"decision", "candidates", "replacements", "savings"}
            assert command["candidates"] == sorted(command["candidates"])


def test_budgets_are_karpenters(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        assert found["budgets"] == line["expect"]["budgets"], line["name"]


def test_the_same_methods_concern_each_node(compared: list[tuple[Json, Json]]) -> None:
    for where, expected, found in nodes(compared):
        assert found["candidateFor"] == expected["candidateFor"], where


def test_the_same_nodes_may_not_be_looked_at(compared: list[tuple[Json, Json]]) -> None:
    for where, expected, found in nodes(compared):
        for key in ("gracefulError", "eventualError"):
            assert (key in found) == (key in expected), where
        assert found.get("notEligible") == expected.get("notEligible"), where


def test_nodes_cost_the_same(compared: list[tuple[Json, Json]]) -> None:
    for where, expected, found in nodes(compared):
        assert found["price"] == pytest.approx(expected["price"], abs=1e-9), where
        assert found["rescheduleDisruptionCost"] == pytest.approx(expected["rescheduleDisruptionCost"], abs=1e-6), where
        # Pods that have ended disturb nobody: Karpenter counts them here.
        assert found["disruptionCost"] <= expected["disruptionCost"] + 1e-6, where


def test_a_node_alone_comes_to_the_same(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        for name, expected in line["expect"]["nodes"].items():
            mine, theirs, where = found["nodes"][name].get("alone"), expected.get("alone"), f"{line['name']} {name}"
            assert (mine is None) == (theirs is None), where
            if mine is not None and theirs is not None and line["deterministic"] and where not in DIFFERENT:
                assert shape(mine) == shape(theirs), where


def test_why_a_node_alone_stays_is_of_the_same_kind(compared: list[tuple[Json, Json]]) -> None:
    for where, expected, found in nodes(compared):
        if "aloneMessages" in expected:
            mine, theirs = found["aloneMessages"][0], expected["aloneMessages"][0]
            assert mine.split()[0] == theirs.split()[0], where


def test_where_karpenter_always_decides_the_same_so_does_karpy(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        for method in METHODS if line["deterministic"] else ():
            mine = sorted(map(shape, found["methods"][method]))
            theirs = sorted(map(shape, line["expect"]["methods"][method]))
            saves_more = method == "multiNode" and saved(mine) > saved(theirs)  # by sets that Karpenter does not try
            if not saves_more and f"{line['name']} {method}" not in DIFFERENT:
                assert mine == theirs, (line["name"], method)


def saved(commands: list[tuple[Any, ...]]) -> float:
    return sum(float(each[3]) for each in commands) - 1e-9


def test_the_first_method_that_finds_something_is_the_one_to_act(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        first = next((method for method in METHODS if found["methods"][method]), "")
        assert found["action"] == first, line["name"]
        assert [each["method"] for each in found["commands"]] == [first] * len(found["commands"])
        if found["action"] != line["expect"]["action"]:
            assert (found["action"], line["expect"]["methods"]["multiNode"]) == ("multiNode", []), line["name"]


def test_every_node_has_a_verdict(compared: list[tuple[Json, Json]]) -> None:
    for where, _expected, found in nodes(compared):
        assert found["verdict"]["kind"], where
        assert found["verdict"]["text"], where


def test_every_pod_of_a_command_has_a_place(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        staying = {each["metadata"]["name"] for each in line["objects"] if each["kind"] == "Node"}
        for command in found["commands"]:
            replacements = [set(each["pods"]) for each in command["replacements"]]
            for move in command["moves"]:
                if "replacement" in move:
                    assert move["pod"] in replacements[move["replacement"]]
                else:
                    assert move["node"] in staying - set(command["candidates"])
