"""`Situation`: a cluster, what can be bought for it, and how to decide. Everything that an answer depends on, as one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import attrs

from karpy.cloud.instancetype import Catalog
from karpy.cloud.overlays import OverlayVerdict, Validity
from karpy.disruption.past import Past
from karpy.disruption.survey import Survey
from karpy.errors import InvalidObject
from karpy.kube.client import RawObject
from karpy.objects.kinds import Kind
from karpy.objects.manifest import Manifests
from karpy.objects.meta import describe
from karpy.objects.nodeclaim import DISRUPTION_REASON
from karpy.objects.pod import Pod
from karpy.report.outlook import Outlook
from karpy.scheduling.configured import solve_as_set
from karpy.scheduling.plan import Plan
from karpy.settings import Settings
from karpy.state.buffers import Unresolved
from karpy.state.cluster import ClusterState
from karpy.state.snapshot import Snapshot

__all__ = ["Situation", "gate_notes", "nominated", "state_of"]


@attrs.frozen(kw_only=True, eq=False)
class Situation:
    """``notes`` say what was assumed, or left out, when it was put together."""

    name: str
    snapshot: Snapshot
    catalog: Catalog
    now: float
    settings: Settings = Settings()
    notes: tuple[str, ...] = ()
    pods: tuple[Pod, ...] = ()
    """All pods of the cluster, also those that no decision is about; empty where nobody will ask."""

    def outlook(self, *, provisioning: bool = True, disruption: bool = True) -> Outlook:
        """What karpy would do here now. Pure.

        Raises:
            InvalidObject: the scheduler's configuration in `settings` cannot be used.
        """
        plan = self.plan() if provisioning else None
        return Outlook(
            name=self.name,
            catalog=self.catalog,
            notes=self.notes,
            plan=plan,
            disruption=self.survey() if disruption else None,
        )

    def plan(self) -> Plan:
        """What to launch for the pods that wait."""
        return solve_as_set(self.settings, self.snapshot, self.catalog)

    def survey(self) -> Survey:
        """What disruption makes of each node. Those that say so are being replaced already."""
        claims = (view.claim for view in self.snapshot.nodes if view.claim is not None)
        busy = frozenset(claim.name for claim in claims if claim.is_true(DISRUPTION_REASON))
        return Survey(self.snapshot, self.catalog, now=self.now, settings=self.settings, past=Past(busy=busy))


Preparation = Callable[[Sequence[RawObject]], Sequence[RawObject]]


def state_of(
    read: Manifests,
    node_class_kinds: Sequence[Kind] = (),
    *,
    prepare: Preparation = tuple,
    more: Sequence[RawObject] = (),
) -> ClusterState:
    """The cluster that consists of these objects, ``prepare`` made of them what it has to, and of ``more``.

    Raises:
        InvalidObject: objects cannot be read; each is named with its place, one a line. Unlike in a live cluster this includes
            pools: who wrote the file can mend it.
    """
    try:
        return _state((*prepare(read.objects), *more), node_class_kinds)
    except InvalidObject:
        problems = [*_problems(read, node_class_kinds, prepare)]
        if not problems:
            raise  # it is about ``more``, or about objects that are well each by itself
        raise InvalidObject("\n".join(problems)) from None


def _state(objects: Sequence[RawObject], node_class_kinds: Sequence[Kind]) -> ClusterState:
    for obj in objects:
        if not obj["metadata"].get("name"):
            raise InvalidObject(
                "found nothing", path="metadata.name", object_name=describe(obj), accepted="text that is not empty"
            )
    state = ClusterState.of(objects, tuple(node_class_kinds))
    broken = state.invalid_pools()
    if broken:
        raise broken[0].error
    return state


def _problems(read: Manifests, node_class_kinds: Sequence[Kind], prepare: Preparation) -> Iterator[str]:
    for place, obj in zip(read.places, read.objects, strict=True):
        try:
            _state(prepare((obj,)), node_class_kinds)
        except InvalidObject as error:
            yield f"{place}: {error}"


def nominated(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """The same cluster, these nodes kept from disruption because pods were just planned onto them."""
    if not names:
        return snapshot
    views = (attrs.evolve(view, nominated_until=math.inf) if view.name in names else view for view in snapshot.nodes)
    return attrs.evolve(snapshot, nodes=tuple(views))


def gate_notes(snapshot: Snapshot, settings: Settings, verdicts: Mapping[str, OverlayVerdict]) -> Iterator[str]:
    """What to know about the objects behind feature gates: that they do not count, or which of them do not, and why."""
    if settings.node_overlay:
        for name, verdict in verdicts.items():
            if verdict.validity is not Validity.VALID:
                yield f"NodeOverlay {name!r} does not count: {verdict.message}"
    elif snapshot.overlays:
        yield "NodeOverlays do not count: the feature gate NodeOverlay is off"
    if settings.capacity_buffer:
        for buffer in snapshot.buffers:
            if isinstance(buffer.outcome, Unresolved):
                yield f"CapacityBuffer {buffer.key!r} has no room: {buffer.outcome.message}"
    elif snapshot.buffers:
        yield "CapacityBuffers do not count: the feature gate CapacityBuffer is off"
