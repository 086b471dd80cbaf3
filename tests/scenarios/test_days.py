"""Half a day of the life that benchmarks live for a week, in a small cluster: that it is counted rightly, and always the same."""

from __future__ import annotations

import functools

import pytest

from tests.scenarios.days.diary import Days
from tests.scenarios.days.life import CONTROLLED, DAY, HOUR, KARPENTER, OFF, POLICIES, WHEN_EMPTY, Life, Policy, live

SMALL = Life(size=0.05)


@functools.cache
def lived(policy: Policy) -> Days:
    return live(policy, life=SMALL, days=0.25)


def test_the_same_seed_tells_the_same() -> None:
    assert _told(live(KARPENTER, life=SMALL, days=0.1)) == _told(live(KARPENTER, life=SMALL, days=0.1))


def _told(days: Days) -> tuple[object, ...]:
    return days.cost, days.evictions, days.waits, [(deed.at, str(deed.command), deed.saved) for deed in days.deeds]


def test_where_nodes_are_not_taken_away_nobody_is_evicted_for_that() -> None:
    days = lived(OFF)
    assert days.voluntary == 0
    assert days.deeds == ()
    assert days.launches >= 1
    assert days.mean_nodes <= days.most_nodes


def test_empty_nodes_move_nobody() -> None:
    days = lived(WHEN_EMPTY)
    assert {deed.reason for deed in days.deeds} == {"Empty"}
    assert days.voluntary == 0
    assert days.cost <= lived(OFF).cost


def test_karpenters_rules_save_money_and_move_pods() -> None:
    days = lived(KARPENTER)
    assert days.cost < 0.9 * lived(WHEN_EMPTY).cost
    assert days.voluntary == sum(deed.evicted for deed in days.deeds) >= 1
    assert any(deed.bought for deed in days.deeds)
    assert all(deed.saved > 0 for deed in days.deeds if deed.is_complete)


def test_churn_control_moves_fewer_pods_and_none_for_less_than_it_costs() -> None:
    days = lived(CONTROLLED)
    assert days.cost < 0.95 * lived(WHEN_EMPTY).cost
    assert days.voluntary < lived(KARPENTER).voluntary
    assert days.returns == ()
    assert days.rises == ()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_pods_that_waited_are_counted_once_each(policy: Policy) -> None:
    days = lived(policy)
    assert len(days.waits) >= 50
    assert days.waits == tuple(sorted(days.waits))
    assert days.wait(0.5) <= days.wait(0.99) <= days.wait(1.0) == days.waits[-1]
    assert days.waited == pytest.approx(sum(days.waits) / HOUR)


def test_the_web_tier_follows_the_day_and_rests_at_the_weekend() -> None:
    life = Life()
    service = life.web[0]
    noon, night = 0.58 * DAY, 0.08 * DAY
    assert life.demand(service, noon) > 2 * life.demand(service, night)
    assert life.demand(service, noon) > life.demand(service, 5 * DAY + noon)


def test_bursts_come_all_day_and_are_of_all_sizes() -> None:
    bursts = list(Life().bursts(1.0))
    sizes = [job["spec"]["parallelism"] for _, job in bursts]
    assert 30 <= len(bursts) <= 80
    assert min(sizes) < 20 < 80 < max(sizes)
    assert [at for at, _ in bursts] == sorted(at for at, _ in bursts)
