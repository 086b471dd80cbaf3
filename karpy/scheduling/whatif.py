"""What if these nodes were gone? Asked again and again of one picture, which is compiled once.

An answer is what `karpy.scheduling.scheduler.solve` would say (packing ``THRIFTY``) of a cluster without them, in which the pods
of these nodes wait with all others. Each question has a scratch run of its own over what was compiled, so there is nothing to undo.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.objects.pod import Pod
from karpy.scheduling.admission import Refused
from karpy.scheduling.batch import Batch, pod_reader, told
from karpy.scheduling.classes import ReadPod, Shut
from karpy.scheduling.configured import policy_as_set
from karpy.scheduling.ground import Absent, Ground
from karpy.scheduling.headroom import set_apart
from karpy.scheduling.packing import Packing
from karpy.scheduling.plan import Launch, Nomination, Plan, Unschedulable
from karpy.scheduling.run import Run
from karpy.scheduling.start import Start
from karpy.scheduling.stopping import Stop, for_real_pods
from karpy.settings import Settings
from karpy.state.snapshot import NodeView, Snapshot

__all__ = ["Outcome", "WhatIfs"]


@attrs.frozen(eq=False)
class _Reading:
    """Pods as they were read: those that may be placed, and those that are not looked at."""

    pods: Sequence[Pod]
    readable: Sequence[ReadPod]
    refused: Sequence[tuple[Pod, Refused]]


class WhatIfs:
    """Questions about one picture. Pods of nodes that are gone on paper do not go to nodes named in ``shut``; others may."""

    def __init__(
        self,
        snapshot: Snapshot,
        catalog: Catalog,
        settings: Settings | None = None,
        *,
        shut: frozenset[str] = frozenset(),
    ) -> None:
        settings = settings or Settings()
        self.snapshot = snapshot
        self._catalog = catalog
        self._max_types = settings.max_instance_types
        self._policy = attrs.evolve(policy_as_set(settings), packing=Packing.THRIFTY)
        self._shut = shut
        self._reader = pod_reader(snapshot, catalog, self._policy)
        self._readings: dict[NodeView, _Reading] = {}
        self._waiting = self._read(snapshot.to_place)
        self._headroom = self._read(snapshot.headroom)
        self.virtual = frozenset(pod.metadata.uid for pod in snapshot.headroom)
        moving = [read.pod for read in (*self._waiting.readable, *self._headroom.readable)]
        self._ground = Ground(snapshot, catalog, self._policy, moving, often=True)

    @functools.cached_property
    def _positions(self) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        for position, view in enumerate(self.snapshot.nodes):
            found[view.name] = (*found.get(view.name, ()), position)
        return found

    @functools.cached_property
    def start(self) -> Start:
        """What all answers start from, as far as amounts go."""
        batch = Batch(self._waiting.pods, (*self._waiting.readable, *self._headroom.readable), ())
        run = Run(self._ground, batch, self._policy)
        run.keep_planned()
        return Start(self._ground.floor, run.nodes, run.templates, self._shut)

    def without(
        self, views: Iterable[NodeView], *, machines: int | None = None, staying: frozenset[str] = frozenset()
    ) -> Outcome:
        """What becomes of the pods of these nodes, and of all that wait, if the nodes are gone.

        Pods with the uids of ``staying`` end with their node, and want no place.

        With ``machines`` no more is found out once more new machines than that are needed, or a pod of these nodes has no place for
        certain: the outcome `is_cut` then.
        """
        views = tuple(views)
        names = dict.fromkeys(view.name for view in views)
        positions = frozenset(place for name in names for place in self._positions.get(name, ()))
        absent = Absent(positions, tuple(self.snapshot.nodes[position] for position in sorted(positions)))
        readings = [self._reading(view, staying) for view in views]
        batch = self._batch(readings, absent)
        pods = [pod for reading in readings for pod in reading.pods]
        moving = frozenset(pod.metadata.uid for pod in pods)
        ground = self._ground
        run = Run(ground, batch, self._policy, absent=absent)
        if ground.census.loses_a_domain(positions):  # what is known of shapes is about other domains, then
            rest = self.snapshot.without(names)
            ground = Ground(rest, self._catalog, self._policy, [read.pod for read in batch.readable])
            run = Run(ground, batch, self._policy)
        is_cut = not run.place_all(None if machines is None else Stop(moving, machines, self.virtual))
        return Outcome(self, run, tuple(names), tuple(pods), is_cut)

    def _batch(self, moving: Sequence[_Reading], absent: Absent) -> Batch:
        """All that want places, in the order in which `solve` is given them."""
        waiting = self._waiting
        if any(view.is_leaving for view in absent.views):
            gone = {pod.metadata.uid for view in absent.views for pod in view.pods}
            waiting = self._read(pod for pod in waiting.pods if pod.metadata.uid not in gone)
        parts = (waiting, *moving, self._headroom)
        pods = [pod for part in parts[:-1] for pod in part.pods]
        readable = [read for part in parts for read in part.readable]
        refused = [each for part in parts for each in part.refused]
        shut = Shut(self._shut, frozenset(pod.metadata.uid for part in moving for pod in part.pods))
        return Batch(pods, readable, told(refused), shut if self._shut else Shut())

    def plan_of(self, run: Run, names: Iterable[str]) -> Plan:
        """The plan of a run for the cluster without these nodes."""
        plan = run.to_plan(self._max_types, self.snapshot.without(names))
        return set_apart(plan, self.snapshot.buffers)

    def _reading(self, view: NodeView, staying: frozenset[str]) -> _Reading:
        if staying:
            return self._read(pod for pod in view.reschedulable_pods if pod.metadata.uid not in staying)
        found = self._readings.get(view)
        if found is None:
            found = self._readings[view] = self._read(view.reschedulable_pods)
        return found

    def _read(self, pods: Iterable[Pod]) -> _Reading:
        pods = tuple(pods)
        return _Reading(pods, *self._reader.read_all(pods))


class Outcome:
    """What becomes of everybody if some nodes are gone. What is dear is worked out when it is first asked for."""

    def __init__(self, whatifs: WhatIfs, run: Run, names: Sequence[str], moving: Sequence[Pod], is_cut: bool) -> None:
        self.moving = moving
        """The pods that lose their node."""
        self.is_cut = is_cut
        """Whether it was not found out to the end: of those for whom no place was looked for nothing is said."""
        self._whatifs = whatifs
        self._names = names
        self._run = run
        self._uids = frozenset(pod.metadata.uid for pod in moving)

    @property
    def tried(self) -> int:
        """For how many pods places were looked for: what the question cost."""
        return len(self._run.batch.readable)

    @property
    def machines(self) -> int:
        """How many new machines there would be for pods, those that waited anyway too."""
        return len(for_real_pods(self._run.open_claims.claims, self._whatifs.virtual))

    @functools.cached_property
    def homeless(self) -> tuple[Pod, ...]:
        """The pods that lose their node and have no place."""
        if not self._run.left_over and not self._run.batch.refused and not self._may_drop:
            return ()
        keys = {key for part in self._refusals for key in part.pods}
        return tuple(pod for pod in self.moving if pod.key in keys)

    @functools.cached_property
    def why_homeless(self) -> tuple[Unschedulable, ...]:
        """The same with the reasons, which are found when they are read."""
        keys = {pod.key for pod in self.homeless}
        parts = (attrs.evolve(part, pods=tuple(key for key in part.pods if key in keys)) for part in self._refusals)
        return tuple(part for part in parts if part.pods)

    @functools.cached_property
    def unready(self) -> tuple[tuple[Pod, NodeView], ...]:
        """The pods that lose their node and would go to one that may yet fail to come up."""
        return tuple(
            (pod, node.view)
            for node in self._run.open_nodes.filled
            if not node.view.is_initialized
            for pod in node.pods
            if pod.metadata.uid in self._uids
        )

    @functools.cached_property
    def nominations(self) -> tuple[Nomination, ...]:
        """Who goes to which node that exists, those too who waited anyway."""
        return self.plan.nominations if self._whatifs.snapshot.buffers else self._run.nominations()

    @functools.cached_property
    def launches(self) -> tuple[Launch, ...]:
        """All new machines, also those for pods that waited anyway."""
        return self.plan.launches

    @functools.cached_property
    def replacements(self) -> tuple[Launch, ...]:
        """The new machines for pods, those that waited anyway too."""
        return tuple(launch for launch in self.launches if launch.pods)

    def to_plan(self) -> Plan:
        """All of it, as `karpy.scheduling.scheduler.solve` has it."""
        return self.plan

    @functools.cached_property
    def plan(self) -> Plan:
        return self._whatifs.plan_of(self._run, self._names)

    @property
    def _may_drop(self) -> bool:
        """Whether a machine may turn out to have too few types to choose from."""
        return any(claim.shape.min_values for claim in self._run.open_claims.claims)

    @functools.cached_property
    def _refusals(self) -> Sequence[Unschedulable]:
        if self._may_drop:
            return self.plan.unschedulable
        return (*self._run.batch.refused, *self._run.unschedulable())
