"""Taints, tolerations, and whether the one is borne by the other (the Kubernetes rules)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec

from karpy import labels

__all__ = ["DISRUPTED", "UNREGISTERED", "Taint", "Toleration", "is_ephemeral", "merge_taints", "untolerated"]

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)

_INTEGER = re.compile(r"^(0|-?[1-9][0-9]*)$")


class Taint(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: str
    value: str | None = None
    effect: str = ""

    def matches(self, other: Taint) -> bool:
        """Same key and effect: the two cannot stand side by side on a node."""
        return self.key == other.key and self.effect == other.effect

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}" if self.effect else f"{self.key}{value}"


class Toleration(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """A pod's leave to ignore taints."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None

    def tolerates(self, taint: Taint) -> bool:
        """The rule of ``v1.Toleration.ToleratesTaint``, with the comparison operators Gt and Lt enabled."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        value, found = self.value or "", taint.value or ""
        if self.operator in (None, "", "Equal"):
            return value == found
        if self.operator == "Exists":
            return True
        if self.operator in ("Gt", "Lt"):
            return _compares(self.operator, wanted=value, found=found)
        return False


def _compares(operator: str, *, wanted: str, found: str) -> bool:
    if not (_INTEGER.match(wanted) and _INTEGER.match(found)):
        return False
    return int(found) > int(wanted) if operator == "Gt" else int(found) < int(wanted)


DISRUPTED = Taint(labels.DISRUPTED_TAINT, effect=NO_SCHEDULE)
UNREGISTERED = Taint(labels.UNREGISTERED_TAINT, effect=NO_EXECUTE)

_EPHEMERAL = (
    Taint("node.kubernetes.io/not-ready", effect=NO_SCHEDULE),
    Taint("node.kubernetes.io/not-ready", effect=NO_EXECUTE),
    Taint("node.kubernetes.io/unreachable", effect=NO_SCHEDULE),
    Taint("node.cloudprovider.kubernetes.io/uninitialized", effect=NO_SCHEDULE),
    UNREGISTERED,
)
_READINESS_PREFIX = "readiness.k8s.io/"


def is_ephemeral(taint: Taint) -> bool:
    """Whether the taint is one of those that come and go by themselves while a node starts."""
    if taint.key.startswith(_READINESS_PREFIX):
        return True
    return any(taint.matches(known) for known in _EPHEMERAL)


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint (of any effect) that no toleration bears, or None."""
    for taint in taints:
        if not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def merge_taints(taints: Iterable[Taint], more: Iterable[Taint]) -> tuple[Taint, ...]:
    """``taints`` and those of ``more`` whose key and effect are not there yet."""
    merged = list(taints)
    for taint in more:
        if not any(taint.matches(present) for present in merged):
            merged.append(taint)
    return tuple(merged)
