"""Reading the recordings: what Karpenter wrote to a real API server, and its log."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from karpy.sim.api.merging.patches import merge_patch
from tests.scenarios.lifecycle.tape import Change, Counted, LogLine, Tape, key_of

__all__ = ["Recording", "Written", "scenarios"]

Json = Mapping[str, Any]

_FOLDER = "data/vectors/lifecycle"
_RUNTIMES_LINES = ("Starting ", "All workers finished", "Shutdown signal")


@attrs.frozen(eq=False)
class Written:
    """What the user, or one who was played, wrote: an object, or for a change what he wrote over it."""

    at: float
    by: tuple[str, ...]
    type: str
    obj: Json
    patch: Json


@attrs.frozen(eq=False)
class Recording:
    """One recorded scenario."""

    header: Json
    tape: Tape
    written: tuple[Written, ...]
    steps: tuple[tuple[float, str], ...]

    @classmethod
    def read(cls, shared: Path, scenario: str) -> Recording:
        header, *lines = _lines(shared / _FOLDER / f"{scenario}.jsonl")
        tape, written = Tape(scenario), []
        objects: dict[tuple[str, str], Json] = {}
        for line in lines:
            if line["type"] == "STEP":
                continue
            change = _change(line, objects)
            tape.changes.append(change)
            written.append(
                Written(line["t"], tuple(line.get("by", ())), line["type"], change.object, line.get("mergePatch", {}))
            )
        tape.log.extend(_log(shared / _FOLDER / f"logs-{scenario}.jsonl"))
        tape.counted = _counted(shared / _FOLDER / "metrics.json", scenario.partition("-")[0])
        steps = tuple((line["t"], line["step"]) for line in lines if line["type"] == "STEP")
        return cls(header, tape, tuple(written), steps)

    @property
    def applied(self) -> tuple[Json, ...]:
        """What the script created as a user, as it was sent."""
        return tuple(self.header["objectsApplied"])

    @property
    def gates(self) -> str:
        """The feature gates that were switched, as on the command line."""
        gates: str = self.header["featureGates"]
        return "" if gates == "default" else gates

    def by_user(self, kind: str, name: str) -> list[Written]:
        """The changes that the user made to an object, in order."""
        return [
            each
            for each in self.written
            if "user" in each.by
            and each.type == "MODIFIED"
            and each.obj["kind"] == kind
            and each.obj["metadata"]["name"] == name
        ]


def scenarios(shared: Path) -> list[str]:
    """The names of all recorded scenarios but the one about validation, which is of another form."""
    files = (shared / _FOLDER).glob("[0-9]*.jsonl")
    return sorted(path.stem for path in files if path.stem != "10-validation")


def _lines(path: Path) -> list[Json]:
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def _change(line: Json, objects: dict[tuple[str, str], Json]) -> Change:
    key = (line["object"]["kind"], key_of(line["object"]))
    before = objects.get(key)
    if line["type"] == "DELETED":
        objects.pop(key, None)
        return Change(line["t"], *key, line["object"], None)
    after = line["object"] if line["type"] == "ADDED" else merge_patch(before, line["mergePatch"])
    objects[key] = after
    return Change(line["t"], *key, before, after)


def _counted(path: Path, number: str) -> list[Counted] | None:
    """Karpenter's own counters at the end of a scenario; of one scenario they were not kept."""
    counters = _counters(path).get(number)
    if counters is None:
        return None
    return [Counted(name, labels) for name, series in counters.items() for labels, value in series if value]


@functools.cache
def _counters(path: Path) -> Json:
    counters: Json = json.loads(path.read_text(encoding="utf-8"))["counters"]
    return counters


def _log(path: Path) -> list[LogLine]:
    """What controllers wrote; how Karpenter's runtime starts and stops them is left out."""
    return [
        LogLine.of(line)
        for line in _lines(path)
        if "controller" in line and not line["message"].startswith(_RUNTIMES_LINES)
    ]
