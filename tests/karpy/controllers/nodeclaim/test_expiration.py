"""Machines that are too old go, and those that were born together do not go together."""

from __future__ import annotations

from typing import Any

import pytest

from karpy.clock import parse_time
from karpy.metrics import NODECLAIMS_DISRUPTED, PODS_DISRUPTION_INITIATED
from karpy.objects import kinds
from karpy.operator import Operator
from karpy.settings import Settings
from karpy.sim.clock import VirtualClock
from karpy.sim.world import World
from tests.karpy.controllers.stage import Silence, Stage, apps, conditions, pool, unreadable
from tests.karpy.sim.manifests import NODE_CLASS, QUICK

HOUR = 3_600.0
AT_ONCE = Settings(expiry_spread=0.0)


def ageing(life: str, *, budget: str = "100%", spread: str | None = None, **template: Any) -> dict[str, Any]:
    """A pool whose machines live so long, and are not consolidated."""
    found = pool(expireAfter=life, **template)
    found["spec"]["disruption"] = {"consolidateAfter": "Never", "budgets": [{"nodes": budget}]}
    if spread is not None:
        found["metadata"]["annotations"] = {"karpy.dev/expiry-spread": spread}
    return found


def born(stage: Stage, name: str) -> float:
    return parse_time(stage.api.get(kinds.NODE_CLAIM, name)["metadata"]["creationTimestamp"])


def gone(stage: Stage, name: str) -> bool:
    found = [claim for claim in stage.claims if claim["metadata"]["name"] == name]
    return not found or "deletionTimestamp" in found[0]["metadata"]


@pytest.mark.core("CORE-673")
def test_a_machine_goes_at_the_end_of_its_life_and_its_pods_get_another() -> None:
    stage = Stage(ageing("600s", terminationGracePeriod="10s"), settings=AT_ONCE)
    name = stage.grown(apps("a", 2))
    due = born(stage, name) + 600
    stage.until(lambda: gone(stage, name))
    assert stage.clock.now() == pytest.approx(due, abs=0.01)
    stage.run(60)
    assert stage.running("a") == 2
    assert name not in stage.names(kinds.NODE_CLAIM)


@pytest.mark.core("CORE-673")
def test_an_expired_claim_is_counted_once_with_its_pods() -> None:
    stage = Stage(ageing("200s", terminationGracePeriod="10s"), settings=AT_ONCE)
    stage.grown(apps("a", 2, "100m"))
    stage.run(200)
    told = {
        "reason": "expired",
        "nodepool": "default",
        "capacity_type": "on-demand",
        "consolidation_policy": "",
        "termination_mode": "eventual",
    }
    assert stage.metrics.told(NODECLAIMS_DISRUPTED) == [(1.0, told)]
    assert stage.metrics.told(PODS_DISRUPTION_INITIATED) == [(2, told)]
    (logged,) = stage.log.said("deleting expired nodeclaim")
    assert set(logged) == {"Node"}


def test_while_the_pool_cannot_be_read_nothing_expires_before_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(ageing("600s", terminationGracePeriod="10s"), settings=Settings(expiry_spread=0.9))
    name = stage.grown(apps("a", 2))
    deadline = born(stage, name) + 600
    unreadable(stage, monkeypatch)
    stage.until(lambda: gone(stage, name))
    assert stage.clock.now() == pytest.approx(deadline, abs=0.01)


@pytest.mark.core("CORE-673")
def test_without_an_expiry_machines_stay() -> None:
    stage = Stage(ageing("Never"), settings=AT_ONCE)
    name = stage.grown(apps("a", 1))
    stage.run(2 * 24 * HOUR)
    assert stage.names(kinds.NODE_CLAIM) == [name]


@pytest.mark.core("CORE-673")
def test_a_claim_whose_node_never_came_expires_by_its_own_age() -> None:
    stage = Stage(ageing("120s"), settings=AT_ONCE)
    stage.cloud.launch_stillborn()
    stage.world.apply([apps("a", 1)])
    stage.run(30)
    (claim,) = stage.names(kinds.NODE_CLAIM)
    due = born(stage, claim) + 120
    stage.until(lambda: gone(stage, claim))
    assert stage.clock.now() == pytest.approx(due, abs=0.01)


def test_another_autoscalers_claim_does_not_expire() -> None:
    stage = Stage(ageing("600s"))
    name = stage.grown(apps("a", 1))
    raw = stage.api.get(kinds.NODE_CLAIM, name)
    foreign = {"group": "other.io", "kind": "OtherClass", "name": "x"}
    stage.api.create(
        kinds.NODE_CLAIM,
        {
            "apiVersion": raw["apiVersion"],
            "kind": raw["kind"],
            "metadata": {"name": "foreign"},
            "spec": {**raw["spec"], "nodeClassRef": foreign, "expireAfter": "60s"},
        },
    )
    stage.run(300)
    assert "foreign" in stage.names(kinds.NODE_CLAIM)


def test_a_restart_changes_nothing_about_when_a_machine_goes() -> None:
    stage = Stage(ageing("2h"))
    name = stage.grown(apps("a", 1))
    first, second = stage, Stage(ageing("2h"))
    assert second.grown(apps("a", 1)) == name
    second.start()
    times = [each.until(lambda each=each: gone(each, name), 3 * HOUR) for each in (first, second)]
    assert times[0] == times[1]


