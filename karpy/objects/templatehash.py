"""The hash of a NodePool's template, by which a change of it is told from a change of what a node need not follow.

It is the number that Karpenter writes into ``karpenter.sh/nodepool-hash`` (version v3), so that nodes which Karpenter launched
do not count as drifted when karpy takes over, nor the other way round: FNV-1 over names and values, where fields of a struct
are chained in their order, and entries of maps and lists are mixed so that their order plays no part. What is not set does not
count, and neither do the requirements, which are compared with the node itself.

Source: core specification 1.2.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from typing import Final

from karpy import labels
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.taints import Taint

__all__ = ["HASH_VERSION", "hash_annotations", "template_hash"]

HASH_VERSION: Final = "v3"
"""Goes into ``karpenter.sh/nodepool-hash-version``: hashes of another version say nothing about drift."""

_OFFSET, _PRIME, _BITS64 = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
_NANO = 10**9


def hash_annotations(pool: NodePool) -> dict[str, str]:
    """What says on a pool, and on each claim made from it, what the template was."""
    return {labels.NODEPOOL_HASH: template_hash(pool), labels.NODEPOOL_HASH_VERSION: HASH_VERSION}


def template_hash(pool: NodePool) -> str:
    """The hash of the pool's template, as the annotation has it.

    A list or map that is there but empty counts as not set. So does an expiry of ``Never``.
    """
    metadata = _struct("ObjectMeta", (("Labels", _map(pool.labels)), ("Annotations", _map(pool.annotations))))
    grace, expire = pool.termination_grace_period_s, pool.expire_after_s
    spec = _struct(
        "NodeClaimTemplateSpec",
        (
            ("Taints", _set(pool.taints)),
            ("StartupTaints", _set(pool.startup_taints)),
            ("NodeClassRef", _reference(pool.node_class)),
            ("TerminationGracePeriod", None if grace is None else _duration("Duration", grace)),
            ("ExpireAfter", None if expire is None else _duration("NillableDuration", expire)),
        ),
    )
    named = metadata if pool.labels or pool.annotations else None
    return str(_struct("NodeClaimTemplate", (("ObjectMeta", named), ("Spec", spec))))


def _reference(ref: NodeClassRef) -> int:
    return _struct(
        "NodeClassReference", (("Kind", _text(ref.kind)), ("Name", _text(ref.name)), ("Group", _text(ref.group)))
    )


def _taint(taint: Taint) -> int:
    value = _text(taint.value or "")
    return _struct("Taint", (("Key", _text(taint.key)), ("Value", value), ("Effect", _text(taint.effect))))


def _duration(name: str, seconds: float) -> int:
    nanos = round(seconds * _NANO)
    # Karpenter's type for "a duration or Never" holds a pointer, and a pointer to zero is not nothing.
    is_set = nanos or name == "NillableDuration"
    return _struct(name, (("Duration", _fnv(nanos.to_bytes(8, "little", signed=True)) if is_set else None),))


def _struct(name: str, fields: Iterable[tuple[str, int | None]]) -> int:
    """``fields``: name and hash of the value, None where it is not set."""
    mixed = _fnv(name.encode())
    for field, value in fields:
        if value is not None:
            mixed = _numbers(mixed ^ _numbers(_fnv(field.encode()), value))
    return mixed


def _set(taints: Iterable[Taint]) -> int | None:
    hashes = [_taint(taint) for taint in taints]
    return functools.reduce(operator.xor, hashes) if hashes else None


def _map(entries: Mapping[str, str]) -> int | None:
    pairs = [_numbers(_fnv(key.encode()), _fnv(value.encode())) for key, value in entries.items()]
    return _numbers(functools.reduce(operator.xor, pairs)) if pairs else None


def _text(text: str) -> int | None:
    return _fnv(text.encode()) if text else None


def _numbers(*hashes: int) -> int:
    return _fnv(b"".join(number.to_bytes(8, "little") for number in hashes))


def _fnv(data: bytes) -> int:
    mixed = _OFFSET
    for byte in data:
        mixed = (mixed * _PRIME & _BITS64) ^ byte
    return mixed
