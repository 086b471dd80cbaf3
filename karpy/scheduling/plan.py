"""The answer of one solve: what to launch, who goes where, who cannot go anywhere and why."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from karpy.cloud.instancetype import Price
from karpy.objects.nodepool import NodePool
from karpy.objects.pod import Pod
from karpy.requirements import Requirements
from karpy.resources import Resources
from karpy.scheduling.offers import PricedType

if TYPE_CHECKING:
    from karpy.scheduling.aftermath import Aftermath
    from karpy.scheduling.explain.explanation import Explanation

__all__ = [
    "BufferOutcome",
    "Excluded",
    "Launch",
    "Nomination",
    "Plan",
    "PoolRefusal",
    "PricedType",
    "RefusalKind",
    "Unschedulable",
]

_SHOWN_TYPES = 5


@attrs.frozen(kw_only=True, eq=False)
class Launch:
    """One machine to be launched: from which pool, as any of ``instance_types`` (cheapest first), for which pods.

    ``considered`` counts the pool's catalog, ``feasible`` the types that satisfy everything; of these the cheapest are kept.
    """

    pool: NodePool
    requirements: Requirements
    requests: Resources
    instance_types: tuple[PricedType, ...]
    pods: tuple[str, ...]
    pod_uids: tuple[str, ...]
    considered: int
    feasible: int
    min_values_relaxed: bool = False
    """``minValues`` could not be met and was lowered to what there is (policy BestEffort)."""
    headroom: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    """Virtual pods that the machine has room for beside its pods: their uids, by the key of their CapacityBuffer."""
    capacity_types: tuple[str, ...] = ()
    """As what it can be bought now."""

    @property
    def price(self) -> Price:
        """Dollars per hour of the cheapest choice; infinite where the choice is left to the cloud."""
        return self.instance_types[0].price if self.instance_types else math.inf

    @property
    def planned_uids(self) -> tuple[str, ...]:
        """The uids of all pods that the machine is for, virtual ones too."""
        return (*self.pod_uids, *(uid for uids in self.headroom.values() for uid in uids))

    @property
    def is_price_overlaid(self) -> bool:
        """Whether a NodeOverlay has a say in the price of a type on offer."""
        return any(priced.price_overlaid for priced in self.instance_types)

    @property
    def is_capacity_overlaid(self) -> bool:
        """Whether a NodeOverlay has a say in the capacity of a type on offer."""
        return any(priced.capacity_overlaid for priced in self.instance_types)

    @property
    def instance_types_text(self) -> str:
        """The cheapest few by name, as in the log line ``created nodeclaim``."""
        shown = ", ".join(priced.name for priced in self.instance_types[:_SHOWN_TYPES])
        rest = len(self.instance_types) - _SHOWN_TYPES
        return f"{shown} and {rest} other(s)" if rest > 0 else shown

    def explain(self) -> str:
        """Why this machine: one sentence."""
        best = self.instance_types[0]
        known = math.isfinite(best.price)
        choice = (
            f"the cheapest is {best.name} at ${best.price:.4f}/h"
            if known
            else f"no price is known, so {best.name} it is"
        )
        return (
            f"{self._for_whom()} asking for {self.requests} fit {self.feasible} of {self.considered} instance types "
            f"of nodepool {self.pool.name!r}; {choice}"
        )

    def _for_whom(self) -> str:
        parts = [f"{len(uids)} of capacity buffer {name}" for name, uids in self.headroom.items()]
        if self.pods or not parts:
            parts.insert(0, f"{len(self.pods)} pod(s)")
        return " and ".join(parts)


@attrs.frozen(eq=False)
class Nomination:
    """Pods that fit a node which is there already, or is on its way."""

    node: str
    pods: tuple[str, ...]
    pod_uids: tuple[str, ...]


class RefusalKind(enum.Enum):
    """What kind of constraint stood in the way."""

    TAINT = "taint"
    REQUIREMENT = "requirement"
    LIMIT = "limit"
    RESOURCE = "resource"
    OFFERING = "offering"
    TOPOLOGY = "topology"
    TOGETHER = "together"
    #: The pod must not run on machines of pools. Its owner knows, so nobody is told (core specification 3.1).
    OPTED_OUT = "opted out"
    #: The pod cannot be read, or asks for what no pod may ask for.
    INVALID = "invalid"
    #: A volume of the pod is not usable as things are, or never.
    VOLUME = "volume"
    #: The pod claims devices, for which karpy has no allocator (core specification 3.12).
    RESOURCE_CLAIM = "resource claim"


_WHOLE = frozenset({RefusalKind.TAINT, RefusalKind.LIMIT, RefusalKind.TOPOLOGY, RefusalKind.TOGETHER})
"""Of these it says nothing how many types they exclude."""


@attrs.frozen
class Excluded:
    """One constraint, and how many of the instance types it alone excludes."""

    kind: RefusalKind
    constraint: str
    types: int


@attrs.frozen
class PoolRefusal:
    """Why one pool cannot host a pod. ``excluded`` is sorted: the constraint that excluded the most comes first.

    ``together`` says what keeps the rest out, where no constraint excludes all of them by itself.
    """

    pool: str
    considered: int
    excluded: tuple[Excluded, ...]
    together: str = ""

    @property
    def main(self) -> Excluded:
        """The constraint that excluded the most."""
        return self.excluded[0]

    def __str__(self) -> str:
        return f'incompatible with nodepool "{self.pool}": {self._text()}'

    def _text(self) -> str:
        main = self.main
        if main.kind in _WHOLE or not self.considered:
            return main.constraint
        text = f"{main.constraint}: excludes {main.types} of {self.considered} instance types"
        others = [f"{more.constraint}: {more.types}" for more in self.excluded[1:] if more.types]
        text += f" (also: {', '.join(others)})" if others else ""
        return f"{text}; {self.together}" if self.together else text


@attrs.frozen(eq=False, slots=False)
class Unschedulable:
    """Pods, all alike, that cannot be placed; ``refusals`` has one entry per pool, ``reason`` says it in one line.

    A solve does not stop to find reasons: given a function, they are worked out when somebody first asks. ``kind`` says what kept
    the pods from being looked at, whatever pools there are; None where they were.
    """

    pods: tuple[str, ...]
    _reason: str = ""
    _refusals: tuple[PoolRefusal, ...] | Callable[[], tuple[PoolRefusal, ...]] = ()
    kind: RefusalKind | None = None

    @functools.cached_property
    def refusals(self) -> tuple[PoolRefusal, ...]:
        """Why each pool cannot host them, in the order in which pools were tried."""
        return self._refusals() if callable(self._refusals) else self._refusals

    @functools.cached_property
    def reason(self) -> str:
        """All of it in one line."""
        told = self._reason or "; ".join(str(refusal) for refusal in self.refusals)
        return told or "no nodepool is ready to launch nodes"


@attrs.frozen(kw_only=True, eq=False)
class BufferOutcome:
    """Where the virtual pods of one CapacityBuffer found room: on which nodes that are there, and how many on new ones.

    ``reason`` says why ``unplaced`` of them found none.
    """

    buffer: str
    on_nodes: Mapping[str, int]
    launched: int = 0
    unplaced: int = 0
    reason: str = ""

    @property
    def existing(self) -> int:
        """How many have room on nodes that are there, or on their way."""
        return sum(self.on_nodes.values())

    @property
    def wanted(self) -> int:
        """For how many pods there should be room."""
        return self.existing + self.launched + self.unplaced


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Plan:
    """What one solve decided. A value: print it for a dry run, store it to replay it, compare two."""

    version: int
    launches: tuple[Launch, ...] = ()
    nominations: tuple[Nomination, ...] = ()
    unschedulable: tuple[Unschedulable, ...] = ()
    buffers: tuple[BufferOutcome, ...] = ()
    """One for each CapacityBuffer that has virtual pods. Everything else here is about real pods alone."""
    _floor: Callable[[], Price] | None = attrs.field(default=None, repr=False)
    _aftermath: Callable[[], Aftermath] | None = attrs.field(default=None, repr=False)
    _by_pod: Mapping[str, Any] = attrs.field(
        init=False, repr=False, default=attrs.Factory(lambda self: _index(self), takes_self=True)
    )

    @property
    def price(self) -> Price:
        """Dollars per hour of all launches, each at its cheapest choice."""
        return math.fsum(launch.price for launch in self.launches)

    @functools.cached_property
    def bound(self) -> Price:
        """Dollars per hour below which nobody could launch machines for these pods: what the price is to be held against.

        Together such machines hold what the pods ask for, and there are as many as pods that keep each other off a host; that
        machines are bought whole is left out, and so is every other constraint.
        """
        return self._floor() if self._floor is not None else 0.0

    @property
    def placed(self) -> int:
        """How many pods have a place."""
        launched = sum(len(launch.pods) for launch in self.launches)
        return launched + sum(len(nomination.pods) for nomination in self.nominations)

    def outcome(self, pod: Pod | str) -> Launch | Nomination | Unschedulable | None:
        """What became of a pod, given itself or by its key (``namespace/name``); None when it was not part of the solve."""
        found: Launch | Nomination | Unschedulable | None = self._by_pod.get(pod if isinstance(pod, str) else pod.key)
        return found

    def explain(self, pod: Pod | str) -> Explanation:
        """Why this pod goes where it goes, or why it waits and what would help. Worked out now, by asking the scheduler again."""
        from karpy.scheduling.explain.explain import explain  # it asks the scheduler, which makes plans

        return explain(self, pod if isinstance(pod, str) else pod.key)

    @functools.cached_property
    def aftermath(self) -> Aftermath | None:
        """What the plan can be questioned about; None for a plan that no solve made."""
        return self._aftermath() if self._aftermath is not None else None


def _index(plan: Plan) -> dict[str, Any]:
    parts: Iterable[Launch | Nomination | Unschedulable] = (*plan.launches, *plan.nominations, *plan.unschedulable)
    return {pod: part for part in parts for pod in part.pods}
