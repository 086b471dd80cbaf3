"""May nodes that drifted be replaced now? In mode Canary a few go first, and the others only when those have done well for a while.

All that is worked out from the claims, but for the moment from which on machines are new ones: that a pool carries as the
annotation `WAVE`. A wave of drift ends when nothing has drifted any more. It begins anew when the pool or its node class is
changed, and when machines drift that are of the wave itself.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import msgspec

from karpy import labels
from karpy.clock import format_time, parse_time
from karpy.disruption.memory import failure_of
from karpy.disruption.verdicts import NotWanted, Quarantined, Verdict
from karpy.errors import InvalidObject
from karpy.objects.driftmode import DRIFT_MODE, DriftMode, DriftRule, drift_rule
from karpy.objects.nodeclaim import DRIFTED, INITIALIZED
from karpy.objects.nodepool import NodePool
from karpy.state.snapshot import NodeView

__all__ = ["WAVE", "DriftState", "Stage", "drift_state", "new_wave"]

WAVE: Final = "karpy.dev/drift-wave"


class Stage(enum.Enum):
    QUIET = "Quiet"
    """Nothing has drifted, or the pool has no need of canaries."""
    BEGINNING = "Beginning"
    """The wave is not noted on the pool yet."""
    BAKING = "Baking"
    PASSED = "Passed"
    FAILED = "Failed"


class _Wave(msgspec.Struct, frozen=True, rename="camel"):
    """When it began, and of what the pool was made then."""

    began: str
    template: str
    class_generation: int | None = None


@attrs.frozen(kw_only=True)
class DriftState:
    """Where a pool stands. ``left`` is how many of its drifted nodes may be replaced now; ``until`` is when it may be otherwise."""

    stage: Stage = Stage.QUIET
    left: float = math.inf
    until: float = math.inf
    text: str = ""
    is_reported_only: bool = False

    def verdict(self, taken: int) -> Verdict | None:
        """Why one more node of the pool may not be replaced when ``taken`` are being replaced already."""
        if taken < self.left:
            return None
        return NotWanted(self.text) if self.is_reported_only else Quarantined(self.until, self.text)


def drift_state(pool: NodePool, views: Sequence[NodeView], now: float) -> DriftState:
    """``views`` are the pool's machines."""
    rule = drift_rule(pool.metadata.annotations or {})
    if rule.mode is DriftMode.REPORT:
        text = f'NodePool "{pool.name}" only tells of drift ({DRIFT_MODE})'
        return DriftState(left=0, text=text, is_reported_only=True)
    if rule.mode is DriftMode.REPLACE or not any(map(_has_drifted, views)):
        return DriftState()
    began = _began(pool, views)
    if began is None:
        return DriftState(
            stage=Stage.BEGINNING, left=0, until=now, text="The first nodes to be replaced are being chosen"
        )
    failed = next((view for view in views if _failed_since(view, began)), None)
    if failed is not None:
        text = f"The replacement of {failed.name} did not come; drifted nodes stay until the pool or its node class is changed"
        return DriftState(stage=Stage.FAILED, left=0, text=text)
    return _baking(rule, [view for view in views if _is_new(view, began)], now)


def _baking(rule: DriftRule, new: Sequence[NodeView], now: float) -> DriftState:
    """A node that is not ready does not count, and so holds up the others."""
    baked = sorted(since + rule.bake_s for view in new if (since := _well_since(view)) is not None)
    passed = sum(end <= now for end in baked)
    if passed >= rule.canaries:
        return DriftState(stage=Stage.PASSED, text=f"{passed} new nodes have done well")
    return DriftState(
        stage=Stage.BAKING,
        left=max(0, rule.canaries - len(new)),
        until=baked[rule.canaries - 1] if len(baked) >= rule.canaries else math.inf,
        text=f"{passed} of {rule.canaries} new nodes have done well for {rule.bake_s / 60:g} min",
    )


def new_wave(pool: NodePool, views: Sequence[NodeView], now: float) -> Mapping[str, str | None]:
    """What is to be written to the pool's annotations: that a wave begins, or is over; nothing if they are right."""
    annotations = pool.metadata.annotations or {}
    stage = drift_state(pool, views, now).stage
    if stage is Stage.QUIET:
        return {WAVE: None} if WAVE in annotations else {}
    if stage is Stage.BEGINNING:
        template = annotations.get(labels.NODEPOOL_HASH, "")
        return {WAVE: msgspec.json.encode(_Wave(format_time(now), template, pool.class_generation)).decode()}
    return {}


def _began(pool: NodePool, views: Sequence[NodeView]) -> float | None:
    """When the wave began that is noted on the pool; None if it has none, or is past it."""
    annotations = pool.metadata.annotations or {}
    try:
        wave = msgspec.json.decode(annotations.get(WAVE, ""), type=_Wave)
        began = parse_time(wave.began)
    except (msgspec.DecodeError, InvalidObject):
        return None
    made_of = annotations.get(labels.NODEPOOL_HASH, ""), pool.class_generation
    is_past = (wave.template, wave.class_generation) != made_of
    return None if is_past or any(_has_drifted(view) and _created(view) >= began for view in views) else began


def _has_drifted(view: NodeView) -> bool:
    return view.claim is not None and not view.claim.metadata.is_deleting and view.claim.is_true(DRIFTED)


def _created(view: NodeView) -> float:
    return -math.inf if view.claim is None else view.claim.metadata.created


def _failed_since(view: NodeView, began: float) -> bool:
    """Times are whole seconds; what fails in the one in which a wave begins is of the one before."""
    failure = failure_of(view.claim)
    return failure is not None and failure.failed > began


def _is_new(view: NodeView, began: float) -> bool:
    return _created(view) >= began and not view.is_ending


def _well_since(view: NodeView) -> float | None:
    """Since when its node does what it should."""
    initialized = None if view.claim is None else view.claim.condition(INITIALIZED)
    if initialized is None or not initialized.is_true or view.node is None or not view.node.is_ready:
        return None
    return initialized.since
