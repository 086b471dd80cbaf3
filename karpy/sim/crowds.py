"""Objects in groups, such as those with the same controlling owner, and what is asked about a group again and again, counted as
its members change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import attrs

from karpy.kube.client import RawObject
from karpy.sim.podfacts import is_active, is_ready

__all__ = ["Crowd", "Group", "Groups", "Key"]

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""
_Labels = tuple[tuple[str, str], ...]


@attrs.frozen
class _Fact:
    """What counts about one member."""

    labels: _Labels
    is_active: bool
    is_ready: bool
    node: str


@attrs.define(eq=False)
class Group:
    """The members, in the order in which they came."""

    members: dict[Key, RawObject] = attrs.field(factory=dict)

    def put(self, key: Key, obj: RawObject) -> None:
        self.members[key] = obj

    def remove(self, key: Key) -> None:
        del self.members[key]


@attrs.define(eq=False)
class Crowd(Group):
    """A group that also counts: of pods, how many are active, how many of those are ready, and how many are on each node."""

    active: int = 0
    ready: int = 0
    by_node: Counter[str] = attrs.field(factory=Counter)
    """Active ones; those without a node under the empty name."""
    _facts: dict[Key, _Fact] = attrs.field(factory=dict)
    _labels: Counter[_Labels] = attrs.field(factory=Counter)

    def put(self, key: Key, obj: RawObject) -> None:
        old = self._facts.get(key)
        new = _fact(obj) if old is None else _fact(obj, self.members[key], old)
        self.members[key] = obj
        if old == new:
            return
        if old is not None:
            self._count(old, -1)
        self._facts[key] = new
        self._count(new, 1)

    def remove(self, key: Key) -> None:
        del self.members[key]
        self._count(self._facts.pop(key), -1)

    def any_labels(self, test: Callable[[Mapping[str, str]], bool]) -> bool:
        """Whether the labels of any member pass; members with the same labels are asked once."""
        return any(test(dict(labels)) for labels in self._labels)

    def _count(self, fact: _Fact, sign: int) -> None:
        self.active += sign * fact.is_active
        self.ready += sign * fact.is_ready
        if fact.is_active:
            self.by_node[fact.node] += sign
            if not self.by_node[fact.node]:
                del self.by_node[fact.node]
        self._labels[fact.labels] += sign
        if not self._labels[fact.labels]:
            del self._labels[fact.labels]


def _fact(obj: RawObject, before: RawObject | None = None, known: _Fact | None = None) -> _Fact:
    """``known`` is what counted about it ``before``: labels that were not touched are not sorted again."""
    active, own = is_active(obj), obj["metadata"].get("labels")
    if known is not None and before is not None and before["metadata"].get("labels") is own:
        labels = known.labels
    else:
        labels = tuple(sorted((own or {}).items()))
    return _Fact(labels, active, active and is_ready(obj), (obj.get("spec") or {}).get("nodeName", ""))


G = TypeVar("G", bound=Group)


class Groups(Generic[G]):
    """Groups by a word: the uid of their owner, for example. Each object is in one of them."""

    def __init__(self, make: Callable[[], G]) -> None:
        self._make = make
        self._groups: dict[str, G] = {}
        self._word: dict[Key, str] = {}
        self._nobody = make()

    def put(self, key: Key, word: str, obj: RawObject) -> None:
        old = self._word.get(key)
        if old != word:
            if old is not None:
                self.remove(key)
            self._word[key] = word
        group = self._groups.get(word)
        if group is None:
            group = self._groups[word] = self._make()
        group.put(key, obj)

    def remove(self, key: Key) -> None:
        word = self._word.pop(key, None)
        if word is None:
            return
        group = self._groups[word]
        group.remove(key)
        if not group.members:
            del self._groups[word]

    def word_of(self, key: Key) -> str | None:
        """The word of the group that the object is in."""
        return self._word.get(key)

    def of(self, word: str) -> G:
        """The group of this word; an empty one if there is none."""
        return self._groups.get(word, self._nobody)
