"""Which pods karpy moved lately of its own accord, so that they are not moved too often."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import attrs

from karpy import labels
from karpy.disruption.command import Command
from karpy.disruption.rollouts import moving_workloads
from karpy.objects.churnrules import LONGEST_S
from karpy.scheduling.plan import Launch
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Moved", "Moves", "bought_as", "swaps"]


@attrs.frozen
class Moved:
    """Pods of one workload that left one machine."""

    at: float
    claim: str
    workload: str
    pods: int
    swapped: bool
    """Whether a machine of another capacity type took the place of theirs."""


@attrs.frozen(slots=False)
class Moves:
    """Those of the last day."""

    entries: tuple[Moved, ...] = ()

    def after(self, command: Command, snapshot: Snapshot, now: float) -> Moves:
        """What there is to remember once the command has begun."""
        kept = [entry for entry in self.entries if entry.at > now - LONGEST_S]
        for claim in command.claims:
            view = snapshot.machine(claim)
            if view is not None:
                swapped = swaps(command, view)
                kept += (Moved(now, claim, name, pods, swapped) for name, pods in moving_workloads(view).items())
        return Moves(tuple(kept))

    def without(self, command: Command) -> Moves:
        """As if the command had not begun: its nodes stay."""
        claims = frozenset(command.claims)
        return Moves(tuple(entry for entry in self.entries if entry.claim not in claims))

    def until(self, workload: str, most: int, now: float, within_s: float, *, swapped: bool = False) -> float | None:
        """When no more than so many pods of the workload will have been moved within the time before; None: that is so now.

        ``swapped``: those alone count whose machine made way for one of another capacity type.
        """
        known = self._of.get(workload, ())
        lately = [entry for entry in known if entry.at + within_s > now and (entry.swapped or not swapped)]
        count, end = sum(entry.pods for entry in lately), None
        for entry in lately:
            if count <= most:
                break
            count, end = count - entry.pods, entry.at + within_s
        return end

    @functools.cached_property
    def _of(self) -> Mapping[str, Sequence[Moved]]:
        """By workload."""
        found: dict[str, list[Moved]] = {}
        for entry in self.entries:
            found.setdefault(entry.workload, []).append(entry)
        return found


def swaps(command: Command, view: NodeView) -> bool:
    """Whether what replaces the machine is, or may be, of another capacity type."""
    own = view.labels.get(labels.CAPACITY_TYPE, "")
    return any(bought != own for launch in command.replacements for bought in bought_as(launch))


def bought_as(launch: Launch) -> tuple[str, ...]:
    """The capacity types that the machine may turn out to have."""
    wanted = launch.requirements.get(labels.CAPACITY_TYPE)
    return tuple(each for each in launch.capacity_types if wanted is None or wanted.has(each))
