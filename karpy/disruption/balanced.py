"""The policy Balanced: its pools let nodes go only if that saves enough for what it disturbs (core specification 5.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karpy.cloud.instancetype import Price
from karpy.disruption.candidates import Candidate
from karpy.disruption.scene import Scene
from karpy.disruption.score import Score
from karpy.disruption.verdicts import ScoreBelow
from karpy.objects.nodepool import BALANCED

__all__ = ["hopeless", "refusal", "scores"]


def scores(scene: Scene, gone: Sequence[Candidate], savings: Price) -> tuple[Score, ...]:
    """What each of the pools with this policy makes of it if these nodes go and so much is saved. Each has its share of the savings
    by what its nodes cost."""
    cost = sum(candidate.price for candidate in gone)
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in gone:
        if candidate.pool.consolidation_policy == BALANCED:
            by_pool.setdefault(candidate.pool.name, []).append(candidate)
    return tuple(
        Score(
            pool=pool,
            savings=savings * (sum(candidate.price for candidate in members) / cost) if cost > 0 else 0.0,
            disruption=sum(candidate.disruption_cost for candidate in members),
            totals=scene.totals(pool),
            k=scene.settings.balanced_k,
        )
        for pool, members in sorted(by_pool.items())
    )


def refusal(found: Iterable[Score]) -> ScoreBelow | None:
    """Every pool must approve; the least pleased says why not."""
    least = min(found, key=lambda each: each.value, default=None)
    if least is None or least.is_enough:
        return None
    return ScoreBelow(least.value, least.threshold, str(least))


def hopeless(scene: Scene, candidate: Candidate) -> ScoreBelow | None:
    """Whether it would not be worth it even if nothing had to be launched. Pools of which nothing is known are left for later."""
    if candidate.pool.consolidation_policy != BALANCED or scene.totals(candidate.pool.name) is None:
        return None
    return refusal(scores(scene, (candidate,), candidate.price))
