"""Questions about one more pod, once all that a plan decided is there. The scheduler itself answers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from karpy.objects.pod import Pod
from karpy.resources import Resources
from karpy.scheduling.aftermath import Aftermath
from karpy.scheduling.batch import Batch
from karpy.scheduling.claims import PlannedClaim
from karpy.scheduling.classes import PodClass
from karpy.scheduling.constraints import Constraints
from karpy.scheduling.existing import ExistingNode
from karpy.scheduling.ground import Ground
from karpy.scheduling.groups import Group, GroupKind
from karpy.scheduling.launching import to_launch
from karpy.scheduling.plan import Launch, Nomination
from karpy.scheduling.run import Run
from karpy.scheduling.rungs import Rung
from karpy.scheduling.templates import Shape, Template

__all__ = ["Standing", "place_after", "standing_after"]


@attrs.frozen(eq=False)
class Standing:
    """What a solve works with when it comes to the pod: pools, nodes, planned machines, and what is left of limits."""

    templates: Sequence[Template]
    pod_class: PodClass
    last: Rung
    remaining: Mapping[str, Resources | None]
    nodes: Sequence[ExistingNode]
    claims: Sequence[PlannedClaim]


def place_after(aftermath: Aftermath, pod: Pod, *, kept_away: bool = True) -> Launch | Nomination | None:
    """Where the pod goes; None when nowhere. Without ``kept_away`` the anti-affinities of other pods count for nothing."""
    run = _begin(aftermath, pod)
    if not kept_away:
        _ignore_who_keeps_away(run)
    run.place_all()
    for claim in run.open_claims.claims:
        if claim.pods[-1] is pod:
            return to_launch(claim, aftermath.max_instance_types)
    return next(iter(run.nominations()), None)


def standing_after(aftermath: Aftermath, pod: Pod) -> Standing | None:
    """How things stand for the pod; None for one that is not looked at."""
    run = _begin(aftermath, pod)
    if not run.classes:
        return None
    (found,) = run.classes
    last = run.ladder(found)[-1]
    return Standing(run.templates, found, last, run.remaining, run.nodes, run.open_claims.claims)


def _begin(aftermath: Aftermath, pod: Pod) -> Run:
    """A solve that has come to the pod: the machines that are planned stand open, and the pods on them are counted."""
    batch = Batch.read(aftermath.snapshot, aftermath.catalog, (pod,), aftermath.policy)
    around = [read for planned in aftermath.planned for read in planned.pods]
    ground = Ground(
        *(aftermath.snapshot, aftermath.catalog, aftermath.policy),
        [read.pod for read in (*batch.readable, *around)],
        counted_in=aftermath.counted,
        remaining=aftermath.remaining,
    )
    run = Run(ground, batch, aftermath.policy, around=around)
    topology = run.topology
    rungs: dict[tuple[Constraints, tuple[Group, ...]], Rung] = {}
    renewed: dict[Template, Template] = {}
    for number, planned in enumerate(aftermath.planned):
        claim = planned.claim.copy()
        if not topology.is_empty:
            claim.shape = _renewed(claim.shape, renewed)
        run.open_claims.adopt(claim)
        _keep_reservation(run, planned.claim, claim)
        for read in () if topology.is_empty else planned.pods:
            key = (read.constraints, topology.selecting(read.pod))
            if key not in rungs:
                rungs[key] = Rung(*key, topology)
            rungs[key].record_claim(number, claim.shape, run.well_known)
    return run


def _keep_reservation(run: Run, claim: PlannedClaim, copy: PlannedClaim) -> None:
    """What the machine holds is not there for the pod. Only its first counts: others it has because nobody wanted them."""
    held, manager = claim.reservations, run.reservations
    if held is not None and manager is not None:
        manager.reserve(copy, *(name for name in held.held_by(claim)[:1] if manager.knows(name)))


def _renewed(shape: Shape, renewed: dict[Template, Template]) -> Shape:
    """The same shape with nothing worked out yet: what it knows is about the domains of another solve, which need not be these."""
    if shape.template not in renewed:
        renewed[shape.template] = shape.template.afresh()
    return renewed[shape.template].shape(shape.requirements)


def _ignore_who_keeps_away(run: Run) -> None:
    for found in run.classes:
        groups: tuple[Group, ...] = found.selected_by  # type: ignore[assignment]  # what `selecting` returned
        found.selected_by = tuple(group for group in groups if group.kind is not GroupKind.INVERSE)
