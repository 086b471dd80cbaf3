"""What machines turned out to have where that is less than their type promises, as they tell when they join.

Without this, a pod that just fits on a machine as promised would bring one machine after another that it does not fit on.
"""

from __future__ import annotations

import attrs

from karpy.cloud.instancetype import InstanceType, InstanceTypes
from karpy.objects.nodepool import NodeClassRef
from karpy.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources

__all__ = ["Measured"]

_MEASURED = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
"""What a kubelet finds on its machine; extended resources may only be late."""


class Measured:
    """By node class and type: images reserve differently."""

    def __init__(self) -> None:
        self._room: dict[NodeClassRef, dict[str, Resources]] = {}

    def note(self, node_class: NodeClassRef, type_: str, promised: Resources, found: Resources) -> None:
        """A machine of this type was to have ``promised`` for pods, and has ``found``."""
        known = self._room.get(node_class, {}).get(type_, promised)
        less = {
            name: min(found[name], known[name]) for name in _MEASURED if 0 < found.get(name, 0) < promised.get(name, 0)
        }
        if less:
            room = Resources({**{name: known[name] for name in _MEASURED if name in known}, **less})
            self._room.setdefault(node_class, {})[type_] = room

    def applied(self, node_class: NodeClassRef, types: InstanceTypes) -> InstanceTypes:
        """The catalog as machines are; the same object while nothing was learned."""
        room = self._room.get(node_class)
        return types.derived(_AsMeasured(tuple(sorted(room.items(), key=lambda item: item[0])))) if room else types


@attrs.frozen
class _AsMeasured:
    """Makes the types of a catalog smaller; equal ones are remembered on the catalog once."""

    room: tuple[tuple[str, Resources], ...]

    def __call__(self, types: InstanceTypes) -> InstanceTypes:
        room = dict(self.room)
        return InstanceTypes(_smaller(each, room[each.name]) if each.name in room else each for each in types)


def _smaller(type_: InstanceType, room: Resources) -> InstanceType:
    """The type with no more than ``room`` for pods."""
    missing = {
        name: type_.allocatable[name] - most for name, most in room.items() if type_.allocatable.get(name, 0) > most
    }
    if not missing:
        return type_
    return attrs.evolve(type_, capacity=type_.capacity - Resources(missing))
