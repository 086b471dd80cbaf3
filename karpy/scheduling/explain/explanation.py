"""The answer to "why?": what keeps a pod out, what would help, and where the instance types went."""

from __future__ import annotations

import enum

import attrs

from karpy.scheduling.offers import PricedType
from karpy.scheduling.plan import Launch, Nomination, Unschedulable

__all__ = ["Constraint", "ConstraintKind", "Explanation", "Funnel", "NearMiss", "Step"]


class ConstraintKind(enum.Enum):
    """What a constraint is, and so who can change it: the first ones are the pod's, then the pools', then the world's."""

    NODE_SELECTOR = "nodeSelector"
    NODE_AFFINITY = "node affinity"
    REQUEST = "request"
    TOPOLOGY_SPREAD = "topology spread"
    POD_AFFINITY = "pod affinity"
    POD_ANTI_AFFINITY = "pod anti-affinity"
    HOST_PORT = "host port"
    VOLUME = "volume"
    TAINT = "taint"
    POOL_REQUIREMENT = "requirement"
    POOL_LABEL = "label"
    POOL_LIMIT = "limit"
    POOL_MIN_VALUES = "minValues"
    POOL_NOT_READY = "not ready"
    SOLD_OUT = "sold out"
    OTHER_PODS = "pod anti-affinity of other pods"
    DAEMON_SETS = "daemon sets"


@attrs.frozen
class Constraint:
    """One thing that may keep a pod out; ``owner`` is whose it is: ``pod``, ``nodepool "a"``, ``cloud``, ``cluster``."""

    kind: ConstraintKind
    owner: str
    text: str

    def __str__(self) -> str:
        return f"{self.owner}: {self.text}"


@attrs.frozen
class NearMiss:
    """The smallest change found that gives the pod a place: all of ``changes`` together, each about one of ``constraints``.

    ``place`` is where the pod then goes; the scheduler was asked.
    """

    constraints: tuple[Constraint, ...]
    changes: tuple[str, ...]
    place: str

    def __str__(self) -> str:
        return f"{' and '.join(self.changes)} (then: {self.place})"


@attrs.frozen
class Step:
    """How many instance types are ``left`` after one more constraint."""

    after: str
    left: int


@attrs.frozen
class Funnel:
    """The instance types of one pool, constraint by constraint, down to the cheapest."""

    pool: str
    types: int
    steps: tuple[Step, ...]
    cheapest: PricedType | None = None

    def __str__(self) -> str:
        told, left = [f"{self.types} types"], self.types
        for step in self.steps:
            if step.left != left:  # what excludes nothing is no news
                told.append(f"{step.left} after {step.after}")
                left = step.left
        if self.cheapest is not None:
            told.append(f"{self.cheapest.name} at ${self.cheapest.price:.4f}/h")
        return f'nodepool "{self.pool}": {" → ".join(told)}'


@attrs.frozen(kw_only=True, eq=False)
class Explanation:
    """Why one pod goes where it goes, or why it waits. ``str()`` of it is for people.

    ``conflict`` is what excludes the pod: with exactly these constraints, and no other of the pod's and the pools', it has no
    place; without any one of them it has one. It is empty for a pod that has a place, and where nothing that anybody asked for is
    to blame; ``summary`` says then what is. ``also`` are further such sets, each of which excludes the pod by itself.
    """

    pod: str
    summary: str
    outcome: Launch | Nomination | Unschedulable | None = None
    conflict: tuple[Constraint, ...] = ()
    also: tuple[tuple[Constraint, ...], ...] = ()
    nearest: tuple[NearMiss, ...] = ()
    funnel: tuple[Funnel, ...] = ()

    def __str__(self) -> str:
        lines = [self.summary]
        if self.conflict and not self.also:
            lines += ["what keeps it out (these together, and no fewer of them):", *map(_item, self.conflict)]
        for number, conflict in enumerate((self.conflict, *self.also) if self.also else (), 1):
            lines += [f"what keeps it out, {number} of {len(self.also) + 1}:", *map(_item, conflict)]
        if self.nearest:
            lines += ["any one of these would give it a place:", *map(_item, self.nearest)]
        if self.funnel:
            lines += ["instance types:", *(f"  {funnel}" for funnel in self.funnel)]
        return "\n".join(lines)


def _item(part: Constraint | NearMiss) -> str:
    return f"  - {part}"
