"""Which pods a budget covers, counted as they come, change and go: a budget is looked at after every event of its pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import attrs

from karpy.kube.client import RawObject
from karpy.sim.api.selectors import selector_test
from karpy.sim.cache import Key, controller_of, key_of
from karpy.sim.crowds import Crowd, Groups

__all__ = ["Covered", "Flock", "Owner", "owners_of"]

Owner = tuple[str, str, str, str]
"""API version, kind, name and uid of the controller of pods."""
_NOBODY: Owner = ("", "", "", "")


@attrs.define(eq=False)
class Flock(Crowd):
    """Pods of one namespace that have the same labels; how many of them each owner has is counted too."""

    owners: Counter[Owner] = attrs.field(factory=Counter)

    def put(self, key: Key, obj: RawObject) -> None:
        old = self.members.get(key)
        if old is None or old["metadata"]["uid"] != obj["metadata"]["uid"]:
            self._count_owner(old, -1)
            self._count_owner(obj, 1)
        super().put(key, obj)

    def remove(self, key: Key) -> None:
        self._count_owner(self.members[key], -1)
        super().remove(key)

    def _count_owner(self, pod: RawObject | None, sign: int) -> None:
        if pod is None:
            return
        owner = _owner_of(pod)
        self.owners[owner] += sign
        if not self.owners[owner]:
            del self.owners[owner]


@attrs.frozen(eq=False)
class Covered:
    """The pods and the budgets of one namespace."""

    _flocks: Groups[Flock] = attrs.field(factory=lambda: Groups(Flock))
    _labels: dict[str, Mapping[str, str]] = attrs.field(factory=dict)
    """Of each flock, by its word."""
    _tests: dict[str, Callable[[Mapping[str, str]], bool]] = attrs.field(factory=dict)
    """What each budget chooses pods by."""
    _generations: dict[str, tuple[str, int]] = attrs.field(factory=dict)
    _budgets_of: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """The names of the budgets that cover a flock, as far as it was asked for."""
    _words_of: dict[str, tuple[str, ...]] = attrs.field(factory=dict)
    """The other way round: the words of the flocks that a budget covers."""

    def take_budget(self, budget: RawObject, *, is_gone: bool) -> None:
        metadata = budget["metadata"]
        name, version = metadata["name"], (metadata["uid"], metadata.get("generation", 0))
        if is_gone:
            self._tests.pop(name, None)
            self._generations.pop(name, None)
        elif self._generations.get(name) == version:
            return  # only its status is new
        else:
            self._generations[name] = version
            self._tests[name] = selector_test((budget.get("spec") or {}).get("selector"))
        self._budgets_of.clear()
        self._words_of.clear()

    def take_pod(self, pod: RawObject, *, is_gone: bool) -> tuple[str, ...]:
        """Returns the names of the budgets to which it matters."""
        key, labels = key_of(pod), pod["metadata"].get("labels") or {}
        word = self._flocks.word_of(key)
        if word is None or self._labels[word] != labels:
            word = repr(sorted(labels.items()))
        if is_gone:
            self._flocks.remove(key)
        else:
            if word not in self._labels:
                self._labels[word] = labels
                self._words_of.clear()
            self._flocks.put(key, word, pod)
        return self._covering(word, labels)

    @property
    def budgets(self) -> Collection[str]:
        return self._tests

    def flocks(self, budget: str) -> Sequence[Flock]:
        """The pods that a budget covers."""
        words = self._words_of.get(budget)
        if words is None:
            found = (word for word, labels in self._labels.items() if budget in self._covering(word, labels))
            words = self._words_of[budget] = tuple(found)
        return [flock for word in words if (flock := self._flocks.of(word)).members]

    def pod(self, budget: str, key: Key) -> RawObject | None:
        """The pod of this name, if the budget covers it."""
        return next((flock.members[key] for flock in self.flocks(budget) if key in flock.members), None)

    def _covering(self, word: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        found = self._budgets_of.get(word)
        if found is None:
            found = self._budgets_of[word] = tuple(name for name, test in self._tests.items() if test(labels))
        return found


def owners_of(flocks: Sequence[Flock]) -> Iterator[Owner | None]:
    """Whose the pods are, each once; None if some are nobody's."""
    for owner in dict.fromkeys(owner for flock in flocks for owner in flock.owners):
        yield None if owner == _NOBODY else owner


def _owner_of(pod: RawObject) -> Owner:
    owner = controller_of(pod)
    return _NOBODY if owner is None else (owner["apiVersion"], owner["kind"], owner["name"], owner["uid"])
