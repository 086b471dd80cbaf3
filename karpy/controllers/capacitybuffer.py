"""CapacityBuffers say how they are: what they were resolved to, and whether the room is there (core specification 1.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.controllers.shared import Shared, conditions_patch
from karpy.errors import KubeError
from karpy.objects.capacitybuffer import ACTIVE_CAPACITY, SCALABLE_KINDS
from karpy.objects.kinds import CAPACITY_BUFFER, POD_TEMPLATE
from karpy.objects.meta import Condition, readable_conditions, set_condition
from karpy.objects.pod import Pod
from karpy.objects.watchevent import EventType, WatchEvent
from karpy.scheduling.plan import BufferOutcome, Plan
from karpy.state.buffers import BufferView, Unresolved
from karpy.state.snapshot import Snapshot

__all__ = ["BufferStatus", "HeadroomClock", "report_outcomes", "when_ready"]

READY = "ReadyForProvisioning"
PROVISIONING = "Provisioning"
RESOLVED = "Resolved"
_RECHECK_S = 30.0
_RECHECK_MISSING_S = 10.0


class BufferStatus:
    """Resolves each buffer anew when it, or what it refers to, changes, and every half minute."""

    name = "capacitybuffer"

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    @property
    def sources(self) -> Sequence[Source]:
        targets = (POD_TEMPLATE, *SCALABLE_KINDS.values())
        return (Source(CAPACITY_BUFFER, by_name), *(Source(kind, self._referring) for kind in targets))

    def _referring(self, event: WatchEvent) -> tuple[Request, ...]:
        """The buffers that name this object."""
        metadata = event.object["metadata"]
        target = (event.kind, f"{metadata.get('namespace', '')}/{metadata['name']}")
        found = (view.metadata for view in self._shared.state.buffers() if view.target == target)
        return tuple(Request(meta.name, meta.namespace) for meta in found)

    def reconcile(self, request: Request) -> Result:
        wanted = (request.namespace, request.name)
        views = self._shared.state.buffers()
        view = next((view for view in views if (view.metadata.namespace, view.metadata.name) == wanted), None)
        if view is None:
            return DONE  # gone, or another autoscaler's
        conditions, fields = _told(view)
        _write(self._shared, view, conditions, fields)
        if isinstance(view.outcome, Unresolved):
            reason, message = view.outcome.reason.value, view.outcome.message
            self._shared.recorder.warning(CAPACITY_BUFFER, view.metadata, reason, message)
        return Result(_RECHECK_S)


def _told(view: BufferView) -> tuple[tuple[Condition, ...], Mapping[str, Any]]:
    """The conditions that the resolution decides, and the other fields; None is a field that must not be there."""
    fields: dict[str, Any] = {"podTemplateRef": None, "podTemplateGeneration": None, "replicas": None}
    fields["provisioningStrategy"] = ACTIVE_CAPACITY
    found = view.outcome
    if isinstance(found, Unresolved):
        failed = Condition(READY, "False", found.reason.value, found.message)
        return (failed, _provisioning("NotReadyForProvisioning", f"Buffer is not {READY}")), fields
    fields["replicas"] = found.replicas
    if found.pod_template is not None:
        fields["podTemplateRef"] = {"name": found.pod_template.name}
        fields["podTemplateGeneration"] = found.pod_template.generation
    ready = Condition(READY, "True", RESOLVED, "Pod template resolved successfully")
    if not found.replicas:
        return (ready, _provisioning("BufferEmpty", "Buffer has zero desired replicas")), fields
    return (ready,), fields


def _provisioning(reason: str, message: str, status: str = "False") -> Condition:
    return Condition(PROVISIONING, status, reason, message)


def report_outcomes(shared: Shared, buffers: Iterable[BufferView], plan: Plan) -> None:
    """Say of each buffer that the plan is about whether its room is there. That somebody else was faster is no failure:
    the next plan says it again."""
    outcomes = {outcome.buffer: outcome for outcome in plan.buffers}
    for view in buffers:
        outcome = outcomes.get(view.key)
        if outcome is None:
            continue
        try:
            _write(shared, view, (_found(outcome),), {})
        except KubeError as error:
            shared.log.info("capacitybuffer status not written", CapacityBuffer=view.key, error=str(error))


def _found(outcome: BufferOutcome) -> Condition:
    wanted = outcome.wanted
    if outcome.existing == wanted:
        return _provisioning("FitsExistingCapacity", f"All {wanted} virtual pods fit on existing capacity", "True")
    why = f": {outcome.reason}" if outcome.reason else ""
    message = f"{outcome.launched}/{wanted} virtual pods required new capacity, {outcome.unplaced} failed{why}"
    return _provisioning("RequiresNewCapacity", message)


def _write(shared: Shared, view: BufferView, new: Iterable[Condition], fields: Mapping[str, Any]) -> None:
    """Write conditions and fields of a buffer's status, unless it says so already."""
    raw, meta = view.raw, view.metadata
    status = raw.get("status") or {}
    conditions = known = readable_conditions(status.get("conditions"))
    for condition in new:
        observed = msgspec.structs.replace(condition, observed_generation=meta.generation or None)
        conditions = set_condition(conditions, observed, now=shared.clock.now())
    if conditions == known and all(status.get(key) == value for key, value in fields.items()):
        return
    patch = conditions_patch(meta.resource_version, conditions, **fields)
    shared.kube.patch(CAPACITY_BUFFER, meta.name, patch, meta.namespace, subresource="status")


@attrs.define
class HeadroomClock:
    """When the provisioner looks at room in reserve: at once when other room is asked for than before, soon when some of it was
    missing, and else every half minute, since pods that take it do not tell."""

    _asked_for: tuple[Pod, ...] = ()
    _again_at: float = float("-inf")

    def due(self, snapshot: Snapshot, now: float) -> set[str]:
        """The uids of the buffers, if they are to be looked at now."""
        is_known = snapshot.headroom == self._asked_for
        if not snapshot.headroom or (is_known and (self.left_s(now) > 0 or _is_ordered(snapshot))):
            return set()
        return {view.metadata.uid or view.key for view in snapshot.buffers if view.pods}

    def looked_at(self, snapshot: Snapshot, plan: Plan, now: float) -> None:
        is_complete = all(outcome.existing == outcome.wanted for outcome in plan.buffers)
        self._asked_for, self._again_at = snapshot.headroom, now + (_RECHECK_S if is_complete else _RECHECK_MISSING_S)

    def left_s(self, now: float) -> float:
        """Seconds until it is looked at again though nothing else is asked for."""
        return max(self._again_at - now, 0.0)


def _is_ordered(snapshot: Snapshot) -> bool:
    """Whether a machine for the room is being launched: until the cloud has answered, nobody knows what it will be like."""
    assigned = snapshot.assignments
    claims = {assigned[pod.metadata.uid] for pod in snapshot.headroom if pod.metadata.uid in assigned}
    machines = (snapshot.machine(claim) for claim in claims)
    return any(machine is not None and not machine.provider_id for machine in machines)


def when_ready(event: WatchEvent) -> tuple[Request, ...]:
    """A buffer that was resolved wakes the provisioner; any other has nothing for it to do."""
    conditions = (event.object.get("status") or {}).get("conditions") or ()
    is_ready = any(c.get("type") == READY and c.get("status") == "True" for c in conditions)
    return (Request(),) if is_ready and event.type is not EventType.DELETED else ()
