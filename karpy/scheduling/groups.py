"""Pods that one constraint counts together, and the domains where it counts them.

Zone-like keys have few values: these are the bits of a mask. For the hostname each machine is a domain of its own: only counts
above zero are kept, and a new machine has none.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from karpy import labels
from karpy.requirements import Requirement, Requirements
from karpy.scheduling.constraints import AffinityTerm, SpreadTerm
from karpy.scheduling.instances import bits
from karpy.taints import Taint, untolerated

__all__ = ["Domains", "Group", "GroupKind", "Host"]

Host = str | int
"""A machine: the name of a node or claim that exists, or the number of one that is planned."""


class GroupKind(enum.Enum):
    """What a group's term asks; the value is the word for it in messages."""

    SPREAD = "topology spread"
    AFFINITY = "pod affinity"
    ANTI_AFFINITY = "pod anti-affinity"
    #: Pods that have an anti-affinity, counted where they are: it keeps away the pods that it selects.
    INVERSE = "pod anti-affinity of another pod"


class Domains:
    """The known values of one topology key, each one bit."""

    def __init__(self, values: Iterable[str]) -> None:
        self.names = tuple(sorted(values))
        self.index = {name: bit for bit, name in enumerate(self.names)}
        self.all = (1 << len(self.names)) - 1
        self._masks: dict[Requirement, int] = {}

    def mask(self, requirement: Requirement | None) -> int:
        """The values that ``requirement`` allows; None allows all."""
        if requirement is None:
            return self.all
        known = self._masks.get(requirement)
        if known is None:
            known = sum(1 << bit for bit, name in enumerate(self.names) if requirement.has(name))
            self._masks[requirement] = known
        return known

    def requirement(self, key: str, mask: int) -> Requirement:
        return Requirement.in_(key, *(self.names[bit] for bit in bits(mask)))


class Group:
    """One term's counts. ``universe`` is the mask of the domains that exist for it."""

    def __init__(self, kind: GroupKind, term: SpreadTerm | AffinityTerm, domains: Domains, universe: int) -> None:
        self.kind = kind
        self.term = term
        self.key = term.key
        self.is_host = term.key == labels.HOSTNAME
        self.counts_against_all = kind in (GroupKind.ANTI_AFFINITY, GroupKind.INVERSE)
        """A machine that may be in several domains keeps pods away from each of them."""
        self.domains = domains
        self.universe = universe
        self.counts = [0] * len(domains.names)
        self.populated = 0
        """The domains that have a pod, as a mask."""
        self.is_in_doubt = False
        """Whether a pod may be in one of several domains, and was counted in none of them."""
        self.began_in_doubt = False
        """Whether a pod became the first of its kind meanwhile."""
        self.hosts: dict[Host, int] = {}
        self.version = 0
        """Grows when what `reach` says may have changed, or which domain has the fewest pods."""
        self._spread: dict[tuple[int, bool], tuple[int, int]] = {}

    def counts_node(self, requirements: Requirements, taints: Sequence[Taint], well_known: frozenset[str]) -> bool:
        """Whether pods on such a node count (spread only: the pod's own node affinity and tolerations decide)."""
        term = self.term
        if not isinstance(term, SpreadTerm) or (term.tolerations is None and not all(term.nodes)):
            return True
        if term.tolerations is not None and untolerated(taints, term.tolerations) is not None:
            return False
        return any(requirements.compatible(wanted, well_known) is None for wanted in term.nodes)

    def describe(self) -> str:
        """Kind, key and counts, for messages."""
        counts = " ".join(f"{name}:{count}" for name, count in zip(self.domains.names, self.counts, strict=True))
        return f"{self.kind.value}, key={self.key}" + (f" (counts = {counts})" if counts else "")

    def record(self, host: Host, mask: int) -> None:
        """One more pod on a machine whose domain is one of ``mask``. As long as it may be several, it counts for none of
        them, or against all of them where pods are kept apart."""
        if self.is_host:
            self.hosts[host] = self.hosts.get(host, 0) + 1
            return
        if mask & (mask - 1) == 0:
            if not mask:
                return
            self.counts[mask.bit_length() - 1] += 1
        elif self.counts_against_all:
            for bit in bits(mask):
                self.counts[bit] += 1
        else:
            self.is_in_doubt = True
            return
        if self.kind is GroupKind.SPREAD or mask & ~self.populated:
            self.version += 1
        self.populated |= mask

    def begin(self) -> None:
        """A pod that wants to be with its like is about to be recorded."""
        if self.is_in_doubt and not self.populated:
            self.began_in_doubt = True

    def take_back(self, mask: int, pods: int) -> None:
        """So many pods were counted in these domains, and have turned out not to be there."""
        for bit in bits(mask):
            self.counts[bit] -= pods
            if not self.counts[bit]:
                self.populated &= ~(1 << bit)
        self.version += 1

    def allows_host(self, host: Host | None, counts_itself: bool) -> bool:
        """Whether one more pod may go to this machine; None is one that does not exist yet. Hostname groups only."""
        held = self.hosts.get(host, 0) if host is not None else 0
        term = self.term
        if isinstance(term, SpreadTerm):
            return held + counts_itself <= term.max_skew
        if self.kind is GroupKind.AFFINITY:
            return held > 0 or (counts_itself and not self.hosts)
        return held == 0

    def reach(self, pod_mask: int, counts_itself: bool) -> int:
        """The domains where one more pod may go, when its own requirements leave it ``pod_mask``."""
        if isinstance(self.term, SpreadTerm):
            return self._spread_reach(self.term, pod_mask, counts_itself)
        if self.kind is not GroupKind.AFFINITY:
            return ~self.populated
        held = self.populated & pod_mask
        if held or not counts_itself:
            return held
        return self.universe & pod_mask  # the first of its kind may begin anywhere

    def _spread_reach(self, term: SpreadTerm, pod_mask: int, counts_itself: bool) -> int:
        known = self._spread.get((pod_mask, counts_itself))
        if known is not None and known[0] == self.version:
            return known[1]
        counts = self.counts
        supported = [counts[bit] for bit in bits(self.universe & pod_mask)]
        least = min(supported, default=0)
        if term.min_domains is not None and len(supported) < term.min_domains:
            least = 0
        most = term.max_skew + least - counts_itself
        mask = 0
        for bit in bits(self.universe):
            if counts[bit] <= most:
                mask |= 1 << bit
        self._spread[pod_mask, counts_itself] = (self.version, mask)
        return mask
