"""Objects as the API server sends them, read from the bytes without a detour through dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from karpy.errors import InvalidObject
from karpy.objects import kinds
from karpy.objects.kinds import Kind
from karpy.objects.meta import ObjectMeta, Wire
from karpy.objects.node import Node
from karpy.objects.pod import Pod
from karpy.objects.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from karpy.objects.workloads import DaemonSet, PodDisruptionBudget

__all__ = ["Found", "key_of", "read_objects"]

_DECODED: tuple[tuple[Kind, type[Wire]], ...] = (
    (kinds.POD, Pod),
    (kinds.NODE, Node),
    (kinds.DAEMON_SET, DaemonSet),
    (kinds.POD_DISRUPTION_BUDGET, PodDisruptionBudget),
    (kinds.PERSISTENT_VOLUME_CLAIM, PersistentVolumeClaim),
    (kinds.PERSISTENT_VOLUME, PersistentVolume),
    (kinds.STORAGE_CLASS, StorageClass),
    (kinds.CSI_NODE, CSINode),
    (kinds.VOLUME_ATTACHMENT, VolumeAttachment),
)
_DECODERS: Mapping[tuple[str, str], msgspec.json.Decoder[Wire]] = {
    (kind.group, kind.kind): msgspec.json.Decoder(type_) for kind, type_ in _DECODED
}

_MIXED = "List"
"""The kind of a list whose items say themselves what they are, as kubectl prints several objects."""


@attrs.frozen
class Found:
    """One object and what it is. ``object`` is decoded, or raw JSON if it is of a kind, or in a state, that is not decoded here."""

    group: str
    kind: str
    object: Any

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Found:
        """A raw object, which says itself what it is."""
        return cls(str(obj.get("apiVersion", "")).rpartition("/")[0], str(obj.get("kind", "")), obj)


class _Head(Wire, frozen=True):
    kind: str = ""
    api_version: str = ""


_STARTS = re.compile(rb'\{"kind":"(\w+)","apiVersion":"([\w./-]+)"')
"""How the API server begins, so that a list need not be gone through only to know what it is."""


class _RawItems(Wire, frozen=True):
    items: tuple[msgspec.Raw, ...] = ()


def read_objects(data: bytes | msgspec.Raw) -> Iterator[Found]:
    """The objects of a list, of one kind or of many, or the single object that ``data`` is.

    One that cannot be decoded does not stop the others: it is given as raw JSON, and whoever reads that says what is wrong.

    Raises:
        InvalidObject: it is not JSON, or neither an object nor a list.
    """
    try:
        head = _head(data)
        if head.kind == _MIXED:
            for item in _items(data):
                yield from read_objects(item)
            return
        group = head.api_version.rpartition("/")[0]
        kind = head.kind.removesuffix(_MIXED)
        decoder = _DECODERS.get((group, kind))
        # Each object by itself: what is made of it is then still at hand for whoever takes it in.
        sources: Iterable[bytes | msgspec.Raw] = _items(data) if head.kind != kind else (data,)
        for source in sources:
            obj = _object(source, decoder)
            if isinstance(obj, dict):  # in a list of its kind it need not say what it is
                obj = {**obj, "apiVersion": head.api_version, "kind": kind}
            elif not isinstance(obj, Wire):
                raise InvalidObject(f"{obj!r} is not an object", object_name=kind, accepted="a JSON object")
            yield Found(group, kind, obj)
    except msgspec.DecodeError as error:
        raise InvalidObject(f"not a Kubernetes object: {error}") from None


def _head(data: bytes | msgspec.Raw) -> _Head:
    begins = _STARTS.match(data)
    if begins is not None:
        return _Head(begins[1].decode(), begins[2].decode())
    return msgspec.json.decode(data, type=_Head)


def _items(data: bytes | msgspec.Raw) -> tuple[msgspec.Raw, ...]:
    return msgspec.json.decode(data, type=_RawItems).items


def _object(data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Wire] | None) -> Any:
    if decoder is not None:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError:
            pass
    return msgspec.json.decode(data)


def key_of(obj: Any) -> str:
    """``namespace/name`` of an object, raw or decoded, or its name alone; empty when it has none that can be read."""
    if isinstance(obj, Wire):
        metadata: ObjectMeta = obj.metadata  # type: ignore[attr-defined]  # every object has it
        return metadata.key if metadata.name else ""
    named = obj.get("metadata") if isinstance(obj, (dict, Mapping)) else None
    if not isinstance(named, (dict, Mapping)):
        return ""
    namespace, name = named.get("namespace") or "", named.get("name")
    if not (isinstance(name, str) and isinstance(namespace, str)):
        return ""
    return f"{namespace}/{name}" if namespace and name else name