class Jumping:
    """A clock that is not always right."""

    def __init__(self, right: VirtualClock) -> None:
        self._right = right
        self.ahead_s = 0.0

    def now(self) -> float:
        return self._right.now() + self.ahead_s


@pytest.mark.parametrize("ahead_s", [-HOUR, HOUR])
def test_a_clock_that_jumps_is_noticed_within_the_hour(ahead_s: float) -> None:
    world = World(timing=QUICK)
    clock = Jumping(world.clock)
    world.install(Operator(kube=world.api, providers=(world.cloud,), clock=clock, settings=AT_ONCE, log=Silence()))
    world.apply([NODE_CLASS, ageing("10h"), apps("a", 1)])
    world.run(60)
    (claim,) = world.api.list(kinds.NODE_CLAIM).items
    due = parse_time(claim["metadata"]["creationTimestamp"]) + 10 * HOUR
    clock.ahead_s = ahead_s
    name = claim["metadata"]["name"]
    assert world.run_until(
        lambda: name not in [each["metadata"]["name"] for each in world.api.list(kinds.NODE_CLAIM).items], 12 * HOUR
    )
    assert due - max(ahead_s, 0) <= world.clock.now() <= due + max(-ahead_s, 0) + 60


def simultaneous(stage: Stage, seconds: float, *, terminating: bool = True, every_s: float = 5.0) -> int:
    """The most claims that are being deleted at any moment of that time; ``terminating``: even if their instances are too."""
    most = 0
    for _ in range(int(seconds / every_s)):
        stage.run(every_s)
        most = max(most, sum(_is_going(claim, terminating) for claim in stage.claims))
    return most


def _is_going(claim: dict[str, Any], terminating: bool) -> bool:
    is_ending = conditions(claim).get("InstanceTerminating") == "True"
    return "deletionTimestamp" in claim["metadata"] and (terminating or not is_ending)


def herd(budget: str, spread: str, machines: int = 40) -> Stage:
    """Machines that are born at once and live for two hours; each pod needs a whole one."""
    stage = Stage(ageing("2h", budget=budget, spread=spread))
    stage.world.apply([apps("a", machines, "20")])
    stage.run(60)
    assert len(stage.claims) == machines
    return stage


def test_machines_born_together_do_not_die_together() -> None:
    together, apart = herd("100%", "0"), herd("100%", "0.5")
    assert simultaneous(together, 2.2 * HOUR) == 40
    assert simultaneous(apart, 2.2 * HOUR) <= 4
    assert apart.running("a") == 40


def test_no_more_of_a_pool_expire_at_once_than_its_budget_allows() -> None:
    stage = herd("1", "0.5")
    assert simultaneous(stage, 2.2 * HOUR, terminating=False) == 1
    assert stage.running("a") == 40
    ages = [stage.clock.now() - born(stage, claim["metadata"]["name"]) for claim in stage.claims]
    assert max(ages) < 2 * HOUR


def test_a_budget_keeps_nobody_beyond_the_end_of_its_life() -> None:
    stage = herd("0", "0.5", machines=3)
    old = stage.names(kinds.NODE_CLAIM)
    end = max(born(stage, name) for name in old) + 2 * HOUR
    stage.world.run(until=end - 1)
    assert not any(gone(stage, name) for name in old)
    stage.world.run(until=end + 1)
    assert all(gone(stage, name) for name in old)


def test_another_spread_counts_at_once() -> None:
    stage = herd("100%", "0", machines=8)
    old = stage.names(kinds.NODE_CLAIM)
    stage.run(1.9 * HOUR)
    assert stage.names(kinds.NODE_CLAIM) == old
    spread = {"metadata": {"annotations": {"karpy.dev/expiry-spread": "0.5"}}}
    stage.api.patch(kinds.NODE_POOL, "default", spread)
    stage.run(5)
    assert sum(gone(stage, name) for name in old) > 4


def test_a_spread_that_cannot_be_read_is_told_and_the_usual_one_counts() -> None:
    stage = herd("100%", "0", machines=8)
    spread = {"metadata": {"annotations": {"karpy.dev/expiry-spread": "much"}}}
    stage.api.patch(kinds.NODE_POOL, "default", spread)
    stage.run(5)
    assert conditions(stage.api.get(kinds.NODE_POOL, "default"))["ValidationSucceeded"] == "False"
    ends = [born(stage, name) + 2 * HOUR for name in stage.names(kinds.NODE_CLAIM)]
    stage.world.run(until=min(ends) - 0.1 * 2 * HOUR - 1)
    assert not stage.metrics.told(NODECLAIMS_DISRUPTED)
    stage.world.run(until=max(ends) - 1)
    assert 0 < len(stage.metrics.told(NODECLAIMS_DISRUPTED)) <= 8


def test_a_short_window_in_which_machines_may_go_is_not_missed() -> None:
    """All day but for ten minutes from noon on nothing may go; the machine is due since half past nine, at the latest at one."""
    found = ageing("4h", spread="0.9")
    found["spec"]["disruption"]["budgets"] = [{"nodes": "0", "schedule": "10 12 * * *", "duration": "23h50m"}]
    stage = Stage(found)
    name = stage.grown(apps("a", 1))
    stage.world.run(until=parse_time("2026-01-05T12:00:00Z") - 1)
    assert not gone(stage, name)
    stage.run(60)
    assert gone(stage, name)
