"""What invariants look at: the cluster and the cloud as they are, and what has happened so far, counted as it happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from karpy import labels
from karpy.clock import format_time
from karpy.disruption.command import Command
from karpy.kube.client import RawObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.nodeclaim import NodeClaim
from karpy.sim.apiserver import ApiServer
from karpy.sim.machines import Machine
from karpy.sim.podfacts import condition_of
from karpy.sim.processes.boundary import Boundary
from karpy.sim.processes.process import Process
from karpy.sim.site import Site

__all__ = ["Facts", "Move", "Violation", "pool_of"]


_INSTANT_S = 1e-3
"""Times are sums of fractions."""
_LIFE_CALLS = 60
"""So many calls a process makes to list everything, and to begin with its work."""
_WISHES = (
    kinds.NODE_POOL,
    kinds.PROVISIONER,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.JOB,
    kinds.POD_DISRUPTION_BUDGET,
)


@attrs.frozen
class Violation:
    """An invariant that did not hold: of what, when, and what was found."""

    invariant: str
    object: str
    at: float
    words: str

    def __str__(self) -> str:
        return f"{format_time(self.at)} {self.invariant}: {self.object} {self.words}"


@attrs.define(eq=False)
class Move:
    """What a process decided to take away: what that cost per hour, and what comes instead."""

    who: str
    command: Command
    at: float
    price: float
    acts_at: float = attrs.field(default=attrs.Factory(lambda self: self.at, takes_self=True))
    """When what was decided is carried out: at once, or when slow calls in between are over."""
    replacements: dict[str, float | None] = attrs.field(factory=dict)
    """The price of each new claim's machine, once it runs."""


