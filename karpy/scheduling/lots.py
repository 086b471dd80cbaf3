"""Pods of one class that wait for a place: what is taken off is placed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import msgspec

from karpy.objects.pod import Pod
from karpy.resources import total
from karpy.scheduling.classes import PodClass

__all__ = ["Lot", "gathered", "in_single_file"]


class Lot(msgspec.Struct, eq=False, gc=False):
    """Pods that are alike, the first of them first. ``unit`` of them are placed together, and ask for what the class says."""

    pod_class: PodClass
    _pods: Sequence[Pod]
    unit: int = 1
    _position: int = 0

    @classmethod
    def of_all(cls, lots: Iterable[Lot]) -> Lot:
        """The pods of several lots, whose constraints are the same, as one unit."""
        lots = tuple(lots)
        needed = total(amounts for lot in lots for amounts in itertools.repeat(lot.pod_class.requests, len(lot)))
        pods = [pod for lot in lots for pod in lot.pods]
        asked = tuple((name, amount) for name, amount in needed.items() if amount)
        barred = frozenset().union(*(lot.pod_class.barred for lot in lots))
        first = lots[0].pod_class
        everyone = msgspec.structs.replace(first, requests=needed, amounts=asked, pods=pods, barred=barred)
        return cls(everyone, pods, len(pods))

    def __len__(self) -> int:
        """How many pods wait still."""
        return len(self._pods) - self._position

    @property
    def pods(self) -> Sequence[Pod]:
        """Those that wait still."""
        return self._pods[self._position :] if self._position else self._pods

    def take(self, units: int = 1) -> Sequence[Pod]:
        """The next pods; they wait no longer."""
        start = self._position
        self._position = start + units * self.unit
        return self._pods[start : self._position]


def gathered(lots: Iterable[Lot], gathers: Callable[[Lot], bool]) -> Iterator[tuple[Lot, ...]]:
    """Each lot, in order; those whose pods want to be on one host with each other come together, where the first of them stands.

    ``gathers`` says which lots are such; they belong together when all but their size is the same.
    """
    companions: dict[Hashable, list[Lot]] = {}
    for lot in lots:
        found = lot.pod_class
        alike = (found.constraints, found.selected_by) if gathers(lot) and not found.attachments else lot
        companions.setdefault(alike, []).append(lot)
    return iter(map(tuple, companions.values()))


def in_single_file(lots: Iterable[Lot]) -> list[Lot]:
    """The same pods one after another, each where its size and age put it: only neighbours that are alike stay one lot."""
    lots = tuple(lots)
    found = [
        ((*lot.pod_class.largest, pod.metadata.created, pod.metadata.uid), number, pod)
        for number, lot in enumerate(lots)
        for pod in lot.pods
    ]
    found.sort(key=lambda entry: entry[:2])
    return [
        Lot(lots[number].pod_class, [pod for _, _, pod in neighbours])
        for number, neighbours in itertools.groupby(found, key=lambda entry: entry[1])
    ]
