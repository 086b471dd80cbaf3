"""What befalls machines that run, and machines that nobody ordered."""

from __future__ import annotations

import enum

import attrs

from karpy import labels
from karpy.sim.region.terse import Terse, amount, kind_of
from karpy.sim.region.where import Where

__all__ = ["Hazard", "Mishap", "MishapKind", "Stray"]

NOTICE_S = 120.0
"""How long before its end a spot machine is told of it, on EC2."""


class MishapKind(enum.StrEnum):
    """What can befall a machine."""

    INTERRUPTION = "interruption"
    """A spot machine is wanted back: there is a notice, and at its end the machine is taken."""
    REBALANCE = "rebalance"
    """The cloud says that an interruption is likely. Nothing follows from it."""
    MAINTENANCE = "maintenance"
    """The cloud announces that it will stop the machine, and does."""
    STOP = "stop"
    """Somebody stops the machine: it is there, costs nothing, and its kubelet is silent."""
    TERMINATION = "termination"
    """Somebody ends the machine at the cloud's console."""
    SILENCE = "silence"
    """The kubelet falls silent and answers again after a while. There is no notice."""
    DEATH = "death"
    """The machine runs and costs, but its kubelet falls silent. There is no notice."""
    VANISHING = "vanishing"
    """The machine is gone at once. There is no notice."""


def _mishap_kind(word: str) -> MishapKind:
    return kind_of(MishapKind, word)


@attrs.frozen(repr=False)
class Mishap(Terse):
    """Something befalls one machine at a time. Machines are counted by their launch from 1; 0 is the oldest that runs."""

    kind: MishapKind = attrs.field(converter=_mishap_kind)
    at_s: float = attrs.field(default=0.0, validator=amount)
    machine: int = attrs.field(default=0, validator=amount)
    for_s: float = attrs.field(default=NOTICE_S, validator=amount)
    """How long the notice of what is announced runs, or how long a silence lasts."""


@attrs.frozen(repr=False)
class Hazard(Terse):
    """Something befalls every machine by chance, ``per_hour`` times an hour. Only spot machines are interrupted."""

    kind: MishapKind = attrs.field(converter=_mishap_kind)
    per_hour: float = attrs.field(default=0.0, validator=amount)
    for_s: float = attrs.field(default=NOTICE_S, validator=amount)


@attrs.frozen(repr=False)
class Stray(Terse):
    """A machine that nobody ordered. It runs, costs, and never joins."""

    at_s: float = attrs.field(default=0.0, validator=amount)
    is_ours: bool = True
    """It carries the mark of a claim that there is not, from another life of karpy; otherwise it is somebody else's."""
    where: Where = Where(capacity_type=labels.ON_DEMAND)
    """It is the cheapest of these offerings."""
