"""What a CapacityBuffer asks for: how many pods of which template, and the virtual pods that stand for them.

A virtual pod is one that does not exist. It is planned for like a real one, so that a machine has room for it; no one ever
creates it. (Core specification 1.6.)
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from karpy import labels
from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.capacitybuffer import ACTIVE_CAPACITY, CapacityBuffer, PodTemplate, Scalable
from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta, decode, describe
from karpy.objects.pod import Pod
from karpy.objects.podresources import pod_requests, with_default_requests
from karpy.objects.podspec import PodCondition
from karpy.objects.workloads import PodTemplateSpec
from karpy.resources import Resources

__all__ = ["MOST_REPLICAS", "BufferView", "Resolved", "Unresolved", "WhyUnresolved", "resolve", "view_of"]

MOST_REPLICAS = 10_000
"""A buffer that asks for more pods than this is held to be a mistake: room for them would be bought at once."""

LOWEST_PRIORITY = -(2**31)
_WAITS = (PodCondition("PodScheduled", "False", "Unschedulable"),)

RawObject = Mapping[str, Any]


class WhyUnresolved(enum.Enum):
    """Why a buffer has no pods; the value stands on its condition."""

    SCALABLE_REF_NOT_FOUND = "ScalableRefNotFound"
    POD_TEMPLATE_NOT_FOUND = "PodTemplateNotFound"
    RESOLUTION_FAILED = "ResolutionFailed"


@attrs.frozen
class Unresolved:
    """A buffer that nothing can be done for, and why, for people."""

    reason: WhyUnresolved
    message: str


@attrs.frozen(eq=False)
class Resolved:
    """So many pods like ``template``. ``pod_template`` is the PodTemplate that it came from, if it was one."""

    replicas: int
    template: PodTemplateSpec
    pod_template: ObjectMeta | None = None


@attrs.frozen(eq=False)
class BufferView:
    """One buffer as the core sees it: the object as the API has it, what became of it, and its virtual pods."""

    raw: RawObject = attrs.field(repr=False)
    metadata: ObjectMeta
    outcome: Resolved | Unresolved
    target: tuple[Kind, str] | None = None
    """What it refers to: kind and ``namespace/name``."""
    pods: tuple[Pod, ...] = attrs.field(default=(), repr=False)

    @property
    def key(self) -> str:
        return self.metadata.key


def view_of(raw: RawObject, buffer: CapacityBuffer | InvalidObject, target: RawObject | None) -> BufferView | None:
    """The view of a buffer that was read, or could not be, with the object that it refers to.

    None when it is not ours to serve: it is on its way out, or asks for a strategy that another autoscaler implements.
    """
    if not _is_ours(raw):
        return None
    if isinstance(buffer, InvalidObject):
        return BufferView(raw, _metadata(raw), Unresolved(WhyUnresolved.RESOLUTION_FAILED, str(buffer)))
    outcome = resolve(buffer, target)
    pods = _virtual_pods(buffer.metadata, outcome) if isinstance(outcome, Resolved) else ()
    return BufferView(raw, buffer.metadata, outcome, buffer.target, pods)


def _is_ours(raw: RawObject) -> bool:
    spec = raw.get("spec")
    strategy = spec.get("provisioningStrategy") if isinstance(spec, Mapping) else None
    is_foreign = isinstance(strategy, str) and strategy not in ("", ACTIVE_CAPACITY)
    return not is_foreign and not raw["metadata"].get("deletionTimestamp")


def _metadata(raw: RawObject) -> ObjectMeta:
    """Of an object that cannot be read: what it is called is known all the same."""
    try:
        return decode(raw["metadata"], ObjectMeta)
    except InvalidObject:
        return ObjectMeta(str(raw["metadata"]["name"]), str(raw["metadata"].get("namespace") or ""))


def resolve(buffer: CapacityBuffer, target: RawObject | None) -> Resolved | Unresolved:
    """What the buffer asks for, given the object that `CapacityBuffer.target` names, or None when that does not exist."""
    named = buffer.target
    if named is None:
        return Unresolved(WhyUnresolved.RESOLUTION_FAILED, "neither podTemplateRef nor scalableRef is set")
    kind, key = named
    if target is None:
        name = key.rpartition("/")[2]
        if kind == kinds.POD_TEMPLATE:
            return Unresolved(WhyUnresolved.POD_TEMPLATE_NOT_FOUND, f'PodTemplate "{name}" not found')
        return Unresolved(WhyUnresolved.SCALABLE_REF_NOT_FOUND, f'{kind.kind}.{kind.group} "{name}" not found')
    try:
        return _resolved(buffer, target, is_template=kind == kinds.POD_TEMPLATE)
    except InvalidObject as error:
        return Unresolved(WhyUnresolved.RESOLUTION_FAILED, str(error))


def _resolved(buffer: CapacityBuffer, target: RawObject, *, is_template: bool) -> Resolved:
    if is_template:
        found = decode(target, PodTemplate)
        template, scale, meta, path = found.template, None, found.metadata, "template.spec"
    else:
        workload = decode(target, Scalable)
        template, scale, meta, path = workload.spec.template, workload.replicas, None, "spec.template.spec"
    template = msgspec.structs.replace(template, spec=with_default_requests(template.spec))
    try:
        chunk = pod_requests(template.spec)
    except InvalidObject as error:
        raise error.at(path=path, object_name=describe(target)) from None
    return Resolved(_replicas(buffer, chunk, scale), template, meta)


def _replicas(buffer: CapacityBuffer, chunk: Resources, scale: int | None) -> int:
    """The most of what is asked for, cut down to the limits; these alone decide where nothing else is said."""
    spec = buffer.spec
    asked = [] if spec.replicas is None else [spec.replicas]
    if spec.percentage is not None and scale is not None:
        asked.append(-(-max(scale, 0) * spec.percentage // 100))
    fitting = [amount // chunk[name] for name, amount in (buffer.limits or {}).items() if chunk.get(name, 0) > 0]
    if not asked and spec.limits is not None and not fitting:
        raise InvalidObject(
            f"found {', '.join(spec.limits) or 'none'}, of which the pods ask for nothing",
            path="spec.limits",
            object_name=f"CapacityBuffer/{buffer.key}",
            accepted="a resource that the pods ask for, or replicas beside the limits",
        )
    counts = [max(asked)] if asked else []
    replicas = min((*counts, *fitting), default=0)
    if replicas > MOST_REPLICAS:
        raise InvalidObject(
            f"found a wish for {replicas} pods",
            object_name=f"CapacityBuffer/{buffer.key}",
            accepted=f"{MOST_REPLICAS} at most",
        )
    return replicas


def _virtual_pods(owner: ObjectMeta, found: Resolved) -> tuple[Pod, ...]:
    """The pods of a buffer: the same names, uids and order whenever they are made of the same buffer and template."""
    spec = found.template.spec
    kept = tuple(volume for volume in spec.volumes if not (volume.persistent_volume_claim or volume.ephemeral))
    spec = msgspec.structs.replace(spec, node_name="", volumes=kept, priority=LOWEST_PRIORITY)
    marks = {labels.BUFFER_POD: "true", labels.BUFFER_NAME: owner.name, labels.BUFFER_NAMESPACE: owner.namespace}
    status = msgspec.structs.replace(Pod(ObjectMeta()).status, phase="Pending", conditions=_WAITS)
    return tuple(
        Pod(
            ObjectMeta(
                name=f"capacity-buffer-{owner.name}-{number}",
                namespace=owner.namespace,
                uid=f"{owner.uid or owner.key}-{number}",
                creation_timestamp=owner.creation_timestamp,
                labels=found.template.metadata.labels,
                annotations=marks,
            ),
            spec,
            status,
        )
        for number in range(1, found.replicas + 1)
    )