class Facts:
    """All that is known of one world. Pictures are taken when they are asked for, and kept while nothing is written."""

    def __init__(self, api: ApiServer, site: Site, boundary: Boundary, processes: Sequence[Process]) -> None:
        self.api = api
        self.site = site
        self.boundary = boundary
        self.processes = processes
        self.moves: list[Move] = []
        self.pool_of_claim: dict[str, str] = {}
        """Of every claim that a machine was ever launched for."""
        self.minute: Counter[Hashable] = Counter()
        """What is counted by the minute."""
        self.span: Counter[Hashable] = Counter()
        """What is counted by spans of ten minutes."""
        self.calls: Counter[str] = Counter()
        """Of each process."""
        self.alike: Counter[Hashable] = Counter()
        """What is counted while users want the same and no machine is lost."""
        self._alike: tuple[int, tuple[Any, ...]] = (0, ())
        self._most_nodes = 0
        self._is_always_clear = site.weather.is_calm
        self._misfortunes = 0
        self._looked_at: dict[tuple[str, str], Hashable] = {}
        self._reached: dict[str, tuple[tuple[int, int, bool], int, int]] = {}
        self._ended: set[str] = set()
        self._minute = self._span = -1
        self._lasting: dict[Hashable, tuple[float, int]] = {}
        self._sample = 0
        self._pictures: dict[Kind, tuple[int, tuple[RawObject, ...]]] = {}
        self._start = self.now
        self.last_written = (-1, self.now)
        """The version of the whole cluster, and when it was first seen at that."""
        self.stormy_at = self.now
        """When faults were last to be expected."""
        site.subscribe(self._told)

    @property
    def now(self) -> float:
        return self.boundary.clock.now()

    def objects(self, kind: Kind) -> tuple[RawObject, ...]:
        """All objects of a kind, as the API server has them."""
        revision = self.api.store.revision
        known = self._pictures.get(kind)
        if known is None or known[0] != revision:
            known = self._pictures[kind] = (revision, self.api.list(kind).items)
        return known[1]

    def named(self, kind: Kind) -> Mapping[str, RawObject]:
        """The objects of a cluster-scoped kind by name."""
        return {obj["metadata"]["name"]: obj for obj in self.objects(kind)}

    def node_of(self, provider_id: str) -> RawObject | None:
        nodes = self.objects(kinds.NODE)
        return next((node for node in nodes if node.get("spec", {}).get("providerID") == provider_id), None)

    def claim_of(self, provider_id: str) -> RawObject | None:
        claims = self.objects(kinds.NODE_CLAIM)
        return next((claim for claim in claims if provider_id_of(claim) == provider_id), None)

    def process(self, who: str) -> Process | None:
        return next((process for process in self.processes if process.name == who), None)

    # Time

    def tick(self) -> None:
        """A sample begins."""
        self._sample += 1
        self._lasting = {key: seen for key, seen in self._lasting.items() if seen[1] >= self._sample - 1}
        if self.last_written[0] != self.api.store.revision:
            self.last_written = (self.api.store.revision, self.now)
        if not self.is_calm:
            self.stormy_at = self.now

    @property
    def is_calm(self) -> bool:
        """Whether neither faults nor a cloud out of sorts are to be expected now."""
        return self.is_clear and self.boundary.is_calm and all(process.is_up for process in self.processes)

    @property
    def is_clear(self) -> bool:
        """Whether the cloud is not out of sorts."""
        lasts_s = self.site.weather.lasts_s
        return self._is_always_clear or (lasts_s is not None and self.now - self._start >= lasts_s)

    @property
    def is_in_doubt(self) -> bool:
        """Whether something is waited for that may be wrong in the end."""
        return bool(self._lasting)

    def lasting_s(self, *key: Hashable) -> float:
        """For how long something has been found in every sample; to be asked in each sample in which it is."""
        since, _ = self._lasting.get(key, (self.now, 0))
        self._lasting[key] = (since, self._sample)
        return self.now - since

    @property
    def most_pods(self) -> int:
        """The most pods that were seen at once in this span of ten minutes."""
        self._begin_span()
        self.span["pods"] = max(self.span["pods"], len(self.objects(kinds.POD)))
        return self.span["pods"]

    def _begin_span(self) -> None:
        if self._span != int(self.now // 600):
            self._span = int(self.now // 600)
            self.span.clear()

    def count_by_minute(self, *key: Hashable) -> int:
        """One more of this; returns how many that makes in this minute."""
        if self._minute != int(self.now // 60):
            self._minute = int(self.now // 60)
            self.minute.clear()
        self.minute[key] += 1
        return self.minute[key]

    def count_by_span(self, *key: Hashable) -> int:
        """One more of this; returns how many that makes in this span of ten minutes."""
        self._begin_span()
        self.span[key] += 1
        return self.span[key]

    def count_while_alike(self, *key: Hashable) -> tuple[int, int]:
        """One more of this; how many that makes while the same is wanted, and the most nodes there were meanwhile."""
        now_is = (self._misfortunes, tuple(self._wishes()))
        if self._alike != now_is:
            self._alike, self._most_nodes = now_is, 0
            self.alike.clear()
        self._most_nodes = max(self._most_nodes, len(self.objects(kinds.NODE_CLAIM)))
        self.alike[key] += 1
        return self.alike[key], self._most_nodes

    def _wishes(self) -> Iterator[tuple[str, str, str, int]]:
        """What users want, each with its generation."""
        for kind in _WISHES:
            for obj in self.objects(kind):
                meta = obj["metadata"]
                yield kind.kind, meta.get("namespace", ""), meta["name"], meta.get("generation", 0)

    def idle_lives(self, who: str, lives: int) -> int:
        """How many lives of a process began, each of them long enough to get to anything, since a machine was last launched or a
        pod last bound, or the cloud could not be blamed for it."""
        running = sum(1 for pod in self.objects(kinds.POD) if pod["spec"].get("nodeName"))
        reached, calls = (len(self.pool_of_claim), running, self.is_clear), self.calls[who]
        known, since, calls_then = self._reached.get(who, ((-1, -1, False), lives, calls))
        if reached != known or not self.is_clear:
            since, calls_then = lives, calls
        self._reached[who] = (reached, since, calls_then)
        return min(lives - since, (calls - calls_then) // _LIFE_CALLS)

    def is_news(self, what: str, who: str, value: Hashable) -> bool:
        """Whether this is not what was looked at the last time; asked by what takes long, and gives the same answer again."""
        before = self._looked_at.get((what, who))
        self._looked_at[what, who] = value
        return before != value

    def note_ending(self, provider_id: str) -> None:
        """A process is about to end a machine."""
        self._ended.add(provider_id)

    def _told(self, machine: Machine) -> None:
        """Something happened to a machine: if it is not its launch, and no process ended it, it is a misfortune."""
        if machine.terminating_since is None and not machine.is_dead and machine.dies_at is None:
            return
        if machine.provider_id in self._ended:
            self._ended.discard(machine.provider_id)
        else:
            self._misfortunes += 1

    # What is taken away

    def note_move(self, who: str, command: Command) -> None:
        running = {machine.claim for machine in self.site.machines}
        if running.issuperset(command.claims):  # what vanished meanwhile cannot be compared with
            self.moves.append(Move(who, command, self.now, self.price_of(command.claims)))

    def price_of(self, claims: Sequence[str]) -> float:
        """What the machines of these claims cost per hour now."""
        return sum(machine.price for machine in self.site.machines if machine.claim in claims)

    def note_claim(self, who: str, claim: RawObject, at: float) -> None:
        """A process made a claim by a call that began then: a replacement, if a move of its own still lacks some."""
        last = self._last_move(who)
        if last is None or len(last.replacements) >= len(last.command.replacements):
            return
        if abs(last.acts_at - at) < _INSTANT_S:
            last.replacements[claim["metadata"]["name"]] = None

    def note_slowness(self, who: str, began_at: float, ends_at: float) -> None:
        """A call of a process takes a while, and with it all that the process was about to do."""
        last = self._last_move(who)
        if last is not None and abs(last.acts_at - began_at) < _INSTANT_S:
            last.acts_at = ends_at

    def _last_move(self, who: str) -> Move | None:
        return next((move for move in reversed(self.moves) if move.who == who), None)

    def note_launch(self, claim: NodeClaim) -> None:
        self.pool_of_claim[claim.name] = claim.pool


def provider_id_of(claim: RawObject) -> str:
    found: str = (claim.get("status") or {}).get("providerID", "")
    return found


def pool_of(obj: RawObject) -> str:
    """The pool of a claim or node, by its label."""
    found: str = (obj["metadata"].get("labels") or {}).get(labels.NODEPOOL, "")
    return found


def condition(obj: RawObject, type_: str) -> Mapping[str, Any] | None:
    """A condition of an object, if it is true."""
    found = condition_of(obj, type_)
    return found if found is not None and found["status"] == "True" else None


Findings = Iterator[tuple[str, str]]
"""Objects, and what is wrong about each."""
