"""What the methods of one pass look at together, worked out once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.disruption.basis import Answers, Basis
from karpy.disruption.budgets import Allowance, allowance
from karpy.disruption.candidates import Candidate, by_savings, candidates
from karpy.disruption.churn import Churn
from karpy.disruption.command import Command, Method, Reason
from karpy.disruption.cost import disruption_cost
from karpy.disruption.driftmodes import DriftState, drift_state
from karpy.disruption.past import Past
from karpy.disruption.score import Totals
from karpy.disruption.screen import Screen
from karpy.disruption.verdicts import BudgetSpent, Docket, NotJudgedYet, Verdict
from karpy.objects.nodepool import NodePool
from karpy.settings import Settings
from karpy.state.nodeview import NodeView
from karpy.state.snapshot import Snapshot

__all__ = ["Scene"]


class Scene:
    """One picture, one time, one set of settings, and what was found out about them. ``docket`` takes the verdicts."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalog: Catalog,
        *,
        now: float,
        settings: Settings | None = None,
        past: Past | None = None,
        is_thorough: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.catalog = catalog
        self.now = now
        self.settings = settings or Settings()
        self.past = past or Past()
        self.is_thorough = is_thorough
        """Whether each simulation goes on to its end, though its answer is known."""
        self.docket = Docket()
        self.work = 0
        """How many pods were put somewhere on paper so far."""
        self.waiting: dict[tuple[Method, str], int] = {}
        """The claims that methods did not come to in this pass."""
        self._totals: dict[str, Totals | None] = {}
        self._allowances: dict[tuple[str, Reason], Allowance] = {}
        self._spent: dict[tuple[str, Method], BudgetSpent] = {}
        self._drift: dict[str, DriftState] = {}
        self._replaced: dict[str, int] = {}
        """How many drifted nodes of each pool this pass has chosen."""

    @functools.cached_property
    def _sorted_out(self) -> tuple[tuple[Candidate, ...], Mapping[str, Verdict]]:
        found, refused = candidates(
            self.snapshot, self.catalog, now=self.now, settings=self.settings, busy=self.past.busy
        )
        for node, verdict in refused.items():
            self.docket.say(node, verdict)
        return tuple(by_savings(found)), refused

    @property
    def all_candidates(self) -> tuple[Candidate, ...]:
        """The nodes that some method may look at: those first that save the most for what their disruption costs."""
        return self._sorted_out[0]

    @property
    def refused(self) -> Mapping[str, Verdict]:
        """The nodes that no method may look at, by name."""
        return self._sorted_out[1]

    def candidates(self, method: Method) -> tuple[Candidate, ...]:
        """The nodes that this method may look at, in the same order."""
        if self.churn.is_off and not (method.is_graceful and self._holds_some):
            return self.all_candidates
        free = []
        for candidate in self.all_candidates:
            verdict = self.restraint(candidate, method)
            if verdict is None:
                free.append(candidate)
            elif method.reason is not Reason.DRIFTED or candidate.has_drifted:
                self.docket.say(candidate.view.name, verdict, method)
        return tuple(free)

    @functools.cached_property
    def _holds_some(self) -> bool:
        return any(candidate.hold is not None for candidate in self.all_candidates)

    # What keeps them from going

    @functools.cached_property
    def churn(self) -> Churn:
        """What pools ask for so that they are not moved around too much."""
        default = self.settings.churn_control
        return Churn(self.snapshot, self.catalog, now=self.now, default=default, moves=self.past.moves)

    def restraint(self, candidate: Candidate, method: Method) -> Verdict | None:
        """Why this method may not look at the node, although it is a candidate."""
        if method.is_graceful and candidate.hold is not None:
            return candidate.hold
        return self.churn.restraint(candidate, method)

    def restrains(self, command: Command) -> Verdict | None:
        """Why a command that was found is not to be carried out."""
        gone = [self._by_claim[claim] for claim in command.claims if claim in self._by_claim]
        return self.churn.restrains(command, gone)

    @functools.cached_property
    def _by_claim(self) -> Mapping[str, Candidate]:
        return {each.claim: each for each in self.all_candidates}

    @functools.cached_property
    def screen(self) -> Screen:
        """Dear: not asked for before somebody may go at all."""
        return Screen(self.basis.whatifs)

    @functools.cached_property
    def shut(self) -> frozenset[str]:
        """The nodes that pods came to, or went from, so lately that no pods are moved there: they may be about to go themselves."""
        after = {pool.name: pool.consolidate_after_s for pool in self.snapshot.pools if not pool.is_static}
        return frozenset(view.name for view in self.snapshot.nodes if self._is_shut(view, after.get(view.pool)))

    def _is_shut(self, view: NodeView, after: float | None) -> bool:
        if not after or view.claim is None:
            return False
        quiet_since = view.derived(_quiet_since)
        return quiet_since is not None and quiet_since + after > self.now

    def totals(self, pool: str) -> Totals | None:
        """What the nodes of the pool cost, and what it would cost to disrupt them; None when it has none. As Karpenter counts it:
        nodes that may not go cost nothing here, but their pods are among those that could be disturbed."""
        if pool not in self._totals:
            views = [
                view for view in self.snapshot.fleet(pool).machines if view.claim is not None and view.node is not None
            ]
            may_go = (each for each in self.all_candidates if each.pool.name == pool and each.hold is None)
            disruption = sum(view.derived(disruption_cost) for view in views)
            self._totals[pool] = Totals(sum(each.price for each in may_go), disruption) if views else None
        return self._totals[pool]

    # The work of the pass

    def worked(self, pods: int) -> None:
        """So many pods were put somewhere on paper. A look that had none to place counts as one."""
        self.work += max(pods, 1)

    def has_done(self, part: float) -> bool:
        """Whether this part of what a pass may do is done."""
        return self.work >= part * self.settings.disruption_work

    @property
    def is_tired(self) -> bool:
        """Whether the pass has done its work; what is left is for the next ones."""
        return self.has_done(1)

    def waited(self, candidate: Candidate, method: Method) -> int:
        """For how many passes the method has not come to look at it by itself."""
        return self.past.waiting.get((method, candidate.claim), 0)

    def leave(self, candidate: Candidate, method: Method) -> None:
        """The method does not look at it in this pass: one of the next ones begins with it."""
        self.waiting[method, candidate.claim] = passes = self.waited(candidate, method) + 1
        self.docket.say(candidate.view.name, NotJudgedYet(passes), method)

    # What is known already

    @functools.cached_property
    def _answers(self) -> Answers:
        basis = Basis(self.snapshot, self.catalog, self.settings, self.shut)
        earlier = Answers() if self.is_thorough else self.past.answers
        # What was found earlier is not to be kept for the sake of what is found now.
        self.past = attrs.evolve(self.past, answers=Answers())
        return earlier.on(basis)

    @property
    def basis(self) -> Basis:
        """What answers are found from; that of earlier ones if nothing changed."""
        basis = self._answers.basis
        assert basis is not None, "answers are on a basis"
        return basis

    @functools.cached_property
    def _found(self) -> dict[tuple[str, ...], Command | Verdict]:
        return dict(self._answers.found)

    def known(self, gone: Sequence[Candidate]) -> Command | Verdict | None:
        """What becomes of these nodes, if that was found out before on a picture that differs in nothing that matters."""
        return self._found.get(tuple(candidate.claim for candidate in gone))

    def is_known(self, gone: Sequence[Candidate]) -> bool:
        return self.known(gone) is not None

    def learn(self, gone: Sequence[Candidate], answer: Command | Verdict) -> None:
        self._found[tuple(candidate.claim for candidate in gone)] = answer

    def leaves(self) -> Past:
        """What the next pass should know."""
        return attrs.evolve(self.past, answers=Answers(self.basis, self._found), waiting=self.waiting)

    # What budgets leave

    def allowance(self, pool: NodePool, reason: Reason) -> Allowance:
        """What the budgets of the pool allow, the nodes counted that this pass has chosen."""
        key = (pool.name, reason)
        if key not in self._allowances:
            self._allowances[key] = allowance(self.snapshot, pool, reason, self.now)
        return self._allowances[key]

    def is_allowed(self, candidate: Candidate, method: Method) -> bool:
        """Whether budgets let this one go, and the pool if it drifted; if not, that is its verdict."""
        if method.reason is Reason.DRIFTED:
            held = self._drift_of(candidate.pool).verdict(self._replaced.get(candidate.pool.name, 0))
            if held is not None:
                self.docket.say(candidate.view.name, held, method)
                return False
        found = self.allowance(candidate.pool, method.reason)
        if found.allowed > 0:
            return True
        self.keep_for_budget(candidate, found, method)
        return False

    def keep_for_budget(self, candidate: Candidate, found: Allowance, method: Method) -> None:
        """That is its verdict: this allowance of its pool lets no more go."""
        key = (found.pool, method)
        if key not in self._spent:  # nodes by the thousand hear the same
            self._spent[key] = BudgetSpent(str(found))
        self.docket.say(candidate.view.name, self._spent[key], method)

    def spend(self, candidate: Candidate, method: Method) -> None:
        """This one goes, by a command of this pass."""
        found = self.allowance(candidate.pool, method.reason)
        self._allowances[found.pool, method.reason] = found.less(1)
        if method.reason is Reason.DRIFTED:
            self._replaced[found.pool] = self._replaced.get(found.pool, 0) + 1

    def _drift_of(self, pool: NodePool) -> DriftState:
        if pool.name not in self._drift:
            self._drift[pool.name] = drift_state(pool, self.snapshot.fleet(pool.name).machines, self.now)
        return self._drift[pool.name]


def _quiet_since(view: NodeView) -> float | None:
    return view.claim.quiet_since if view.claim is not None else None
