from __future__ import annotations

import pytest

from karpy.errors import CreateFailed, InsufficientCapacity, NodeClassNotReady, ProviderError
from karpy.sim.region.troubles import Trouble, TroubleKind, Troubles, refusal_of
from karpy.sim.region.where import Where

KEY = ("c-4x-amd64", "sim-1a", "spot")


def test_what_is_planned_strikes_the_launches_that_it_names() -> None:
    troubles = Troubles([Trouble("slow", (2, 4), by=30.0), Trouble("never-joins", (4,))])
    assert [dict(troubles.of(launch, KEY)) for launch in (1, 2, 4)] == [
        {},
        {TroubleKind.SLOW: 30.0},
        {TroubleKind.SLOW: 30.0, TroubleKind.NEVER_JOINS: 0.0},
    ]


def test_chance_strikes_its_share_by_the_seed() -> None:
    def struck(seed: int) -> list[int]:
        troubles = Troubles([Trouble("error", share=0.2)], seed)
        return [launch for launch in range(1, 1001) if troubles.of(launch, KEY)]

    assert struck(1) == struck(1) != struck(2)
    assert 150 < len(struck(1)) < 250


def test_it_may_strike_only_where_it_is_said_to() -> None:
    troubles = Troubles([Trouble("fails", share=1.0, where=Where(zone="sim-1a"))])
    assert TroubleKind.FAILS in troubles.of(1, KEY)
    assert not troubles.of(1, ("c-4x-amd64", "sim-1b", "spot"))


def test_one_kind_less_changes_no_other() -> None:
    slow = Trouble("slow", share=0.3)
    both = Troubles([Trouble("fails", share=0.3), slow], seed=5)
    alone = Troubles([slow], seed=5)
    for launch in range(1, 200):
        assert (TroubleKind.SLOW in both.of(launch, KEY)) == (TroubleKind.SLOW in alone.of(launch, KEY))


@pytest.mark.parametrize(
    ("kind", "error", "is_retried"),
    [
        ("no-capacity", InsufficientCapacity, False),
        ("fails", CreateFailed, True),
        ("not-ready", NodeClassNotReady, False),
        ("error", ProviderError, True),
        ("timeout", ProviderError, True),
    ],
)
def test_a_launch_that_does_not_take_place_has_an_error_of_the_tree(
    kind: str, error: type[ProviderError], is_retried: bool
) -> None:
    found = refusal_of(Troubles([Trouble(kind, (1,))]).of(1, KEY))
    assert type(found) is error
    assert found.retryable is is_retried


@pytest.mark.parametrize("kind", ["answer-lost", "slow", "ends-early", "never-joins", "less-memory", "late-resources"])
def test_others_let_the_machine_be_launched(kind: str) -> None:
    assert refusal_of(Troubles([Trouble(kind, (1,))]).of(1, KEY)) is None


def test_amounts_have_usual_values() -> None:
    assert (Trouble("slow").by, Trouble("less-memory").by, Trouble("error").by) == (600.0, 0.05, 0.0)
    assert repr(Trouble("slow", (1,))) == "Trouble(kind='slow', launches=(1,))"


def test_clearing_up_ends_it() -> None:
    troubles = Troubles([Trouble("error", share=1.0)])
    troubles.clear_up()
    assert not troubles.of(1, KEY)
