"""Pods of one workload are alike but for their names and places: what is equal in them is kept, and worked out, once.

A cluster has a hundred times as many pods as templates of pods.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

import attrs
import msgspec

from karpy.objects.meta import OwnerReference, decode
from karpy.objects.pod import Pod, PodGroup
from karpy.objects.podspec import ContainerStatus, PodCondition, PodSpec
from karpy.resources import Resources

__all__ = ["Sharing"]

T = TypeVar("T")

_MOST = 1 << 13
"""How many different values of one sort are remembered: those that name their pod, and are never met again, would pile up."""

_encode = msgspec.msgpack.Encoder().encode
_replace = msgspec.structs.replace


class _Table(Generic[T]):
    """Values by what tells them apart. When there are too many it starts anew: that shares less, and changes nothing else."""

    def __init__(self) -> None:
        self._known: dict[Hashable, T] = {}

    def get(self, key: Hashable) -> T | None:
        return self._known.get(key)

    def keep(self, key: Hashable, value: T) -> T:
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = value
        return value

    def first(self, key: Hashable, value: T) -> T:
        """The first value that came with this key."""
        known = self._known.get(key)
        return self.keep(key, value) if known is None else known


@attrs.frozen(eq=False)
class _Shape:
    """What the pods of a template share that are as far: the spec without a place, conditions, what their containers were granted,
    and what it comes to."""

    spec: PodSpec
    conditions: tuple[PodCondition, ...]
    containers: tuple[ContainerStatus, ...]
    init_containers: tuple[ContainerStatus, ...]
    requests: Resources


@attrs.frozen(eq=False)
class _Marks:
    """What the metadata of a workload's pods have in common."""

    group: PodGroup
    labels: dict[str, str] | None
    annotations: dict[str, str] | None
    owners: tuple[OwnerReference, ...]


class Sharing:
    """Makes equal parts of pods the same objects."""

    def __init__(self) -> None:
        self._shapes: _Table[_Shape] = _Table()
        self._marks: _Table[_Marks] = _Table()
        self._labels: _Table[tuple[dict[str, str] | None, PodGroup]] = _Table()
        self._annotations: _Table[dict[str, str]] = _Table()
        self._owners: _Table[tuple[OwnerReference, ...]] = _Table()
        self._names: _Table[str] = _Table()

    def pod(self, obj: Pod | Mapping[str, Any]) -> Pod:
        """A pod that shares what it can and knows its requests, of raw JSON or of an equal pod that was read from JSON.

        Raises:
            InvalidObject: it cannot be read, or its requests cannot.
        """
        pod = obj if isinstance(obj, Pod) else _converted(obj)
        spec, meta, status = pod.spec, pod.metadata, pod.status
        try:
            bare = _replace(spec, node_name="", volumes=())
            granted = (status.container_statuses, status.init_container_statuses)
            key = _encode((bare, status.conditions, granted))
            known_by = _encode((meta.namespace, meta.labels, meta.annotations, meta.owner_references))
            if pod is not obj:
                rest = _replace(status, conditions=(), container_statuses=(), init_container_statuses=())
                _encode((meta, spec.node_name, spec.volumes, rest))  # text that is none is found here
        except (OverflowError, UnicodeEncodeError):
            # A number or a text beyond what can be written down stays by itself, unless it cannot even be JSON.
            pod = decode(obj, Pod) if isinstance(obj, Mapping) else obj
            pod.requests  # noqa: B018  (read here, so that a pod that cannot be read is refused)
            return pod
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes.keep(key, _Shape(bare, status.conditions, *granted, pod.requests))
        marks = self._marks.get(known_by) or self._marks.keep(known_by, self._marks_of(pod))
        name = self._names.first
        shared = Pod(
            _replace(
                meta,
                namespace=marks.group[0],
                labels=marks.labels,
                annotations=marks.annotations,
                owner_references=marks.owners,
            ),
            _replace(shape.spec, node_name=name(spec.node_name, spec.node_name), volumes=spec.volumes),
            _replace(
                status,
                conditions=shape.conditions,
                container_statuses=shape.containers,
                init_container_statuses=shape.init_containers,
            ),
        )
        # Filled in where the properties of these names remember their answers.
        shared.__dict__["requests"] = shape.requests
        shared.__dict__["group"] = marks.group
        return shared

    def _marks_of(self, pod: Pod) -> _Marks:
        labels, group = self._labels_of(pod)
        owners = pod.metadata.owner_references
        return _Marks(group, labels, self._annotations_of(pod), self._owners.first(owners, owners))

    def _labels_of(self, pod: Pod) -> tuple[dict[str, str] | None, PodGroup]:
        own = pod.metadata.labels
        key = (pod.metadata.namespace, tuple(own.items()) if own is not None else None)
        return self._labels.get(key) or self._labels.keep(key, (own, pod.group))

    def _annotations_of(self, pod: Pod) -> dict[str, str] | None:
        own = pod.metadata.annotations
        return self._annotations.first(tuple(own.items()), own) if own is not None else None


def _converted(raw: Mapping[str, Any]) -> Pod:
    """A pod of raw JSON that may hold text that is none."""
    try:
        return msgspec.convert(raw, type=Pod)
    except (msgspec.ValidationError, RecursionError):
        return decode(raw, Pod)  # which has other means, or says what is wrong
