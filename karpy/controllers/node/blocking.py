"""Says on a claim and its node that the node will not become empty by itself: which pod stays, what holds it, and whose that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karpy.controllers.node.eviction import TOLD_AGAIN_S, Refusal
from karpy.controllers.shared import Shared
from karpy.errors import KubeError
from karpy.kube.managers import spec_manager
from karpy.lifecycle.blocking import BLOCKED, Blocker, blocker_of
from karpy.lifecycle.draining import Drain
from karpy.objects.kinds import NODE, POD_DISRUPTION_BUDGET
from karpy.objects.meta import Condition
from karpy.objects.node import Node
from karpy.objects.nodeclaim import DRAINED, NodeClaim
from karpy.objects.workloads import PodDisruptionBudget

__all__ = ["Blocking"]


class Blocking:
    """Looks at the pods that stay, without asking anybody but for the name of a budget's author, once."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def drained(
        self, node: Node, claim: NodeClaim | None, step: Drain, refused: Sequence[Refusal], deadline: float | None
    ) -> Condition:
        """The condition of a node that is not empty yet. With a deadline nothing is blocked: there is an end."""
        blockers = [] if deadline is not None else list(self._blockers(step, refused))
        if not blockers:
            return Condition(DRAINED, "Unknown", "Draining", "Draining")
        message = self._message(blockers, claim)
        text = f"Failed to drain node, {message}"
        self._shared.recorder.warning(NODE, node.metadata, "FailedDraining", text, topic=BLOCKED, repeat_s=TOLD_AGAIN_S)
        return Condition(DRAINED, "Unknown", BLOCKED, message)

    def _blockers(self, step: Drain, refused: Sequence[Refusal]) -> Iterator[Blocker]:
        """Those that the API server refused, and those that nobody would ask it for."""
        state = self._shared.state
        for refusal in refused:
            budgets = [budget for key in refusal.budgets if (budget := state.budget(key)) is not None]
            found = blocker_of(refusal.pod, budgets)
            if found is not None:
                yield found
        for pod in step.waiting:
            if pod.protected_s is not None and not pod.metadata.is_deleting:
                found = blocker_of(pod, ())
                if found is not None:
                    yield found

    def _message(self, blockers: Sequence[Blocker], claim: NodeClaim | None) -> str:
        first = min(blockers, key=lambda blocker: blocker.pod.key)
        others = len(blockers) - 1
        text = str(first) + (f", and {others} other(s)" if others else "")
        known = claim.condition(DRAINED) if claim is not None else None
        if known is not None and known.reason == BLOCKED and (known.message or "").startswith(text):
            return known.message or ""  # whose it is has been found out
        authors = [author for budget in first.budgets if (author := self._author(budget))]
        return f"{text}; {', '.join(authors)}" if authors else text

    def _author(self, budget: PodDisruptionBudget) -> str:
        """Whose the budget is: that of its owner, or of the tool that wrote it."""
        meta = budget.metadata
        if meta.owner_references:
            owner = meta.controller or meta.owner_references[0]
            return f"{meta.key} belongs to {owner.kind} {owner.name}"
        try:
            manager = spec_manager(self._shared.kube.get(POD_DISRUPTION_BUDGET, meta.name, meta.namespace))
        except KubeError:
            return ""
        return f"{meta.key} was written by {manager}" if manager else ""
