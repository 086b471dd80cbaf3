"""What happened in one run of a scenario: every write to the objects that count, in order, and every log line.

A recording of Karpenter and a run of karpy in a world are the same thing here, so that they can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

__all__ = ["Change", "Counted", "LogLine", "Tape", "condition_of", "key_of"]

Json = Mapping[str, Any]


@attrs.frozen(eq=False)
class Change:
    """One write to one object: what it was and what it is. ``before`` is None when it was made, ``after`` when it went."""

    at: float
    kind: str
    key: str
    before: Json | None
    after: Json | None

    @property
    def object(self) -> Json:
        """As it is; one that went as it was last."""
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


@attrs.frozen
class LogLine:
    """``fields`` are the keys beside the message and what tells where the line comes from."""

    level: str
    controller: str
    message: str
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, line: Json) -> LogLine:
        """A line as it is written."""
        fields = {key: value for key, value in line.items() if key not in _OF_EVERY_LINE}
        return cls(line["level"], line.get("controller", ""), line["message"], fields)


_OF_EVERY_LINE = frozenset({"caller", "commit", "controller", "controllerGroup", "controllerKind", "level", "logger"})
_OF_EVERY_LINE |= {"message", "name", "namespace", "reconcileID", "time"}
"""Keys that tell which look at which object wrote a line, or when."""


@attrs.frozen
class Counted:
    """A counter that stands above zero for these labels."""

    counter: str
    labels: Mapping[str, str]


@attrs.define(eq=False)
class Tape:
    """One run."""

    scenario: str
    changes: list[Change] = attrs.field(factory=list)
    log: list[LogLine] = attrs.field(factory=list)
    counted: list[Counted] | None = attrs.field(factory=list)
    """None where nobody looked."""

    def of(self, *kinds: str) -> Iterator[Change]:
        return (change for change in self.changes if change.kind in kinds)

    def histories(self, *kinds: str) -> dict[tuple[str, str, str], list[Change]]:
        """The changes of each object of these kinds, by kind, key and uid: a name may come again."""
        found: dict[tuple[str, str, str], list[Change]] = {}
        for change in self.of(*kinds):
            found.setdefault((change.kind, change.key, change.object["metadata"].get("uid", "")), []).append(change)
        return found

    def remain(self, kind: str) -> list[Json]:
        """The objects of a kind that are there at the end."""
        last = (changes[-1].after for changes in self.histories(kind).values())
        return [obj for obj in last if obj is not None]


def key_of(obj: Json) -> str:
    namespace = obj["metadata"].get("namespace", "")
    name = obj["metadata"]["name"]
    return f"{namespace}/{name}" if namespace else str(name)


def condition_of(obj: Json, type_: str) -> Json | None:
    conditions: Iterable[Json] = (obj.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == type_), None)
