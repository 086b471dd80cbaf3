"""Seven days in the life of a cluster of some 200 nodes, under each policy for taking nodes away; run when it is named.

`tests.scenarios.days` is the cluster; `oneday` is the same for a day, and smaller. The environment may say ``DAYS`` and ``SIZE``
otherwise: a week takes some minutes for each ten nodes.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from measure import Measure

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.scenarios.days.diary import Days
from tests.scenarios.days.life import CONTROLLED, KARPENTER, OFF, POLICIES, Life, Policy, live

DAYS, SIZE = 7.0, 1.0
AT_A_TIME = 2
_COMPARED = (OFF, KARPENTER, CONTROLLED)


def measures() -> Iterator[Measure]:
    yield from compared(float(os.environ.get("DAYS", DAYS)), float(os.environ.get("SIZE", SIZE)))


def compared(days: float, size: float) -> Iterator[Measure]:
    """The same days under every policy: printed as a table, and as measures."""
    found = lived(POLICIES, days, size)
    print(table(found, days))
    for each in found:
        name = f"days: {each.policy}, {days:g} days, {each.mean_nodes:.0f} nodes"
        yield Measure(f"{name}: cost", each.cost, "$", 1, "lower")
        yield Measure(f"{name}: voluntary evictions", each.voluntary, "pods", 1, "lower")
        yield Measure(f"{name}: launches", each.launches, "nodes", 1, "lower")
        yield Measure(f"{name}: pods waited", each.waited, "h", 1, "lower")
        yield Measure(f"{name}: A to B to A within 6 h", len(each.returns), "nodes", 1, "lower")
    off, rules, controlled = (next(each for each in found if each.policy == name.name) for name in _COMPARED)
    kept = (off.cost - controlled.cost) / (off.cost - rules.cost)
    left = controlled.voluntary / max(rules.voluntary, 1)
    name = f"days: churn control to Karpenter's rules, {days:g} days, {controlled.mean_nodes:.0f} nodes"
    yield Measure(f"{name}: savings", 100 * kept, "%", 1, "higher")
    yield Measure(f"{name}: voluntary evictions", 100 * left, "%", 1, "lower")
    yield Measure(f"{name}: commands by which the potential rose", len(controlled.rises), "commands", 1, "lower")


def lived(policies: Sequence[Policy], days: float, size: float) -> list[Days]:
    """Each policy in a process of its own, two at a time."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(AT_A_TIME, mp_context=context) as pool:
        return list(pool.map(partial(live, life=Life(size=size), days=days), policies))


def table(found: Sequence[Days], days: float) -> str:
    """One line for each policy. Savings are against the policy that takes no node away; evictions are told by reason (empty,
    underutilized, drifted), those that karpy did not want last; ``undone`` are nodes given up whose like was bought at once,
    ``failed`` commands whose replacements were not to be had, ``rises`` those that cost more than they saved."""
    most = next((each.cost for each in found if each.policy == OFF.name), 0.0)
    head = ("policy", "$", "saved", "nodes", "most", "launches", "commands", "evicted", "E/U/D", "others")
    head += ("waited h", "p50 s", "p99 s", "A-B-A", "undone", "failed", "rises")
    rows = [head, *(_row(each, most) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join((f"{days:g} days in the life", *lines))


def _row(each: Days, most: float) -> tuple[str, ...]:
    reasons = "/".join(str(each.evictions.get(reason, 0)) for reason in ("Empty", "Underutilized", "Drifted"))
    return (
        each.policy,
        f"{each.cost:,.0f}",
        f"{100 * (1 - each.cost / most):.1f} %" if most else "-",
        f"{each.mean_nodes:.0f}",
        str(each.most_nodes),
        str(each.launches),
        str(len(each.deeds)),
        str(each.voluntary),
        reasons,
        str(each.involuntary),
        f"{each.waited:.1f}",
        f"{each.wait(0.5):.0f}",
        f"{each.wait(0.99):.0f}",
        str(len(each.returns)),
        str(each.undone),
        str(each.failed),
        str(len(each.rises)),
    )
