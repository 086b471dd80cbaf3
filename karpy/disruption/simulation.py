"""What becomes of the pods if some nodes go: worked out on paper, and asked for by all methods that move pods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import attrs

from karpy.disruption.basis import Basis
from karpy.disruption.candidates import Candidate
from karpy.disruption.command import Command, Method, Move
from karpy.disruption.headroom import Headroom
from karpy.disruption.scene import Scene
from karpy.disruption.verdicts import BlockedBy
from karpy.objects.pod import Pod
from karpy.scheduling.plan import Launch
from karpy.scheduling.whatif import Outcome
from karpy.state.snapshot import Snapshot

__all__ = ["Simulation", "simulate"]

_MOST_TOLD = 5
"""Of so many pods it is said why they have no place (core specification 5.6)."""


def simulate(scene: Scene, gone: Sequence[Candidate], *, machines: int | None = None) -> Simulation:
    """Take these nodes away on paper. If more new machines than ``machines`` are needed, how many does not matter."""
    staying = frozenset(pod.metadata.uid for candidate in gone for pod in _staying(scene, candidate))
    found = _ask(scene.basis, gone, staying, machines)
    scene.worked(found.outcome.tried)
    return found


def _staying(scene: Scene, candidate: Candidate) -> Iterator[Pod]:
    """Of a node that goes although pods hold it, those stay until its deadline, and want no place before."""
    if candidate.hold is not None:
        yield from (pod for pod in candidate.pods if not scene.snapshot.may_be_evicted(pod, scene.now))


def _ask(basis: Basis, gone: Sequence[Candidate], staying: frozenset[str], machines: int | None = None) -> Simulation:
    outcome = basis.whatifs.without((each.view for each in gone), machines=machines, staying=staying)
    # What is told is found out anew when somebody asks: nodes by the thousand need not keep what it was found from.
    return Simulation(basis.snapshot, gone, outcome, functools.partial(_ask, basis, gone, staying))


@attrs.frozen(eq=False, slots=False)
class Simulation:
    """Where the pods of ``gone`` would go. ``again`` finds out all of it."""

    snapshot: Snapshot
    gone: Sequence[Candidate]
    outcome: Outcome
    again: Callable[[], Simulation]

    @functools.cached_property
    def blocked(self) -> BlockedBy | None:
        """A pod that has no place, or only one on a node that may yet fail to come up."""
        outcome, again = self.outcome, self.again
        pods = outcome.homeless or tuple(pod for pod, _view in outcome.unready)
        if not pods:
            return None
        return BlockedBy(pods[0].key, lambda: next(again().reasons(), ("", ""))[1], lambda: again().told())

    def told(self) -> str:
        """Why pods have no place, of the first few."""
        every = tuple(self.reasons())
        told = " ".join(f"{pod} => {reason}" for pod, reason in every[:_MOST_TOLD])
        more = f" and {len(every) - _MOST_TOLD} other(s)" if len(every) > _MOST_TOLD else ""
        return f"Not all pods would schedule, {told}{more}"

    def reasons(self) -> Iterator[tuple[str, str]]:
        """Pods that have no place, each with the reason."""
        for part in self.outcome.why_homeless:
            yield from ((pod, part.reason) for pod in part.pods)
        for moved, view in self.outcome.unready:
            parts = [] if view.claim is None else [f"nodeclaim/{view.claim.name}"]
            parts += [] if view.node is None else [f"node/{view.name}"]
            yield moved.key, f"would schedule against uninitialized {', '.join(parts)}"

    @functools.cached_property
    def machines(self) -> int:
        """How many new machines it takes. Those for pods that wait anyway count too: they might have had room on the nodes. Room
        that is to be kept ready counts if it was on the nodes."""
        return len(self.replacements) if self._displaced else self.outcome.machines

    @functools.cached_property
    def replacements(self) -> tuple[Launch, ...]:
        """These machines."""
        displaced = self._displaced
        if not displaced:
            return self.outcome.replacements if self.outcome.machines else ()
        return tuple(each for each in self.outcome.launches if each.pods or displaced & each.headroom.keys())

    @property
    def loses_headroom(self) -> bool:
        """Whether there would be less room than is kept ready now."""
        return bool(self._displaced) and bool(self._headroom.lost(self.outcome.plan, self.snapshot, self.replacements))

    @functools.cached_property
    def _displaced(self) -> frozenset[str]:
        """The buffers whose room on the nodes is lost."""
        headroom = self._headroom
        return headroom.lost(self.outcome.plan, self.snapshot) if headroom.by_buffer else frozenset()

    @property
    def _headroom(self) -> Headroom:
        return self.gone[0].headroom

    @functools.cached_property
    def moves(self) -> tuple[Move, ...]:
        """Where each of the pods goes; replacements are numbered as `replacements` has them."""
        return tuple(self._moves())

    def _moves(self) -> Iterator[Move]:
        moving = {pod.key for pod in self.outcome.moving}
        for nomination in self.outcome.nominations:
            yield from (Move(pod, nomination.node) for pod in nomination.pods if pod in moving)
        for number, launch in enumerate(self.replacements):
            yield from (Move(pod, number) for pod in launch.pods if pod in moving)

    def command(self, method: Method, *replacements: Launch) -> Command:
        """Let them go. ``replacements`` are what `replacements` was narrowed to."""
        price = sum(candidate.price for candidate in self.gone)
        return Command(
            method=method,
            claims=tuple(candidate.view.claim.name for candidate in self.gone if candidate.view.claim is not None),
            nodes=tuple(candidate.view.name for candidate in self.gone),
            replacements=replacements,
            moves=self.moves,
            savings=price - sum(launch.price for launch in replacements),
            version=self.snapshot.version,
        )
