"""Virtual pods go through a solve like real ones; here they leave its answer again.

What remains for people and controllers: launches that say how much room they keep ready, nominations and refusals of real pods,
and for each CapacityBuffer where its room is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from karpy.scheduling.plan import BufferOutcome, Launch, Nomination, Plan, Unschedulable
from karpy.state.buffers import BufferView

__all__ = ["set_apart"]


def set_apart(plan: Plan, served: Sequence[BufferView]) -> Plan:
    """``plan`` with the virtual pods of these buffers taken out of what is said about real ones, and told by buffer."""
    buffers = {pod.metadata.uid: view.key for view in served for pod in view.pods}
    if not buffers:
        return plan
    keys = {pod.key: view.key for view in served for pod in view.pods}
    launches = tuple(_launch(launch, buffers) for launch in plan.launches)
    nominations = tuple(_nomination(nomination, buffers) for nomination in plan.nominations)
    refused = tuple(_refusal(part, keys) for part in plan.unschedulable)
    parted = [(_by_buffer(part.pods, keys), part) for part in plan.unschedulable]
    waiting = [(by_buffer, part.reason) for by_buffer, part in parted if by_buffer]  # reasons cost, so only for these
    on_nodes: dict[str, dict[str, int]] = {}
    for nomination in plan.nominations:
        for buffer, uids in _by_buffer(nomination.pod_uids, buffers).items():
            on_nodes.setdefault(buffer, {})[nomination.node] = len(uids)
    return attrs.evolve(
        plan,
        launches=launches,
        nominations=tuple(nomination for nomination in nominations if nomination.pods),
        unschedulable=tuple(part for part in refused if part.pods),
        buffers=tuple(
            _outcome(buffer, on_nodes.get(buffer, {}), launches, waiting) for buffer in dict.fromkeys(buffers.values())
        ),
    )


def _outcome(
    buffer: str,
    on_nodes: Mapping[str, int],
    launches: Iterable[Launch],
    waiting: Iterable[tuple[Mapping[str, tuple[str, ...]], str]],
) -> BufferOutcome:
    left = [(len(pods), reason) for by_buffer, reason in waiting if (pods := by_buffer.get(buffer))]
    return BufferOutcome(
        buffer=buffer,
        on_nodes=on_nodes,
        launched=sum(len(launch.headroom.get(buffer, ())) for launch in launches),
        unplaced=sum(count for count, _ in left),
        reason="; ".join(dict.fromkeys(reason for _, reason in left)),
    )


def _by_buffer(pods: Iterable[str], buffers: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The virtual ones among ``pods`` (uids, or keys), by the buffer that ``buffers`` says they are of."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        if pod in buffers:
            found.setdefault(buffers[pod], []).append(pod)
    return {buffer: tuple(found[buffer]) for buffer in sorted(found)}


def _launch(launch: Launch, buffers: Mapping[str, str]) -> Launch:
    pods, uids = _real(launch, buffers)
    return attrs.evolve(launch, pods=pods, pod_uids=uids, headroom=_by_buffer(launch.pod_uids, buffers))


def _nomination(nomination: Nomination, buffers: Mapping[str, str]) -> Nomination:
    pods, uids = _real(nomination, buffers)
    return attrs.evolve(nomination, pods=pods, pod_uids=uids)


def _real(part: Launch | Nomination, buffers: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept = [(pod, uid) for pod, uid in zip(part.pods, part.pod_uids, strict=True) if uid not in buffers]
    return tuple(pod for pod, _ in kept), tuple(uid for _, uid in kept)


def _refusal(part: Unschedulable, keys: Mapping[str, str]) -> Unschedulable:
    return attrs.evolve(part, pods=tuple(pod for pod in part.pods if pod not in keys))
