"""What PodDisruptionBudgets still allow, by what was heard of them and what was asked for since: nobody is asked for in vain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from karpy.objects.pod import Pod, PodGroup
from karpy.state.cluster import ClusterState

__all__ = ["Budgets"]

_REMEMBERED = 10_000


class Budgets:
    """Budgets are known by ``namespace/name``."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._about: dict[PodGroup, tuple[str, ...]] = {}
        """The budgets of pods that selectors cannot tell apart, as far as they were asked for."""
        self._generations: dict[str, tuple[str, int]] = {}
        self._spent: dict[str, tuple[str, int]] = {}
        """How many evictions were granted since this version of a budget."""

    def note_change(self, key: str, metadata: Mapping[str, Any], *, is_gone: bool) -> None:
        """A budget came, changed or went. A new status does not change whom it is about."""
        generation = None if is_gone else (metadata.get("uid", ""), metadata.get("generation", 0))
        if self._generations.get(key) == generation:
            return
        self._about.clear()
        self._spent.pop(key, None)
        if generation is None:
            del self._generations[key]
        else:
            self._generations[key] = generation

    def about(self, pod: Pod) -> tuple[str, ...]:
        """The budgets that are about this pod."""
        found = self._about.get(pod.group)
        if found is None:
            if len(self._about) >= _REMEMBERED:
                self._about.clear()
            budgets = self._state.budgets()
            found = self._about[pod.group] = tuple(each.metadata.key for each in budgets if each.selects(pod))
        return found

    def allowed(self, key: str) -> int:
        """How many more pods a budget lets go, as far as is known; none if it is not there."""
        budget = self._state.budget(key)
        if budget is None:
            return 0
        version, spent = self._spent.get(key, ("", 0))
        if version != budget.metadata.resource_version:
            spent = 0  # what it says now has been reckoned since
        return max(budget.status.disruptions_allowed - spent, 0)

    def spend(self, pod: Pod) -> None:
        """The pod was let go."""
        for key in self.about(pod):
            budget = self._state.budget(key)
            if budget is not None:
                version, spent = self._spent.get(key, ("", 0))
                now_at = budget.metadata.resource_version
                self._spent[key] = (now_at, spent + 1 if version == now_at else 1)
