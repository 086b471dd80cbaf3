"""Churn control: what is moved is worth it, and is moved once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from karpy import labels
from karpy.clock import format_time
from karpy.cloud.instancetype import InstanceType, Offering
from karpy.disruption.command import Command
from karpy.disruption.engine import Pass, look
from karpy.disruption.memory import FAILURE, PREDECESSORS, note_failure, succession
from karpy.disruption.past import Past
from karpy.disruption.verdicts import PaysTooLate, Quarantined, Verdict
from karpy.disruption.worth import OUTLOOK_S, SWAP_OUTLOOK_S
from karpy.objects.nodeclaim import NodeClaim
from karpy.objects.nodepool import NodePool
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot
from karpy.testing import (
    START,
    make_catalog,
    make_claim,
    make_condition,
    make_instance_type,
    make_machine,
    make_nodepool,
    make_pod,
)

HOUR = 3600.0
NOW = START + 12 * HOUR
READY = [make_condition("Consolidatable")]

Json = dict[str, Any]


def node(name: str, cpu: int = 4, *, annotations: dict[str, str] | None = None, **arguments: Any) -> list[Json]:
    arguments.setdefault("conditions", READY)
    room = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    known = {labels.ARCH: "amd64", labels.OS: "linux"}
    found = list(make_machine(name, instance_type=f"c{cpu}", room=room, labels=known, **arguments))
    found[0]["metadata"]["annotations"] = {**(found[0]["metadata"].get("annotations") or {}), **(annotations or {})}
    return found


def pod(name: str, on: str = "", cpu: str = "1", app: str = "web", template: str = "1", **more: Any) -> Json:
    """A pod of a Deployment; ``template`` is that of its ReplicaSet."""
    marks = {"app": app, "pod-template-hash": template}
    found = make_pod(name, node=on, requests={"cpu": cpu}, labels=marks, **more)
    found["metadata"]["ownerReferences"][0]["name"] = f"{app}-{template}"
    return found


def look_at(
    *objects: Sequence[Json] | Json,
    now: float = NOW,
    past: Past | None = None,
    types: Sequence[InstanceType] | None = None,
    settings: Settings | None = None,
    **rules: str,
) -> tuple[Snapshot, Pass]:
    flat = [part for obj in objects for part in ([obj] if isinstance(obj, dict) else obj)]
    pool = make_nodepool(disruption={"budgets": [{"nodes": "100%"}]})
    pool["metadata"]["annotations"] = {f"karpy.dev/{key.replace('_', '-')}": value for key, value in rules.items()}
    snapshot = Snapshot.from_objects([pool, *flat])
    found = look(snapshot, make_catalog(snapshot, types), now=now, settings=settings, past=past)
    return snapshot, found


def command(*objects: Sequence[Json] | Json, **more: Any) -> Command | None:
    return next(iter(look_at(*objects, **more)[1].commands), None)


def verdict(name: str, *objects: Sequence[Json] | Json, **more: Any) -> Verdict:
    return look_at(*objects, **more)[1].verdicts[name]


MERGED = [node("a"), node("b", conditions=()), pod("p", "a"), pod("q", "b")]
"""Node a may go: its pod fits on b."""
SHRUNK = [node("a", 16, capacity_type="on-demand"), pod("p", "a")]
"""Node a is too large for its pod."""


def test_without_a_rule_nothing_is_held_back() -> None:
    assert command(*MERGED) is not None
    assert command(*SHRUNK) is not None


def test_empty_nodes_go_whatever_the_rules_say() -> None:
    found = command(node("a"), node("b"), pod("q", "b"), churn_control="on", disruption_price="1000")
    assert found is not None
    assert found.nodes == ("a",)


# Room that was wanted a moment ago


def launched(minutes_ago: float, **more: Any) -> list[Json]:
    found = node("new", conditions=(), **more)
    found[0]["metadata"]["creationTimestamp"] = format_time(NOW - 60 * minutes_ago)
    return found


def test_nobody_is_moved_for_money_for_a_while_after_room_was_wanted() -> None:
    held = verdict("a", *MERGED, launched(9), delay_after_add="10m")
    assert held == Quarantined(
        NOW + 60, f"A node was launched in its pool not long ago (until {format_time(NOW + 60)})"
    )
    assert command(*MERGED, launched(10), delay_after_add="10m") is not None
    assert command(*MERGED, launched(9), delay_after_add="0s") is not None


def test_replacements_are_not_launched_for_pods_that_wait() -> None:
    memory = {PREDECESSORS: succession([Snapshot.from_objects(node("z")).nodes[0]], NOW)[PREDECESSORS]}
    found = launched(1, annotations=memory)
    assert command(*MERGED, found, delay_after_add="10m") is not None


def test_what_goes_empty_or_has_drifted_does_not_wait_for_that() -> None:
    assert command(node("a"), launched(1), pod("q", "new"), delay_after_add="10m") is not None
    drifted = node("a", conditions=[make_condition("Drifted")])
    assert command(drifted, pod("p", "a"), launched(1), delay_after_add="10m") is not None


# What a move costs


def test_a_move_must_earn_its_price_within_the_outlook() -> None:
    """Node a costs $0.20 an hour."""
    assert command(*MERGED, disruption_price="0.19") is not None
    held = verdict("a", *MERGED, disruption_price="0.20")
    assert held == PaysTooLate(0.2, OUTLOOK_S, 0.2)
    assert str(held) == (
        "It saves $0.2000/h, which may last for 60 min and so earn $0.2000; to move its pods costs $0.2000"
    )


def bought_once(cpu: int, price: float, *capacity_types: str) -> InstanceType:
    return make_instance_type(
        f"c{cpu}", cpu=str(cpu), memory=f"{4 * cpu}Gi", price=price, capacity_types=capacity_types or ("on-demand",)
    )


def test_what_a_replacement_costs_is_not_earned() -> None:
    """From $0.80 to $0.10."""
    types = [bought_once(16, 0.8), bought_once(2, 0.1)]
    found = command(*SHRUNK, types=types)
    assert found is not None
    assert found.savings == pytest.approx(0.7)
    assert command(*SHRUNK, types=types, disruption_price="0.69") is not None
    assert isinstance(verdict("a", *SHRUNK, types=types, disruption_price="0.71"), PaysTooLate)


def test_what_another_capacity_type_saves_lasts_longer() -> None:
    """The same as spot saves $0.40 an hour."""
    types = [bought_once(16, 0.8, "spot", "on-demand")]
    full = [node("a", 16, capacity_type="on-demand"), pod("p", "a", "14")]
    found = command(*full, types=types)
    assert found is not None
    saves = found.savings * SWAP_OUTLOOK_S / HOUR
    assert command(*full, types=types, disruption_price=f"{saves - 0.01:.2f}") is not None
    assert isinstance(verdict("a", *full, types=types, disruption_price=f"{saves + 0.01:.2f}"), PaysTooLate)


def test_each_pod_has_its_price() -> None:
    other = pod("r", "a")
    assert isinstance(verdict("a", *MERGED, other, disruption_price="0.10"), PaysTooLate)
    assert command(*MERGED, other, disruption_price="0.09") is not None


def test_a_pod_may_say_its_own_price() -> None:
    dear = pod("r", "a", annotations={"karpy.dev/disruption-price": "5"})
    assert isinstance(verdict("a", *MERGED, dear, disruption_price="0.01"), PaysTooLate)
    assert command(*MERGED, dear) is not None  # where the pool has no price, nobody has


def test_a_job_loses_what_it_has_done() -> None:
    """Half of the machine for ten hours is a dollar."""
    done = make_pod("j", node="a", requests={"cpu": "2"}, owner="Job", created=NOW - 10 * HOUR)
    new = make_pod("j", node="a", requests={"cpu": "2"}, owner="Job", created=NOW - 60)
    stays = pod("p", "a", cpu="500m")
    room = [node("a"), node("b", conditions=()), stays]
    assert isinstance(verdict("a", *room, done, disruption_price="0.01"), PaysTooLate)
    assert command(*room, new, disruption_price="0.01") is not None


def test_a_node_of_jobs_is_needed_for_as_long_as_they_run() -> None:
    """Within five minutes $0.20 an hour are less than two cents."""
    short = make_pod("j", node="a", requests={"cpu": "10m"}, owner="Job", created=NOW - 300)
    held = verdict("a", node("a"), node("b", conditions=()), short, disruption_price="0.02")
    assert isinstance(held, PaysTooLate)
    assert held.outlook_s == 300


def test_nothing_is_earned_after_a_node_would_have_expired() -> None:
    old = node("a")
    old[0]["spec"]["expireAfter"] = "12h1m"
    held = verdict("a", old, *MERGED[1:], disruption_price="0.01")
    assert isinstance(held, PaysTooLate)
    assert held.outlook_s == 60


def test_what_the_cluster_costs_and_what_was_paid_for_moves_never_rise_together() -> None:
    """The potential: dollars within the outlook, and the price of all moves so far."""
    dice = random.Random(7)
    commands = 0
    for _ in range(60):
        price = dice.choice((0.002, 0.01, 0.05))
        nodes = [node(f"n{i}", dice.choice((2, 4, 8, 16)), capacity_type="spot") for i in range(5)]
        homes = [*range(5), *dice.choices(range(5), k=dice.randrange(5))]
        pods = [pod(f"p{i}", f"n{home}", f"{dice.randrange(100, 900)}m") for i, home in enumerate(homes)]
        snapshot, found = look_at(*nodes, *pods, disruption_price=str(price))
        for each in found.commands:
            moved = sum(len(view.reschedulable_pods) for view in map(snapshot.node, each.nodes) if view is not None)
            assert each.savings * OUTLOOK_S / HOUR > price * moved
            commands += bool(moved)
    assert commands > 10


# How often


def begun(at: float, *objects: Sequence[Json] | Json) -> Past:
    """What is remembered when the command for these objects has begun."""
    snapshot, found = look_at(*objects, now=at)
    return Past().after(found.commands[0], snapshot, at)


def test_pods_are_moved_no_more_often_than_the_pool_says() -> None:
    past = begun(NOW - 5 * HOUR, *MERGED)
    others = [node("c"), node("d", conditions=()), pod("p", "c"), pod("q", "d")]
    assert command(*others, past=past) is not None
    assert command(*others, past=past, evictions_per_pod="1/5h") is not None
    # Of the two pods of the workload one was moved, so one more may be.
    assert command(*others, past=past, evictions_per_pod="1/6h") is not None
    twice = begun(NOW - HOUR, *others).moves.entries
    past = attrs.evolve(past, moves=attrs.evolve(past.moves, entries=(*past.moves.entries, *twice)))
    held = verdict("c", *others, past=past, evictions_per_pod="1/6h")
    assert isinstance(held, Quarantined)
    assert held.until == NOW + HOUR
    assert str(held) == (f"default/Deployment/web has had its 2 eviction(s) in 6 h (until {format_time(NOW + HOUR)})")
    assert command(*others, past=past, evictions_per_pod="2/6h") is not None


def test_what_came_to_nothing_was_no_move() -> None:
    snapshot, found = look_at(*MERGED)
    past = Past().after(found.commands[0], snapshot, NOW)
    assert len(past.moves.entries) == 1
    assert past.failed(found.commands[0]) == Past()


def test_moves_are_remembered_for_a_day() -> None:
    past = begun(NOW, *MERGED)
    snapshot, found = look_at(node("c"), node("d", conditions=()), pod("x", "c", app="other"))
    later = past.after(found.commands[0], snapshot, NOW + 25 * HOUR)
    assert [entry.workload for entry in later.moves.entries] == ["default/Deployment/other"]


# Rollouts


def test_nodes_are_left_alone_while_their_workload_is_rolled_out() -> None:
    new = pod("new", "b", template="2", created=NOW - 60)
    assert command(*MERGED, new) is not None
    held = verdict("a", *MERGED, new, spare_rollouts="true")
    assert isinstance(held, Quarantined)
    assert held.until == NOW - 60 + 600
    assert held.reason.startswith("default/Deployment/web is being rolled out")


def test_a_new_pod_that_waits_is_a_rollout_too() -> None:
    new = pod("new", template="2", created=NOW - 5, cpu="100")
    assert isinstance(verdict("a", *MERGED, new, spare_rollouts="true"), Quarantined)


def test_nodes_without_the_workload_may_go_meanwhile() -> None:
    others = [node("c"), pod("x", "c", app="other"), pod("new", "b", template="2", created=NOW - 60)]
    found = command(*MERGED, *others, spare_rollouts="true")
    assert found is not None
    assert found.nodes == ("c",)


def test_nor_are_they_moved_just_after_that() -> None:
    """What old pods left behind goes empty by itself."""
    begun, ended = NOW - 800, NOW - 60
    rolled = [node("a"), node("b", conditions=()), pod("p", "a", created=begun), pod("q", "b", created=ended)]
    held = verdict("a", *rolled, spare_rollouts="true")
    assert isinstance(held, Quarantined)
    assert held.until == ended + 180
    assert command(*rolled, spare_rollouts="true", now=ended + 180) is not None


@pytest.mark.parametrize("came", [-11 * HOUR, -601])
def test_a_rollout_that_has_come_to_a_stop_holds_nobody(came: float) -> None:
    assert command(*MERGED, pod("new", "b", template="2", created=NOW + came), spare_rollouts="true") is not None


def test_a_workload_that_only_grows_is_not_rolled_out() -> None:
    assert command(*MERGED, pod("new", "b", created=NOW - 1), spare_rollouts="true") is not None


# No way back


def came_after(instance_type: str, capacity_type: str, hours_ago: float) -> dict[str, str]:
    """What a claim remembers that took the place of such a machine."""
    before = Snapshot.from_objects(make_machine("old", instance_type=instance_type, capacity_type=capacity_type))
    return dict(succession(before.nodes, NOW - hours_ago * HOUR))


def test_a_node_does_not_become_what_its_predecessor_was() -> None:
    back = came_after("c4", "on-demand", 1)
    types = [
        make_instance_type(
            f"c{size}", cpu=str(size), memory=f"{4 * size}Gi", price=0.05 * size, capacity_types=("on-demand",)
        )
        for size in (4, 16)
    ]
    shrunk = [node("a", 16, capacity_type="on-demand", annotations=back), pod("p", "a", "2")]
    assert command(*shrunk, types=types) is not None
    held = verdict("a", *shrunk, types=types, no_return_within="6h")
    assert isinstance(held, Quarantined)
    assert "what its predecessors were" in held.reason
    assert command(*shrunk, types=types, no_return_within="30m") is not None


def test_it_may_become_something_else() -> None:
    back = came_after("c4", "spot", 1)
    found = command(
        node("a", 16, capacity_type="on-demand", annotations=back), pod("p", "a", "2"), no_return_within="6h"
    )
    assert found is not None
    names = {priced.name for launch in found.replacements for priced in launch.instance_types}
    assert "c8" in names
    assert "c4" not in names
    assert "c16" in names  # as spot, which it is not now


def test_what_replaces_a_node_remembers_it_and_those_before_it() -> None:
    old = came_after("c2", "spot", 1)
    (view,) = Snapshot.from_objects(node("a", 8, capacity_type="on-demand", annotations=old)).nodes
    claim = node("b", annotations=dict(succession([view], NOW)))
    (after,) = Snapshot.from_objects(claim).nodes
    remembered = succession([after], NOW + HOUR)[PREDECESSORS]
    assert [part for part in ("c4", "c8", "c2") if part in remembered] == ["c4", "c8", "c2"]
    assert "c2" not in succession([after], NOW + 24 * HOUR)[PREDECESSORS]  # a day is enough


@pytest.mark.parametrize("text", ["", "[", "7", '[{"until":"soon","instanceType":"c4","capacityType":"spot"}]', "[{}]"])
def test_memory_that_somebody_else_wrote_over_is_none(text: str) -> None:
    spoilt = {PREDECESSORS: text, FAILURE: text}
    assert command(node("a", 16, capacity_type="on-demand", annotations=spoilt), pod("p", "a"), churn_control="on")


# From one capacity type to another


def test_pods_are_not_swapped_again_within_the_cooldown() -> None:
    past = begun(NOW - HOUR / 2, *SHRUNK)
    assert past.moves.entries[0].swapped
    assert command(*SHRUNK, past=past) is not None
    held = verdict("a", *SHRUNK, past=past, capacity_type_cooldown="1h")
    assert isinstance(held, Quarantined)
    assert held.until == NOW + HOUR / 2
    assert command(*SHRUNK, past=past, capacity_type_cooldown="20m") is not None


def test_a_restart_does_not_forget_whose_place_a_node_took() -> None:
    swapped = node("a", 16, capacity_type="on-demand", annotations=came_after("c8", "spot", 0.5))
    assert isinstance(verdict("a", swapped, pod("p", "a"), capacity_type_cooldown="1h"), Quarantined)
    alike = node("a", 16, capacity_type="on-demand", annotations=came_after("c8", "on-demand", 0.5))
    assert command(alike, pod("p", "a"), capacity_type_cooldown="1h") is not None


def test_a_replacement_of_the_same_capacity_type_is_no_swap() -> None:
    dear = [Offering("test-zone-1", "on-demand", 0.05 * size) for size in (1, 16)]
    types = [
        make_instance_type(f"c{size}", cpu=str(size + 1), memory=f"{4 * size}Gi", offerings=[offering])
        for size, offering in zip((1, 16), dear, strict=True)
    ]
    shrunk = [node("a", 16, capacity_type="on-demand", zone="test-zone-1"), pod("p", "a")]
    past = begun(NOW, *SHRUNK)
    assert command(*shrunk, types=types, past=past, capacity_type_cooldown="1h") is not None


# Replacements that did not come


def failed(times: int, at: float) -> dict[str, str]:
    annotations: dict[str, str] = {}
    for _ in range(times):
        claim = make_claim("a")
        claim["metadata"]["annotations"] = annotations
        annotations = dict(note_failure(NodeClaim.from_dict(claim), at))
    return annotations


@pytest.mark.parametrize(("times", "minutes"), [(1, 10), (2, 15), (3, 22.5), (40, 24 * 60)])
def test_a_node_whose_replacement_failed_is_left_alone_for_longer_each_time(times: int, minutes: float) -> None:
    shrunk = [node("a", 16, capacity_type="on-demand", annotations=failed(times, NOW)), pod("p", "a")]
    assert command(*shrunk) is not None
    held = verdict("a", *shrunk, quarantine="10m", now=NOW + 60)
    assert isinstance(held, Quarantined)
    assert held.until == NOW + 60 * minutes
    assert command(*shrunk, quarantine="10m", now=NOW + 60 * minutes) is not None


def test_so_are_nodes_like_it() -> None:
    """What is not to be had for one of them is not for the others."""
    shrunk = [node("a", 16, capacity_type="on-demand", annotations=failed(1, NOW), conditions=()), pod("p", "a", "14")]
    like = [node("b", 16, capacity_type="on-demand"), pod("q", "b", "3")]
    unlike = [node("c", 8, capacity_type="on-demand"), pod("r", "c", "3")]
    assert isinstance(verdict("b", *shrunk, *like, quarantine="10m"), Quarantined)
    assert command(*shrunk, *unlike, quarantine="10m") is not None


def test_it_may_go_where_nothing_has_to_be_launched() -> None:
    found = command(node("a", annotations=failed(3, NOW)), *MERGED[1:], quarantine="1h")
    assert found is not None
    assert found.replacements == ()


def test_the_setting_is_for_all_pools() -> None:
    shrunk = [node("a", 16, capacity_type="on-demand", annotations=failed(1, NOW)), pod("p", "a")]
    assert isinstance(verdict("a", *shrunk, settings=Settings(churn_control="on")), Quarantined)
    assert command(*shrunk, settings=Settings(churn_control="on"), churn_control="off") is not None
    assert NodePool.from_dict(make_nodepool()).metadata.annotations is None
