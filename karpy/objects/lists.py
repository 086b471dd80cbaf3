"""Objects as the API server sends them, read from the bytes without a detour through dictionaries."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import Wire
from karpy.objects.node import Node
from karpy.objects.pod import Pod
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpy.objects.workloads import DaemonSet, PodDisruptionBudget

__all__ = ["Found", "read_objects"]

_DECODED: tuple[tuple[Kind, type[Wire]], ...] = (
    (kinds.POD, Pod),
    (kinds.NODE, Node),
    (kinds.DAEMON_SET, DaemonSet),
    (kinds.POD_DISRUPTION_BUDGET, PodDisruptionBudget),
    (kinds.PERSISTENT_VOLUME_CLAIM, PersistentVolumeClaim),
    (kinds.PERSISTENT_VOLUME, PersistentVolume),
    (kinds.STORAGE_CLASS, StorageClass),
    (kinds.CSI_NODE, CSINode),
)
_TYPES: Mapping[tuple[str, str], type[Wire]] = {(kind.group, kind.kind): type_ for kind, type_ in _DECODED}

_MIXED = "List"
"""The kind of a list whose items say themselves what they are, as kubectl prints several objects."""


@attrs.frozen
class Found:
    """One object and what it is. ``object`` is decoded, or raw JSON if it is of a kind, or in a state, that is not decoded here."""

    group: str
    kind: str
    object: Any


class _Head(Wire, frozen=True):
    kind: str = ""
    api_version: str = ""


class _RawItems(Wire, frozen=True):
    items: tuple[msgspec.Raw, ...] = ()


def read_objects(data: bytes | msgspec.Raw) -> Iterator[Found]:
    """The objects of a list, of one kind or of many, or the single object that ``data`` is.

    One that cannot be decoded does not stop the others: it is given as raw JSON, and whoever reads that says what is wrong.

    Raises:
        InvalidObject: it is not JSON, or neither an object nor a list.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.kind == _MIXED:
            for item in msgspec.json.decode(data, type=_RawItems).items:
                yield from read_objects(item)
            return
        group = head.api_version.rpartition("/")[0]
        kind = head.kind.removesuffix(_MIXED)
        type_ = _TYPES.get((group, kind))
        objects = _items(data, type_) if head.kind != kind else (_object(data, type_),)
    except msgspec.DecodeError as error:
        raise InvalidObject(f"not a Kubernetes object: {error}") from None
    for obj in objects:
        # What is in a list of its kind need not say so.
        named = {**obj, "apiVersion": head.api_version, "kind": kind} if isinstance(obj, dict) else obj
        yield Found(group, kind, named)


def _items(data: bytes | msgspec.Raw, type_: type[Wire] | None) -> Iterable[Any]:
    if type_ is not None:
        try:
            decoded: Any = msgspec.json.decode(data, type=_list_of(type_))
            found: tuple[Wire, ...] = decoded.items
            return found
        except msgspec.ValidationError:  # one of them is not as it should be; they are looked at one by one
            pass
    return [_object(item, type_) for item in msgspec.json.decode(data, type=_RawItems).items]


def _object(data: bytes | msgspec.Raw, type_: type[Wire] | None) -> Any:
    if type_ is not None:
        try:
            return msgspec.json.decode(data, type=type_)
        except msgspec.ValidationError:
            pass
    return msgspec.json.decode(data)


@functools.cache
def _list_of(type_: type[Wire]) -> type[msgspec.Struct]:
    return msgspec.defstruct(f"{type_.__name__}List", [("items", tuple[type_, ...], ())], frozen=True)  # type: ignore[valid-type]
