"""What is moved must be worth it, and is moved once: the rules that keep a pool from being moved around too much.

Each is a question about a node, or about a command that names several. All of them are off unless the pool or the settings ask for
them (`karpy.objects.churnrules`); then karpy decides as Karpenter does.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from karpy import labels
from karpy.clock import format_time
from karpy.cloud.instancetype import Catalog, Price
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method, Reason
from karpy.disruption.memory import failure_of, predecessors_of
from karpy.disruption.moves import Moves, bought_as, swaps
from karpy.disruption.pricing import lacking_min_values
from karpy.disruption.rollouts import moving_workloads, rolling_out, workload_sizes
from karpy.disruption.verdicts import PaysTooLate, Quarantined, Verdict
from karpy.disruption.worth import outlook_s, price_of_moving
from karpy.objects.churnrules import LONGEST_S, ChurnRules, churn_rules
from karpy.objects.nodepool import WHEN_EMPTY, NodePool
from karpy.scheduling.plan import Launch
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Churn"]

GROWTH: Final = 1.5
"""Each quarantine of a node is so many times as long as the one before. By doubling, one might come back in the same minute of the
hour each time, and find the same shortage."""
_SAVING = frozenset((Method.MULTI_NODE, Method.SINGLE_NODE))
"""The methods that move pods for the sake of money; drift has other reasons."""


class Churn:
    """The rules of all pools, on one picture of the cluster, and what is remembered of earlier ones."""

    def __init__(self, snapshot: Snapshot, catalog: Catalog, *, now: float, default: str, moves: Moves) -> None:
        self._snapshot = snapshot
        self._catalog = catalog
        self._now = now
        self._moves = moves
        self._rules = {pool.name: churn_rules(pool.metadata.annotations or {}, default) for pool in snapshot.pools}
        self.is_off = all(rules.is_off for rules in self._rules.values())
        """Whether no pool asks for anything."""

    def rules(self, pool: NodePool) -> ChurnRules:
        return self._rules.get(pool.name, _NONE)

    def restraint(self, candidate: Candidate, method: Method) -> Verdict | None:
        """Why this node had better be left alone, whatever would become of it. Of one that the method is not about there is nothing
        to say."""
        rules = self.rules(candidate.pool)
        if rules.is_off or not _is_about(method, candidate):
            return None
        return (
            self._in_rollout(rules, candidate.view)
            or self._too_often((candidate,))
            or (self._not_to_be_moved_for_money(candidate) if method in _SAVING else None)
        )

    def restrains(self, command: Command, gone: Sequence[Candidate]) -> Verdict | None:
        """Why the command had better not be carried out. ``gone`` are the nodes that it names."""
        if command.method is Method.EMPTINESS or all(self.rules(each.pool).is_off for each in gone):
            return None
        verdict: Verdict | None = self._too_often(gone)
        if verdict is None and command.replacements:
            verdict = self._in_quarantine(gone)
        if verdict is None and command.method in _SAVING:
            verdict = self._swapped_lately(command, gone) or self._pays_too_late(
                command.savings, gone, all(swaps(command, each.view) for each in gone)
            )
        return verdict

    def without_returns(self, launch: Launch, gone: Sequence[Candidate]) -> Launch | Quarantined:
        """The launch without what the nodes that go are, and what they took the place of not long ago."""
        if all(not self.rules(each.pool).no_return_s for each in gone):
            return launch
        until = dict(self._no_return(gone))
        bought = bought_as(launch)
        kept = tuple(each for each in launch.instance_types if not any((each.name, kind) in until for kind in bought))
        if len(kept) == len(launch.instance_types):
            return launch
        narrowed = attrs.evolve(launch, instance_types=kept)
        if kept and not lacking_min_values(narrowed, self._catalog):
            return narrowed
        end = max(until.values())
        return Quarantined(end, f"It would become what it is, or what its predecessors were{_till(end)}")

    def _no_return(self, gone: Sequence[Candidate]) -> Iterator[tuple[tuple[str, str], float]]:
        """Type and capacity type, and until when they are not to come back; those that go count too."""
        for candidate in gone:
            own, within = candidate.view.labels, self.rules(candidate.pool).no_return_s
            if within:
                yield (own.get(labels.INSTANCE_TYPE, ""), own.get(labels.CAPACITY_TYPE, "")), self._now + within
            for each in predecessors_of(candidate.view):
                end = each.ended + within
                if end > self._now:
                    yield (each.instance_type, each.capacity_type), end

    # Money

    def _not_to_be_moved_for_money(self, candidate: Candidate) -> Verdict | None:
        return self._after_add(candidate.pool) or self._pays_too_late(
            candidate.price, (candidate,), _may_swap(candidate)
        )

    def _after_add(self, pool: NodePool) -> Quarantined | None:
        """Where room was wanted a moment ago it may be wanted again, and what made it wanted may yet give some back: a rollout
        ends, a burst is over. Cluster Autoscaler has the same rule, ``--scale-down-delay-after-add``."""
        added = self._added.get(pool.name)
        end = -math.inf if added is None else added + self.rules(pool).delay_after_add_s
        return (
            Quarantined(end, f"A node was launched in its pool not long ago{_till(end)}") if end > self._now else None
        )

    @functools.cached_property
    def _added(self) -> Mapping[str, float]:
        """When a node was last launched for pods that had no place, by pool."""
        found: dict[str, float] = {}
        for view in self._snapshot.nodes:
            if view.claim is not None and not predecessors_of(view):
                found[view.pool] = max(view.claim.metadata.created, found.get(view.pool, -math.inf))
        return found

    def _pays_too_late(self, savings: Price, gone: Sequence[Candidate], is_swap: bool) -> PaysTooLate | None:
        """What a command earns is always more than what it costs. So what the cluster will cost as far as one can look ahead, and
        what was paid for moving pods, together go down with every command."""
        cost = sum(price_of_moving(each, self.rules(each.pool).disruption_price, self._now) for each in gone)
        if not cost:
            return None
        outlook = min(outlook_s(each.view, self._now, is_swap=is_swap) for each in gone)
        return PaysTooLate(savings, outlook, cost) if savings * outlook / 3600 <= cost else None

    # Rollouts

    @functools.cached_property
    def _rolling(self) -> Mapping[str, float]:
        return rolling_out(self._snapshot, self._now)

    def _in_rollout(self, rules: ChurnRules, view: NodeView) -> Quarantined | None:
        if not rules.spare_rollouts:
            return None
        rolled = self._rolling.keys() & moving_workloads(view).keys()
        if not rolled:
            return None
        workload = min(rolled)
        end = self._rolling[workload]
        return Quarantined(end, f"{workload} is being rolled out; at the latest{_till(end)}")

    # How often

    @functools.cached_property
    def _sizes(self) -> Mapping[str, int]:
        return workload_sizes(self._snapshot)

    def _too_often(self, gone: Sequence[Candidate]) -> Quarantined | None:
        """Counted for all pods of a workload together: nobody can say of which the new ones took the place."""
        rates = [rate for each in gone if (rate := self.rules(each.pool).evictions_per_pod) is not None]
        if not rates:
            return None
        rate = min(rates, key=lambda each: each.count / each.within_s)
        for workload, pods in _moving(gone).items() if self._moves.entries else ():
            most = rate.count * self._sizes[workload]
            end = self._moves.until(workload, most - pods, self._now, rate.within_s)
            if end is not None:
                text = f"{workload} has had its {most} eviction(s) in {rate.within_s / 3600:g} h{_till(end)}"
                return Quarantined(end, text)
        return None

    # From one capacity type to another

    def _swapped_lately(self, command: Command, gone: Sequence[Candidate]) -> Quarantined | None:
        swapping = [each for each in gone if swaps(command, each.view)]
        for candidate in swapping:
            cooldown = self.rules(candidate.pool).cooldown_s
            end = max((_swapped_at(candidate.view) + cooldown, self._swaps_end(candidate, cooldown)))
            if end > self._now:
                return Quarantined(end, f"Its pods were moved to another capacity type not long ago{_till(end)}")
        return None

    def _swaps_end(self, candidate: Candidate, cooldown: float) -> float:
        ends = (
            self._moves.until(workload, self._sizes[workload] - pods, self._now, cooldown, swapped=True)
            for workload, pods in moving_workloads(candidate.view).items()
        )
        return max((end for end in ends if end is not None), default=-math.inf)

    # Replacements that did not come

    def _in_quarantine(self, gone: Sequence[Candidate]) -> Quarantined | None:
        for candidate in gone:
            end = self._quarantines.get(_likeness(candidate.view), -math.inf)
            if end > self._now:
                return Quarantined(end, f"Its replacement, or that of a node like it, did not come{_till(end)}")
        return None

    @functools.cached_property
    def _quarantines(self) -> Mapping[tuple[str, ...], float]:
        """Until when nodes of one pool, type, capacity type and zone are not replaced: what is not to be had for one of them is not
        for the others."""
        ends: dict[tuple[str, ...], float] = {}
        for view in self._snapshot.nodes:
            failure = failure_of(view.claim)
            rules = self._rules.get(view.pool, _NONE)
            if failure is not None and rules.quarantine_s:
                length = min(rules.quarantine_s * GROWTH ** min(failure.times - 1, 30), LONGEST_S)
                key = _likeness(view)
                ends[key] = max(failure.failed + length, ends.get(key, -math.inf))
        return ends


_NONE = ChurnRules()


def _is_about(method: Method, candidate: Candidate) -> bool:
    if method.reason is Reason.DRIFTED:
        return candidate.has_drifted
    wanted = candidate.pool.consolidation_policy != WHEN_EMPTY and candidate.unwanted is None
    return wanted and method in _SAVING


def _may_swap(candidate: Candidate) -> bool:
    """Whether there may be a cheaper capacity type."""
    return candidate.view.labels.get(labels.CAPACITY_TYPE) == labels.ON_DEMAND


def _likeness(view: NodeView) -> tuple[str, ...]:
    return (view.pool, *(view.labels.get(key, "") for key in (labels.INSTANCE_TYPE, labels.CAPACITY_TYPE, labels.ZONE)))


def _moving(gone: Sequence[Candidate]) -> Mapping[str, int]:
    moving: Counter[str] = Counter()
    for candidate in gone:
        moving.update(moving_workloads(candidate.view))
    return moving


def _swapped_at(view: NodeView) -> float:
    """When the machine took the place of one of another capacity type."""
    own = view.labels.get(labels.CAPACITY_TYPE, "")
    return max((each.ended for each in predecessors_of(view) if each.capacity_type != own), default=-math.inf)


def _till(end: float) -> str:
    return f" (until {format_time(end)})"
