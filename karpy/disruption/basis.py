"""What an answer was found from: while that stays the same, so does the answer, and nobody need find it again. The rule is strict
on purpose: whatever could matter is compared."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.disruption.alike import place_the_same, sell_the_same
from karpy.disruption.command import Command
from karpy.disruption.verdicts import Verdict
from karpy.scheduling.whatif import WhatIfs
from karpy.settings import Settings
from karpy.state.snapshot import Snapshot

__all__ = ["Answers", "Basis"]


@attrs.frozen(eq=False, slots=False)
class Basis:
    """All that says what becomes of pods if nodes go: a cluster, what can be bought, how to decide, and where nobody may be moved
    to."""

    snapshot: Snapshot
    catalog: Catalog
    settings: Settings
    shut: frozenset[str]

    @functools.cached_property
    def whatifs(self) -> WhatIfs:
        """Dear: the picture is compiled for it."""
        return WhatIfs(self.snapshot, self.catalog, self.settings, shut=self.shut)

    def is_as(self, other: Basis) -> bool:
        """Whether every answer found from one can be had from the other."""
        return (
            self.shut == other.shut
            and self.settings == other.settings
            and sell_the_same(self.catalog, other.catalog)
            and place_the_same(self.snapshot, other.snapshot)
            and _wait_alike(self.snapshot, other.snapshot)
        )


@attrs.frozen(eq=False)
class Answers:
    """What became of sets of nodes on paper, by the names of their claims. ``basis`` None: nothing was asked yet."""

    basis: Basis | None = None
    found: Mapping[tuple[str, ...], Command | Verdict] = attrs.field(factory=dict)

    def on(self, basis: Basis) -> Answers:
        """All of them where they hold on this basis too, which is theirs then; or none."""
        return self if self.basis is not None and self.basis.is_as(basis) else Answers(basis)


def _wait_alike(one: Snapshot, other: Snapshot) -> bool:
    """Whether the same pods want a place: that of a node that goes may be one of them from some time on."""
    return [pod.key for pod in one.to_place] == [pod.key for pod in other.to_place]
