"""What disruption makes of each node, asked one by one: for people who ask why, and for comparing with others.

A pass of the controller stops at the first method that has an answer (`karpy.disruption.engine`). Here each method is asked as if
it were the first, and each node as if it were the only one; nothing is carried over from one question to the next.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import attrs

from karpy.cloud.instancetype import Catalog, Price
from karpy.disruption.basis import Basis
from karpy.disruption.budgets import Allowance, allowances
from karpy.disruption.candidates import Candidate
from karpy.disruption.churn import Churn
from karpy.disruption.command import Command, Method
from karpy.disruption.cost import disruption_cost, lifetime_cost, price_of
from karpy.disruption.engine import METHODS, Pass, look
from karpy.disruption.past import Past
from karpy.disruption.scene import Scene
from karpy.disruption.score import Totals
from karpy.disruption.singlenode import judge
from karpy.disruption.verdicts import Chosen, NotCandidate, NotJudgedYet, NotWanted, Verdict
from karpy.scheduling.plan import Plan
from karpy.settings import Settings
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["InTurn", "Judgement", "Survey"]


@attrs.frozen(eq=False)
class InTurn(Verdict):
    """It could go by this command, but the next pass has another that comes first."""

    kind = "InTurn"
    command: Command

    def __str__(self) -> str:
        return "It could go by itself, but other commands come first"

    def explain(self) -> str:
        return f"{self}: {self.command.explain()}"


@attrs.frozen(kw_only=True, eq=False)
class Judgement:
    """One node: what it costs, which methods it concerns, and what they find when each is asked first.

    ``methods`` are those that it is a candidate for. ``graceful`` and ``eventual`` say why methods of these classes may not look at
    it, None where they may. ``found`` is what each method says when there is no other node. ``alone`` is what single-node
    consolidation makes of this node if budgets do not count: a command, or why not; None where it does not look at it.
    """

    view: NodeView
    price: Price = 0.0
    disruption_cost: float = 0.0
    """What it costs to disturb all of its pods; less towards the end of its life."""
    reschedule_cost: float = 0.0
    """1 and what it costs to move the pods that want another place: what savings are held against."""
    methods: tuple[Method, ...] = ()
    graceful: Verdict | None = None
    eventual: Verdict | None = None
    unwanted: NotWanted | None = None
    """Why its pool does not want it consolidated; None where it does, or where no graceful method may look at it."""
    found: Mapping[Method, Verdict] = attrs.field(factory=dict)
    alone: Command | Verdict | None = None

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def is_candidate(self) -> bool:
        """Whether any method may look at it."""
        return self.graceful is None or self.eventual is None


class Survey:
    """One picture, and all that can be asked about it. What was worked out is kept."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalog: Catalog,
        *,
        now: float,
        settings: Settings | None = None,
        past: Past | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.catalog = catalog
        self.now = now
        self.settings = settings or Settings()
        self._past = past or Past()
        self._judged: dict[str, Judgement] = {}

    @functools.cached_property
    def next(self) -> Pass:
        """What the next pass of the controller comes to."""
        return look(self.snapshot, self.catalog, now=self.now, settings=self.settings, past=self._past)

    @functools.cached_property
    def allowances(self) -> tuple[Allowance, ...]:
        """What the budgets of each pool allow for each reason."""
        return allowances(self.snapshot, self.now)

    @functools.cached_property
    def methods(self) -> Mapping[Method, tuple[Command, ...]]:
        """The commands that each method finds when it is asked first."""
        past = attrs.evolve(self._past, answers=self.next.past.answers)
        found = {}
        for method, search in METHODS.items():
            scene = Scene(self.snapshot, self.catalog, now=self.now, settings=self.settings, past=past)
            found[method] = tuple(search(scene))
        return found

    @functools.cached_property
    def nodes(self) -> tuple[Judgement, ...]:
        """Every node of the cluster, by name."""
        return tuple(self.judge(name) for name in sorted({view.name for view in self.snapshot.nodes}))

    def judge(self, name: str) -> Judgement:
        """What is found of the node, or of the claim that has no node yet, of this name.

        Raises:
            KeyError: there is none.
        """
        if name not in self._judged:
            self._judged[name] = self._judgement(self.snapshot.nodes.by_name[name])
        return self._judged[name]

    def verdict(self, name: str) -> Verdict:
        """Why the node stays in the next pass, or that it goes. One that the pass does not come to is judged by itself.

        Raises:
            KeyError: there is no such node.
        """
        said = self.next.verdicts.get(name)
        if said is not None and not isinstance(said, NotJudgedYet):
            return said
        judged = self.judge(name)
        chosen = next((each for each in judged.found.values() if isinstance(each, Chosen)), None)
        if chosen is not None:
            return InTurn(chosen.command)
        alone = judged.found.get(Method.SINGLE_NODE)
        by_itself = alone or judged.graceful or said
        return by_itself or next(iter(judged.found.values()), NotCandidate("No method is about it now"))

    def plan_without(self, name: str) -> Plan:
        """Where the pods of this node go if it alone is gone, with all that wait for a place anyway.

        Raises:
            KeyError: there is no such node.
        """
        return self._whole.basis.whatifs.without([self.snapshot.nodes.by_name[name]]).to_plan()

    @functools.cached_property
    def _whole(self) -> Scene:
        return Scene(
            self.snapshot, self.catalog, now=self.now, settings=self.settings, past=self._past, is_thorough=True
        )

    @functools.cached_property
    def _candidates(self) -> Mapping[str, Candidate]:
        return {candidate.view.name: candidate for candidate in self._whole.all_candidates}

    def _judgement(self, view: NodeView) -> Judgement:
        candidate = self._candidates.get(view.name)
        if candidate is None:
            refused = self._whole.refused.get(view.name, NotCandidate("Node isn't managed by karpenter"))
            return Judgement(view=view, graceful=refused, eventual=refused)
        methods = tuple(method for method, concerns in _CONCERNS.items() if concerns(candidate))
        if candidate.hold is not None:
            methods = tuple(method for method in methods if not method.is_graceful)
        alone = judge(self._whole, candidate) if Method.SINGLE_NODE in methods else None
        found = self._found(candidate)
        return Judgement(
            view=view,
            price=price_of(view, self.catalog),
            disruption_cost=lifetime_cost(view, self.now),
            reschedule_cost=disruption_cost(view),
            methods=methods,
            graceful=candidate.hold,
            unwanted=candidate.unconsolidatable if candidate.hold is None else None,
            found=found,
            alone=alone,
        )

    def _found(self, candidate: Candidate) -> Mapping[Method, Verdict]:
        found = {}
        for method, search in METHODS.items():
            scene = _OneNode(self._whole, candidate)
            search(scene)
            verdict = scene.docket.of(candidate.view.name).get(method)
            if verdict is not None:
                found[method] = verdict
        return found


