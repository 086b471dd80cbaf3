from __future__ import annotations

from typing import Any

import pytest

from karpy.disruption.budgets import Allowance, Opening
from karpy.disruption.command import Command, Method, Move, Reason
from karpy.objects.budget import ALWAYS, Budget
from karpy.objects.nodepool import NodePool
from karpy.report.decisions import tell_command
from karpy.report.disruption_words import allowance_words, command_words, destinations, worth_words
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy.scheduling.plan import Launch, PricedType


def launch(*types: str) -> Launch:
    return Launch(
        pool=NodePool(name="web"),
        requirements=Requirements(),
        requests=Resources(),
        instance_types=tuple(PricedType(name, 0.1) for name in types),
        pods=(),
        pod_uids=(),
        considered=9,
        feasible=len(types),
    )


def command(method: Method, *nodes: str, **more: Any) -> Command:
    return Command(method=method, claims=nodes, nodes=nodes, **more)


MANY = [f"n{number:02d}" for number in range(9)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (command(Method.EMPTINESS, "a", "b", savings=0.2), "Delete a, b: 2 empty node(s) cost $0.2000/h for nothing"),
        (
            command(Method.SINGLE_NODE, "a", replacements=(launch("m", "l"),), savings=0.2),
            "Replace a: the pods of a fit on one m at $0.1000/h; that saves $0.2000/h",
        ),
        (
            command(Method.DRIFT, "a", replacements=(launch("m"), launch("l"))),
            "Replace a: a is no longer as wanted; 2 new machines instead",
        ),
        (
            command(Method.DRIFT, "a", moves=(Move("default/p", "b"),)),
            "Delete a: a is no longer as wanted; its pods fit on the others",
        ),
        (command(Method.DRIFT, "a"), "Delete a: a is no longer as wanted"),
    ],
)
def test_a_command_is_a_sentence(given: Command, words: str) -> None:
    assert command_words(given) == words


def test_of_many_nodes_the_first_are_named() -> None:
    words = command_words(command(Method.MULTI_NODE, *MANY, savings=1.0))
    assert words.startswith("Delete n00, n01, n02, n03, n04, n05 and 3 more: the pods of n00, n01, ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            command(Method.SINGLE_NODE, "a", savings=0.2, moves=(Move("default/p", "b"),)),
            "saves $0.2000/h, about $146.00 a month; 1 pod moves",
        ),
        (command(Method.EMPTINESS, "a"), "saves nothing; no pod moves"),
        (
            command(Method.DRIFT, "a", savings=-0.1),
            "costs $0.1000/h, about $73.00 a month, more than now; no pod moves",
        ),
        (
            command(Method.STATIC_DRIFT, "a", replacements=(launch(),), savings=0.5),
            "each gets a new one of its pool in its place; no pod moves",
        ),
    ],
)
def test_a_command_says_what_it_is_worth(given: Command, words: str) -> None:
    assert worth_words(given) == words


def test_pods_are_told_by_where_they_go() -> None:
    moves = (Move("default/c", 1), Move("default/b", "old"), Move("default/a", "old"), Move("default/d", 0))
    given = command(Method.DRIFT, "x", replacements=(launch("m", "l"), launch("s")), moves=moves)
    assert destinations(given) == [
        ("a new m or one of 1 more types (number 1)", ["default/d"]),
        ("a new s (number 2)", ["default/c"]),
        ("node old", ["default/a", "default/b"]),
    ]


def allowance(reason: Reason, *, limit: int | None = None) -> Allowance:
    held = None if limit is None else Opening(Budget(str(limit)), ALWAYS)
    return Allowance(pool="web", reason=reason, nodes=5, limit=limit, held_by=held)


def test_reasons_for_which_budgets_say_the_same_share_a_line() -> None:
    assert list(allowance_words(map(allowance, Reason))) == ['5 of 5 nodes of pool "web" may go: no budget limits that']
    one_empty = [allowance(reason, limit=1 if reason is Reason.EMPTY else None) for reason in Reason]
    assert list(allowance_words(one_empty)) == [
        '1 of 5 nodes of pool "web" may go for Empty: budget nodes=1',
        '5 of 5 nodes of pool "web" may go for Underutilized or Drifted: no budget limits that',
    ]


def test_a_happening_is_one_line_whatever_the_command() -> None:
    for given in (
        command(Method.MULTI_NODE, *MANY, replacements=(launch("m"),)),
        command(Method.STATIC_DRIFT, "a", replacements=(launch(),)),
    ):
        told = tell_command(0.0, given)
        assert "\n" not in told.to_line(0.0)
        assert told.fields["nodes"] == list(given.nodes)
    assert tell_command(0.0, given).fields["replacements"] == ["any of web"]