class _OneNode(Scene):
    """A scene with one candidate only. What is dear to work out is that of the whole one."""

    def __init__(self, whole: Scene, candidate: Candidate) -> None:
        super().__init__(
            whole.snapshot, whole.catalog, now=whole.now, settings=whole.settings, past=whole.past, is_thorough=True
        )
        self._whole, self._candidate = whole, candidate

    @functools.cached_property
    def _sorted_out(self) -> tuple[tuple[Candidate, ...], Mapping[str, Verdict]]:
        return (self._candidate,), self._whole.refused

    @functools.cached_property
    def churn(self) -> Churn:
        return self._whole.churn

    @property
    def basis(self) -> Basis:
        return self._whole.basis

    def totals(self, pool: str) -> Totals | None:
        return self._whole.totals(pool)

    def known(self, gone: Sequence[Candidate]) -> Command | Verdict | None:
        return self._whole.known(gone)

    def learn(self, gone: Sequence[Candidate], answer: Command | Verdict) -> None:
        self._whole.learn(gone, answer)


_CONCERNS: Mapping[Method, Callable[[Candidate], bool]] = {
    Method.EMPTINESS: lambda candidate: candidate.may_go_empty,
    Method.STATIC_DRIFT: lambda candidate: candidate.pool.is_static and candidate.has_drifted,
    Method.DRIFT: lambda candidate: not candidate.pool.is_static and candidate.has_drifted,
    Method.MULTI_NODE: lambda candidate: candidate.may_be_consolidated,
    Method.SINGLE_NODE: lambda candidate: candidate.may_be_consolidated,
}
"""Whether a method is about a candidate."""
